// SPDX-License-Identifier: MIT
// Which trajectories and latents the flow is measured with.
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "measures/flow/flow.h"

// More trajectories than this do not improve the fits.
enum { MAX_TRAJECTORIES = 300, MIN_TRAJECTORIES = 4, MIN_STEPS = 9 };

// A latent whose variance along trajectories is below this share of all is constant along them.
static const double constant_share = 1e-6;
// Deviations below this share of the largest value are rounding.
static const double rounding = 1e-6;
// The mean squared step of white noise is twice the variance; a smooth latent has less than this.
static const double smooth_step = 1.0;

static plumb_status check_shapes(const plumb_flow_input *in)
{
    char first[256], second[256];
    const plumb_array *z = in->latent, *s = in->truth, *e = in->energy, *a = in->action;
    if (z->ndim != 3 || z->shape[2] < 2 || z->shape[2] % 2)
        return fail(PLUMB_ESHAPE, "latent is %s; expected (trajectories, steps, 2m)",
                    plumb_array_shape_string(first, sizeof first, z));
    if (s && (s->ndim != 3 || s->shape[0] != z->shape[0] || s->shape[1] > z->shape[1] ||
              s->shape[2] < 2 || s->shape[2] % 2))
        return fail(PLUMB_ESHAPE, "truth is %s for latents %s; expected (trajectories, steps, 2n)",
                    plumb_array_shape_string(first, sizeof first, s),
                    plumb_array_shape_string(second, sizeof second, z));
    if (e && (!s || e->ndim != 2 || e->shape[0] != s->shape[0] || e->shape[1] < s->shape[1]))
        return fail(PLUMB_ESHAPE, "energy is %s; expected (trajectories, steps) of the truth",
                    plumb_array_shape_string(first, sizeof first, e));
    const int64_t steps = s ? s->shape[1] : z->shape[1];
    if (a && (a->ndim != 3 || a->shape[0] != z->shape[0] || a->shape[1] < steps - 1))
        return fail(PLUMB_ESHAPE,
                    "action is %s for latents %s; expected (trajectories, steps, a) or one step "
                    "less",
                    plumb_array_shape_string(first, sizeof first, a),
                    plumb_array_shape_string(second, sizeof second, z));
    return PLUMB_OK;
}

// The index of the first value that is not finite in the steps in use of one trajectory, or -1.
static int64_t find_nonfinite(double *values, const plumb_array *from, int64_t trajectory,
                              int64_t steps)
{
    const int64_t wide = from->ndim == 3 ? from->shape[2] : 1;
    const int64_t first = trajectory * from->shape[1] * wide;
    plumb_array_to_double(values, from, first, steps * wide);
    for (int64_t i = 0; i < steps * wide; i++)
        if (!isfinite(values[i])) return first + i;
    return -1;
}

// work->trajectory: at most MAX_TRAJECTORIES that are finite, evenly spread; every second one
// first, so that the halves are alike.
static plumb_status select_trajectories(flow_work *work)
{
    const plumb_array *arrays[] = {work->in.latent, work->in.truth, work->in.energy,
                                   work->in.action};
    static const char *const names[] = {"latent", "truth", "energy", "action"};
    const int64_t all = work->in.latent->shape[0];
    int64_t wide = 1, count = 0;
    for (int i = 0; i < 4; i++)
        if (arrays[i] && arrays[i]->ndim == 3 && arrays[i]->shape[2] > wide)
            wide = arrays[i]->shape[2];
    work->trajectory = ARENA_ALLOC(work->mem, int64_t, all);
    const arena_mark mark = arena_get_mark(work->mem);
    double *values = ARENA_ALLOC(work->mem, double, (work->steps * wide));
    int64_t *good = ARENA_ALLOC(work->mem, int64_t, all);
    if (!work->trajectory || !values || !good) return PLUMB_EMEMORY;
    const int64_t stride = (all + MAX_TRAJECTORIES - 1) / MAX_TRAJECTORIES;
    for (int64_t k = 0; k < all; k += stride) {
        int64_t bad = -1;
        for (int i = 0; i < 4 && bad < 0; i++) {
            if (!arrays[i]) continue;
            // The last step has an action that leads nowhere; it is often NaN.
            const int64_t steps = arrays[i] == work->in.action ? work->steps - 1 : work->steps;
            bad = find_nonfinite(values, arrays[i], k, steps);
            for (int64_t v = 0; i == 3 && bad < 0 && v < steps * arrays[i]->shape[2]; v++)
                work->driven = work->driven || values[v] != 0.0;
            if (bad >= 0 && !work->opt->drop_nonfinite)
                return array_reject_nonfinite(
                    arrays[i], names[i], 1, bad,
                    " or more; the option drop_nonfinite leaves such trajectories out");
        }
        if (bad < 0) good[count++] = k;
    }
    work->trajectories = 0;
    for (int half = 0; half < 2; half++)
        for (int64_t k = half; k < count; k += 2) work->trajectory[work->trajectories++] = good[k];
    arena_rewind(work->mem, mark);
    return PLUMB_OK;
}

// Mean square, and mean square of the step, of column i; `inside` is the variance within
// trajectories.
typedef struct column_motion {
    double variance, inside, step2, size;
} column_motion;

static column_motion measure_motion(const double *z, const flow_work *work, int64_t i)
{
    const int64_t d = work->latent_dims, steps = work->steps;
    column_motion m = {0};
    double mean = 0.0, count = (double)(work->trajectories * steps);
    for (int64_t r = 0; r < work->trajectories * steps; r++) mean += z[r * d + i] / count;
    for (int64_t k = 0; k < work->trajectories; k++) {
        const double *x = z + k * steps * d + i;
        double middle = 0.0;
        for (int64_t t = 0; t < steps; t++) middle += x[t * d] / (double)steps;
        for (int64_t t = 0; t < steps; t++) {
            m.variance += (x[t * d] - mean) * (x[t * d] - mean) / count;
            m.inside += (x[t * d] - middle) * (x[t * d] - middle) / count;
            m.size = fmax(m.size, fabs(x[t * d]));
            if (t) m.step2 += (x[t * d] - x[t * d - d]) * (x[t * d] - x[t * d - d]) / count;
        }
    }
    return m;
}

static plumb_status classify_latents(flow_work *work)
{
    const int64_t d = work->latent_dims;
    work->moves = ARENA_ALLOC(work->mem, bool, d);
    work->varies = ARENA_ALLOC(work->mem, bool, d);
    work->paired = ARENA_ALLOC(work->mem, bool, d);
    work->readable = ARENA_ALLOC(work->mem, bool, d);
    work->constant = ARENA_ALLOC(work->mem, bool, d);
    bool *smooth = ARENA_ALLOC(work->mem, bool, d);
    const arena_mark mark = arena_get_mark(work->mem);
    const double *z =
        flow_copy(work, work->in.latent, &(flow_slice){.stride = 1, .count = work->steps});
    if (!work->moves || !work->varies || !work->paired || !work->constant || !work->readable ||
        !smooth || !z)
        return PLUMB_EMEMORY;
    for (int64_t i = 0; i < d; i++) {
        const column_motion m = measure_motion(z, work, i);
        work->varies[i] = sqrt(m.variance) > rounding * m.size;
        work->moves[i] = work->varies[i] && m.inside > constant_share * m.variance;
        work->constant[i] = work->varies[i] && !work->moves[i];
        work->constants += work->constant[i];
        smooth[i] = work->moves[i] && m.step2 < smooth_step * m.inside;
    }
    for (int64_t i = 0; i < d; i++) {
        work->readable[i] = smooth[i] || work->constant[i];
        const int64_t partner = i < d / 2 ? i + d / 2 : i - d / 2;
        work->paired[i] = work->moves[i] && work->moves[partner] && (smooth[i] || smooth[partner]);
    }
    arena_rewind(work->mem, mark);
    return PLUMB_OK;
}

double *flow_copy(const flow_work *work, const plumb_array *from, const flow_slice *slice)
{
    const int64_t wide = from->ndim == 3 ? from->shape[2] : 1, steps = from->shape[1];
    int64_t kept = 0;
    for (int64_t i = 0; i < wide; i++) kept += !slice->columns || slice->columns[i];
    double *out = ARENA_ALLOC(work->mem, double, (work->trajectories * slice->count * kept + 1));
    double *row = ARENA_ALLOC(work->mem, double, wide);
    if (!out || !row) return NULL;
    double *to = out;
    for (int64_t k = 0; k < work->trajectories; k++)
        for (int64_t t = 0; t < slice->count; t++) {
            const int64_t step = slice->first + t * slice->stride;
            plumb_array_to_double(row, from, (work->trajectory[k] * steps + step) * wide, wide);
            for (int64_t i = 0; i < wide; i++)
                if (!slice->columns || slice->columns[i]) *to++ = row[i];
        }
    return out;
}

plumb_status flow_input_read(flow_work *work)
{
    plumb_status st = check_shapes(&work->in);
    if (st) return st;
    const plumb_array *truth = work->in.truth;
    work->steps = truth ? truth->shape[1] : work->in.latent->shape[1];
    work->latent_dims = work->in.latent->shape[2];
    st = select_trajectories(work);
    if (st) return st;
    if (work->trajectories < MIN_TRAJECTORIES || work->steps < MIN_STEPS)
        return fail(
            PLUMB_EVALUE, "%lld trajectories of %lld steps; the flow needs at least %d of %d",
            (long long)work->trajectories, (long long)work->steps, MIN_TRAJECTORIES, MIN_STEPS);
    return classify_latents(work);
}
