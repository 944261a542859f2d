// SPDX-License-Identifier: MIT
// The area of the latents against that of the truth, early and late. The map G from truth to
// latents is fitted to the first third of the steps and to the last third; each has a constant c,
// the latent area over the true one. If the model moves as the truth does, the two are the same.
// Other than the rate per step this needs no flow, whose map may be hard to fit, and noise in the
// latents does no harm.
#include <math.h>

#include "measures/flow/flow.h"
#include "measures/kappa/area.h"

enum { MAX_STEPS = 24, CENTRES = 200 };

static const double max_error = 0.05, min_kappa = 0.5;

typedef struct window_pair {
    kappa_area early, late;
    double stretch; // steps of the trajectory over those between the middles of the windows
} window_pair;

// log of the change over the whole trajectory.
static double compute_log_change(const void *context, const double *times)
{
    const window_pair *p = context;
    double dot[2] = {0}, norm2[2] = {0};
    for (int64_t k = 0; k < p->early.trajectories; k++) {
        const double t = times ? times[k] : 1.0;
        if (!(p->early.true_norm2[k] > 0.0) || !(p->late.true_norm2[k] > 0.0)) continue;
        dot[0] += t * p->early.dot[k], norm2[0] += t * p->early.true_norm2[k];
        dot[1] += t * p->late.dot[k], norm2[1] += t * p->late.true_norm2[k];
    }
    const double ratio = dot[1] / norm2[1] / (dot[0] / norm2[0]);
    return ratio > 0.0 ? log(ratio) * p->stretch : (double)NAN;
}

static plumb_status fit_window(kappa_area *out, const flow_work *work, int64_t first, int64_t width)
{
    const int64_t stride = (width + MAX_STEPS - 1) / MAX_STEPS;
    const flow_slice slice = {.first = first, .stride = stride, .count = (width - 1) / stride + 1};
    const int64_t dims = work->in.truth->shape[2];
    double *latent = flow_copy(work, work->in.latent, &slice);
    double *truth = flow_copy(work, work->in.truth, &slice);
    if (!latent || !truth) return PLUMB_EMEMORY;
    const plumb_array to = plumb_array_view(
        latent, PLUMB_FLOAT64, 3, (int64_t[]){work->trajectories, slice.count, work->latent_dims});
    const plumb_array from = plumb_array_view(truth, PLUMB_FLOAT64, 3,
                                              (int64_t[]){work->trajectories, slice.count, dims});
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.centres = CENTRES;
    return kappa_measure_area(out, work->mem, &from, &to, &opt);
}

static bool is_usable(const kappa_area *a)
{
    return a->is_determined && a->kappa > min_kappa && a->form_error < max_error;
}

plumb_status flow_measure_area_change(plumb_flow *out, const flow_work *work)
{
    const int64_t width = work->steps / 3;
    window_pair p = {.stretch = (double)(work->steps - 1) / (double)(work->steps - width)};
    plumb_status st = fit_window(&p.early, work, 0, width);
    if (st || !is_usable(&p.early)) return st;
    st = fit_window(&p.late, work, work->steps - width, width);
    if (st || !is_usable(&p.late) || p.early.c * p.late.c < 0.0) return st;
    const double change = compute_log_change(&p, NULL);
    if (isnan(change)) return PLUMB_OK;
    const double early = p.early.c_error / fabs(p.early.c), late = p.late.c_error / fabs(p.late.c);
    const double margin = 2.0 * sqrt(early * early + late * late) * p.stretch;
    plumb_interval draws;
    st = flow_interval(&draws, work, compute_log_change, &p);
    if (st) return st;
    out->area_change = expm1(change);
    out->area_change_ci.low = expm1(fmin(draws.low, change) - margin);
    out->area_change_ci.high = expm1(fmax(draws.high, change) + margin);
    return PLUMB_OK;
}
