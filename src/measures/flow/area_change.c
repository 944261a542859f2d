// SPDX-License-Identifier: MIT
// The area of the latents against that of the truth, as time goes on. The trajectories are cut into
// windows, and one map G from truth to latents is fitted to all of them, with the time of the
// window as an input. Its form at the times of two neighbouring windows is compared at the same
// states: if the model moves as the truth does, G does not depend on time. Other than the rate per
// step this needs no flow, whose map may be hard to fit, and noise in the latents does no harm.
#include <math.h>

#include "measures/flow/flow.h"
#include "measures/kappa/area.h"

enum { WINDOWS = 4, MAX_STEPS = 12, CENTRES = 200 };
enum { FITS = 3 }; // to all trajectories, and to each half

static const double max_error = 0.05, min_kappa = 0.5;
// The interval is widened by this many times the difference between the fits to the two halves, and
// between a map that changes linearly with time and one that changes in any way.
static const double margin_halves = 1.0, margin_kinds = 0.5;

typedef struct window_changes {
    kappa_windows area;
    double stretch; // steps of the trajectory over those between the first and last window
} window_changes;

// log of the change over the whole trajectory, by one of the fits. parts (WINDOWS - 1): of each two
// windows; may be NULL.
static double compute_change_of(const window_changes *p, kappa_windows_kind kind, int fit,
                                const double *times, double *parts)
{
    const int64_t pairs = p->area.windows - 1, count = p->area.trajectories;
    double change = 0.0;
    for (int64_t w = 0; w < pairs; w++) {
        double dot[2] = {0};
        for (int end = 0; end < 2; end++)
            for (int64_t k = 0; k < count; k++)
                dot[end] += (times ? times[k] : 1.0) *
                            p->area.dot[(((kind * FITS + fit) * pairs + w) * 2 + end) * count + k];
        if (!(dot[1] / dot[0] > 0.0)) return (double)NAN;
        change += log(dot[1] / dot[0]);
        if (parts) parts[w] = log(dot[1] / dot[0]) * p->stretch;
    }
    return change * p->stretch;
}

static double compute_log_change(const void *context, const double *times)
{
    return compute_change_of(context, KAPPA_WINDOWS_LINEAR, 0, times, NULL);
}

// The windows of an array as trajectories of their own.
static plumb_status cut_windows(plumb_array *out, const flow_work *work, const plumb_array *from,
                                int64_t count)
{
    const int64_t width = work->steps / WINDOWS, dims = from->shape[2];
    const int64_t stride = (width + MAX_STEPS - 1) / MAX_STEPS, steps = (width - 1) / stride + 1;
    double *all = ARENA_ALLOC(work->mem, double, (count * WINDOWS * steps * dims));
    if (!all) return PLUMB_EMEMORY;
    for (int64_t w = 0; w < WINDOWS; w++) {
        const flow_slice slice = {
            .first = w * (work->steps - width) / (WINDOWS - 1), .stride = stride, .count = steps};
        const double *values = flow_copy(work, from, &slice);
        if (!values) return PLUMB_EMEMORY;
        for (int64_t k = 0; k < count; k++)
            for (int64_t i = 0; i < steps * dims; i++)
                all[kappa_window_index(k, w, WINDOWS) * steps * dims + i] =
                    values[k * steps * dims + i];
    }
    *out = plumb_array_view(all, PLUMB_FLOAT64, 3, (int64_t[]){count * WINDOWS, steps, dims});
    return PLUMB_OK;
}

// The time of each window. Constants that differ between trajectories are left out: they would be
// more inputs to fit, and where they are not known the latents have noise that is the same at all
// times.
static plumb_status list_times(plumb_array *out, const flow_work *work, int64_t count)
{
    double *all = ARENA_ALLOC(work->mem, double, (count * WINDOWS));
    if (!all) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < count; k++)
        for (int64_t w = 0; w < WINDOWS; w++) all[kappa_window_index(k, w, WINDOWS)] = (double)w;
    *out = plumb_array_view(all, PLUMB_FLOAT64, 2, (int64_t[]){count * WINDOWS, 1});
    return PLUMB_OK;
}

static bool is_usable(const kappa_windows *a)
{
    return a->is_determined && a->least_kappa > min_kappa && a->form_error < max_error;
}

plumb_status flow_measure_area_change(plumb_flow *out, const flow_work *work)
{
    // Both halves of the fit have the same number of trajectories.
    const int64_t count = work->trajectories / 2 * 2, width = work->steps / WINDOWS;
    window_changes p = {.stretch = (double)(work->steps - 1) / (double)(work->steps - width)};
    plumb_array from, to, times;
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.centres = CENTRES;
    opt.constants = &times;
    plumb_status st = cut_windows(&from, work, work->in.truth, count);
    if (!st) st = cut_windows(&to, work, work->in.latent, count);
    if (!st) st = list_times(&times, work, count);
    if (!st) st = kappa_measure_windows(&p.area, work->mem, WINDOWS, &from, &to, &opt);
    if (st || !is_usable(&p.area)) return st;
    double linear[FITS], parts[FITS][WINDOWS - 1];
    for (int fit = 0; fit < FITS; fit++) {
        linear[fit] = compute_change_of(&p, KAPPA_WINDOWS_LINEAR, fit, NULL, parts[fit]);
        if (isnan(linear[fit])) return PLUMB_OK;
    }
    const double any = compute_change_of(&p, KAPPA_WINDOWS_FREE, 0, NULL, NULL);
    if (isnan(any)) return PLUMB_OK;
    // The difference between the halves is one number, which may be small by chance; those of the
    // three parts are not all.
    double halves2 = 0.0;
    for (int w = 0; w < WINDOWS - 1; w++)
        halves2 += (parts[1][w] - parts[2][w]) * (parts[1][w] - parts[2][w]);
    const double halves = fmax(fabs(linear[1] - linear[2]), sqrt(halves2));
    const double margin = margin_halves * halves + margin_kinds * fabs(linear[0] - any);
    plumb_interval draws;
    st = flow_interval(&draws, work, compute_log_change, &p);
    if (st) return st;
    out->area_change = expm1(linear[0]);
    out->area_change_ci.low = expm1(fmin(draws.low, linear[0]) - margin);
    out->area_change_ci.high = expm1(fmax(draws.high, linear[0]) + margin);
    return PLUMB_OK;
}
