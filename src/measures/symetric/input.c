// SPDX-License-Identifier: MIT
// Checks options, shapes and values of the arrays, and draws the points of the Jacobian.
#include <math.h>

#include "base/array.h"
#include "base/status.h"
#include "math/rng.h"
#include "measures/fit/phase_space_check.h"
#include "measures/symetric/options.h"
#include "measures/symetric/symetric.h"

// latent (trajectories, steps, 2m), truth (trajectories, steps, 2n), variance (trajectories, 2m) or
// (trajectories, steps, 2m), or NULL.
static plumb_status check_shapes(const plumb_array *latent, const plumb_array *truth,
                                 const plumb_array *variance)
{
    const plumb_status st = phase_space_check(latent, truth);
    if (st) return st;
    char a[256], b[256];
    plumb_array_shape_string(a, sizeof a, latent);
    plumb_array_shape_string(b, sizeof b, truth);
    if (truth->shape[0] < 2)
        return fail(PLUMB_ENUMERIC, "truth is %s; the measure needs at least two trajectories", b);
    if (!variance) return PLUMB_OK;
    plumb_array_shape_string(b, sizeof b, variance);
    const int64_t last = variance->ndim ? variance->shape[variance->ndim - 1] : 0;
    if ((variance->ndim != 2 && variance->ndim != 3) || variance->shape[0] != latent->shape[0] ||
        last != latent->shape[2] || (variance->ndim == 3 && variance->shape[1] != latent->shape[1]))
        return fail(PLUMB_ESHAPE,
                    "variance is %s for a latent %s; expected (trajectories, 2m) or "
                    "(trajectories, steps, 2m)",
                    b, a);
    return PLUMB_OK;
}

typedef struct nonfinite_count {
    int64_t count, nan;
    int64_t first; // flat index of the first
} nonfinite_count;

// Counts NaN and infinity in the first `steps` of each trajectory; bad (trajectories).
static plumb_status count_nonfinite(nonfinite_count *out, bool *bad, arena *mem,
                                    const plumb_array *array, int64_t steps)
{
    *out = (nonfinite_count){0};
    // Integer types have no NaN.
    if (array->dtype != PLUMB_FLOAT64 && array->dtype != PLUMB_FLOAT32 &&
        array->dtype != PLUMB_FLOAT16)
        return PLUMB_OK;
    // Trajectory by trajectory, so that memory is needed for one only.
    const int64_t total = plumb_array_count(array);
    const int64_t trajectory = array->shape[0] ? total / array->shape[0] : 0;
    const arena_mark mark = arena_get_mark(mem);
    const int64_t used = trajectory / (array->shape[1] ? array->shape[1] : 1) * steps;
    double *values = ARENA_ALLOC(mem, double, used);
    if (!values) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < array->shape[0]; k++) {
        plumb_array_to_double(values, array, k * trajectory, used);
        for (int64_t i = 0; i < used; i++) {
            if (isfinite(values[i])) continue;
            if (!out->count++) out->first = k * trajectory + i;
            out->nan += isnan(values[i]) != 0;
            bad[k] = true;
        }
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// Which trajectories are measured.
static plumb_status choose_trajectories(symetric_batch_input *in, arena *mem, int64_t *dropped)
{
    const plumb_symetric_options *opt = in->opt;
    const int64_t all = in->truth->shape[0];
    // Reference mode replaces NaN by the mean as published; converged mode rejects it.
    plumb_symetric_nonfinite rule = opt->nonfinite;
    if (rule == PLUMB_SYMETRIC_NONFINITE_BY_MODE)
        rule = opt->mode == PLUMB_SYMETRIC_MODE_REFERENCE ? PLUMB_SYMETRIC_NONFINITE_MEAN
                                                          : PLUMB_SYMETRIC_NONFINITE_REFUSE;
    bool *bad = ARENA_ALLOC(mem, bool, all);
    int64_t *kept = ARENA_ALLOC(mem, int64_t, all);
    if (!bad || !kept) return PLUMB_EMEMORY;
    const plumb_array *arrays[3] = {in->latent, in->truth, in->variance};
    const char *const names[3] = {"latent", "truth", "variance"};
    for (int i = 0; i < 3; i++) {
        if (!arrays[i]) continue;
        nonfinite_count found;
        // Latents past the end of the truth are cut and not checked.
        const int64_t steps = i == 0 ? in->steps : arrays[i]->shape[1];
        plumb_status st = count_nonfinite(&found, bad, mem, arrays[i], steps);
        if (st) return st;
        // The published rule covers NaN in the latents only, not infinity and not the truth.
        const bool as_published =
            rule == PLUMB_SYMETRIC_NONFINITE_MEAN && i == 0 && found.nan == found.count;
        if (found.count && rule != PLUMB_SYMETRIC_NONFINITE_DROP && !as_published)
            return array_reject_nonfinite(
                arrays[i], names[i], found.count, found.first,
                "; the option drop_nonfinite leaves such trajectories out");
    }
    in->kept = kept;
    // kept (trajectories): indices into the arrays of the caller.
    for (int64_t k = 0; k < all; k++)
        if (!bad[k] || rule != PLUMB_SYMETRIC_NONFINITE_DROP) kept[in->trajectories++] = k;
    *dropped = all - in->trajectories;
    if (in->trajectories < 2)
        return fail(PLUMB_ENUMERIC,
                    "%lld of %lld trajectories are finite throughout; the measure "
                    "needs at least two",
                    (long long)in->trajectories, (long long)all);
    return PLUMB_OK;
}

// The mask kl needs the mean of the posterior at the step that the variance belongs to.
static plumb_status check_inferred_step(const symetric_batch_input *in)
{
    const int64_t step = in->opt->inferred_step;
    if (!in->variance || in->opt->mask != PLUMB_SYMETRIC_MASK_KL || in->variance->ndim != 2 ||
        step < in->latent_steps)
        return PLUMB_OK;
    return fail(PLUMB_EVALUE, "inferred_step is %lld; the latents have %lld steps, from 0 on",
                (long long)step, (long long)in->latent_steps);
}

// A negative value shows that a log variance or another array was passed.
static plumb_status reject_negative_variance(const symetric_batch_input *in)
{
    if (!in->variance) return PLUMB_OK;
    const int64_t count = plumb_array_count(in->variance);
    for (int64_t i = 0; i < count; i++) {
        double value;
        plumb_array_to_double(&value, in->variance, i, 1);
        if (value < 0.0)
            return fail(PLUMB_ENUMERIC,
                        "variance has %g among its values; is it the logarithm of the variance, or "
                        "the latents themselves?",
                        value);
    }
    return PLUMB_OK;
}

// R2 = 1 - SSres/SStot is undefined if no coordinate of the truth changes.
static plumb_status reject_constant_truth(const symetric_batch_input *in, arena *mem)
{
    const arena_mark mark = arena_get_mark(mem);
    double *first = ARENA_ALLOC(mem, double, in->targets);
    double *rows = ARENA_ALLOC(mem, double, (in->steps * in->targets));
    if (!first || !rows) return PLUMB_EMEMORY;
    plumb_array_to_double(first, in->truth, in->kept[0] * in->steps * in->targets, in->targets);
    bool moves = false;
    for (int64_t k = 0; k < in->trajectories && !moves; k++) {
        plumb_array_to_double(rows, in->truth, in->kept[k] * in->steps * in->targets,
                              in->steps * in->targets);
        for (int64_t i = 0; i < in->steps * in->targets && !moves; i++)
            moves = rows[i] != first[i % in->targets];
    }
    arena_rewind(mem, mark);
    if (moves) return PLUMB_OK;
    return fail(PLUMB_ENUMERIC, "truth is constant: the measure is not defined");
}

// eval_index (trajectories, points): the steps at which the Jacobian is computed. They are given by
// the caller, all steps, or drawn without replacement.
static plumb_status choose_points(symetric_batch_input *in, arena *mem)
{
    const plumb_symetric_options *opt = in->opt;
    const plumb_array *given = opt->eval_index;
    char shape[256];
    if (given) {
        plumb_array_shape_string(shape, sizeof shape, given);
        if (given->ndim != 2 || given->shape[0] != in->truth->shape[0] || given->shape[1] < 1)
            return fail(PLUMB_ESHAPE, "the points are %s; expected (%lld trajectories, points)",
                        shape, (long long)in->truth->shape[0]);
        in->points = given->shape[1];
    } else {
        in->points = opt->points ? opt->points : in->steps;
        if (in->points > in->steps)
            return fail(PLUMB_ENUMERIC,
                        "points is %lld per trajectory; there are %lld steps, and the option "
                        "points=%lld takes them all",
                        (long long)in->points, (long long)in->steps, (long long)in->steps);
    }
    int64_t *index = ARENA_ALLOC(mem, int64_t, (in->trajectories * in->points));
    if (!index) return PLUMB_EMEMORY;
    in->eval_index = index;
    for (int64_t k = 0; k < in->trajectories; k++) {
        int64_t *out = index + k * in->points;
        if (!given) {
            // A random stream per trajectory: the points do not depend on which others are dropped.
            rng random = rng_at(opt->seed, (uint64_t)STREAM_POINTS << 32 | (uint64_t)in->kept[k]);
            if (opt->points) rng_distinct(out, &random, in->points, in->steps);
            else
                for (int64_t p = 0; p < in->points; p++) out[p] = p;
            continue;
        }
        for (int64_t p = 0; p < in->points; p++) {
            double value;
            plumb_array_to_double(&value, given, in->kept[k] * in->points + p, 1);
            if (!(value >= 0.0 && value < (double)in->steps) || value != floor(value))
                return fail(PLUMB_EVALUE,
                            "point (%lld, %lld) is %g; expected a step from 0 to %lld",
                            (long long)in->kept[k], (long long)p, value, (long long)in->steps - 1);
            out[p] = (int64_t)value;
        }
    }
    return PLUMB_OK;
}

plumb_status symetric_input(symetric_batch_input *in, int64_t *dropped, symetric_work *work,
                            const plumb_array *latent, const plumb_array *truth,
                            const plumb_array *variance, const plumb_symetric_options *opt)
{
    plumb_status st = symetric_options_check(opt);
    if (!st) st = check_shapes(latent, truth, variance);
    if (st) return st;
    *in = (symetric_batch_input){
        .latent = latent,
        .truth = truth,
        .variance = variance,
        .steps = truth->shape[1],
        .latent_steps = latent->shape[1],
        .latent_dims = latent->shape[2],
        .targets = truth->shape[2],
        .opt = opt,
    };
    st = choose_trajectories(in, &work->mem, dropped);
    if (!st) st = check_inferred_step(in);
    if (!st) st = reject_negative_variance(in);
    if (!st) st = reject_constant_truth(in, &work->mem);
    if (!st) st = choose_points(in, &work->mem);
    if (st) return st;
    double *alphas = ARENA_ALLOC(&work->mem, double, opt->alphas);
    if (!alphas) return PLUMB_EMEMORY;
    // Candidate penalties of the lasso, equally spaced in log10 from alpha_min to alpha_max.
    const double low = log10(opt->alpha_min), high = log10(opt->alpha_max);
    for (int64_t i = 0; i < opt->alphas; i++)
        alphas[i] = opt->alphas == 1
                        ? opt->alpha_min
                        : pow(10.0, low + (high - low) * (double)i / (double)(opt->alphas - 1));
    in->alphas = alphas;
    return PLUMB_OK;
}
