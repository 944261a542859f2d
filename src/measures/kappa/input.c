// SPDX-License-Identifier: MIT
// What is allowed in, as rows of doubles: every second trajectory first, then the others.
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "measures/fit/phase_space_check.h"
#include "measures/kappa/kappa.h"
#include "measures/kappa/options.h"

// More states than these sharpen nothing, and are thinned out evenly in time.
enum { MOST_ROWS = 12000, SEARCH_ROWS = 2000, FEWEST_TRAJECTORIES = 4 };

// What moves by less than this share of its variance is constant along a trajectory: learnt
// constants drift.
static const double nearly_constant = 1e-3;

static plumb_status check_momenta(const plumb_array *momenta, const plumb_array *latent)
{
    char a[256], b[256];
    if (!momenta) return PLUMB_OK;
    plumb_array_shape_string(a, sizeof a, momenta);
    plumb_array_shape_string(b, sizeof b, latent);
    if (momenta->ndim != 3 || momenta->shape[0] != latent->shape[0] ||
        momenta->shape[1] != latent->shape[1] || 2 * momenta->shape[2] != latent->shape[2])
        return fail(PLUMB_ESHAPE, "momenta are %s for a latent %s; wanted (trajectories, steps, m)",
                    a, b);
    return PLUMB_OK;
}

// Reads trajectory k of `a`; false if a value is not finite, whose flat index is then in *bad.
static bool read_trajectory(double *out, const plumb_array *a, int64_t k, int64_t steps,
                            int64_t *bad)
{
    const int64_t wide = a->shape[2], at = k * a->shape[1] * wide;
    plumb_array_to_double(out, a, at, steps * wide);
    for (int64_t i = 0; i < steps * wide; i++)
        if (!isfinite(out[i])) {
            *bad = at + i;
            return false;
        }
    return true;
}

static void copy_steps(double *to, const double *from, int64_t wide, int64_t kept, int64_t steps)
{
    for (int64_t t = 0; t < kept; t++)
        memcpy(to + t * wide, from + t * steps / kept * wide, (size_t)wide * sizeof *to);
}

// Which trajectories are finite throughout.
static plumb_status choose(kappa_rows *out, arena *mem, const plumb_array *latent,
                           const plumb_array *momenta, const plumb_array *truth,
                           const plumb_kappa_options *opt)
{
    const int64_t all = truth->shape[0], steps = truth->shape[1];
    int64_t *good = ARENA_ALLOC(mem, int64_t, all), count = 0;
    out->trajectory = ARENA_ALLOC(mem, int64_t, all);
    const arena_mark mark = arena_get_mark(mem);
    double *values = ARENA_ALLOC(
        mem, double,
        (steps * (latent->shape[2] > truth->shape[2] ? latent->shape[2] : truth->shape[2])));
    if (!good || !out->trajectory || !values) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < all; k++) {
        int64_t bad;
        const plumb_array *of = NULL;
        if (!read_trajectory(values, latent, k, steps, &bad)) of = latent;
        else if (!read_trajectory(values, truth, k, steps, &bad)) of = truth;
        else if (momenta && !read_trajectory(values, momenta, k, steps, &bad)) of = momenta;
        if (!of) good[count++] = k;
        else if (!opt->drop_nonfinite)
            return array_reject_nonfinite(
                of,
                of == latent  ? "latent"
                : of == truth ? "truth"
                              : "momenta",
                1, bad, " or more; --drop-nonfinite leaves such trajectories out");
    }
    arena_rewind(mem, mark);
    out->dropped = all - count;
    if (count < FEWEST_TRAJECTORIES)
        return fail(PLUMB_ENUMERIC, "%lld trajectories; kappa needs at least %d", (long long)count,
                    FEWEST_TRAJECTORIES);
    for (int half = 0; half < 2; half++)
        for (int64_t k = half; k < count; k += 2) out->trajectory[out->trajectories++] = good[k];
    return PLUMB_OK;
}

plumb_status kappa_input_read(kappa_rows *out, arena *mem, const plumb_array *latent,
                              const plumb_array *momenta, const plumb_array *truth,
                              const plumb_kappa_options *opt)
{
    *out = (kappa_rows){0};
    plumb_status st = kappa_options_check(opt);
    if (!st) st = phase_space_check(latent, truth);
    if (!st) st = check_momenta(momenta, latent);
    if (!st) st = choose(out, mem, latent, momenta, truth, opt);
    if (st) return st;
    const int64_t steps = truth->shape[1], fit = MOST_ROWS / out->trajectories;
    out->steps = steps <= fit ? steps : fit > 2 ? fit : 2;
    out->rows = out->trajectories * out->steps;
    out->first = (out->trajectories + 1) / 2 * out->steps;
    out->thin = out->rows > SEARCH_ROWS ? (out->rows + SEARCH_ROWS - 1) / SEARCH_ROWS : 1;
    out->n2 = truth->shape[2];
    out->m2 = latent->shape[2];
    out->truth = ARENA_ALLOC(mem, double, (out->rows * out->n2));
    out->latent = ARENA_ALLOC(mem, double, (out->rows * out->m2));
    double *values = ARENA_ALLOC(mem, double, (steps * (out->n2 > out->m2 ? out->n2 : out->m2)));
    if (!out->truth || !out->latent || !values) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < out->trajectories; k++) {
        int64_t bad;
        read_trajectory(values, truth, out->trajectory[k], steps, &bad);
        copy_steps(out->truth + k * out->steps * out->n2, values, out->n2, out->steps, steps);
        read_trajectory(values, latent, out->trajectory[k], steps, &bad);
        copy_steps(out->latent + k * out->steps * out->m2, values, out->m2, out->steps, steps);
        if (!momenta) continue;
        const int64_t m = out->m2 / 2;
        read_trajectory(values, momenta, out->trajectory[k], steps, &bad);
        for (int64_t t = 0; t < out->steps; t++)
            memcpy(out->latent + (k * out->steps + t) * out->m2 + m,
                   values + t * steps / out->steps * m, (size_t)m * sizeof *values);
    }
    return PLUMB_OK;
}

// Mean square of column i about its mean over rows first .. first+count-1.
static double variance(const kappa_rows *rows, int64_t i, int64_t first, int64_t count,
                       double *mean)
{
    const double *x = rows->latent + first * rows->m2 + i;
    double sum = 0.0, square = 0.0;
    for (int64_t r = 0; r < count; r++) sum += x[r * rows->m2];
    *mean = sum / (double)count;
    for (int64_t r = 0; r < count; r++) {
        const double by = x[r * rows->m2] - *mean;
        square += by * by;
    }
    return square / (double)count;
}

plumb_status kappa_input_latents(kappa_latent *out, arena *mem, const kappa_rows *rows)
{
    const int64_t d = rows->m2;
    out->deviation = ARENA_ALLOC(mem, double, d);
    out->alive = ARENA_ALLOC(mem, bool, d);
    out->constant = ARENA_ALLOC(mem, bool, d);
    out->idle = ARENA_ALLOC(mem, bool, d);
    out->y = ARENA_ALLOC(mem, double, (rows->rows * d));
    out->largest = 0.0;
    if (!out->deviation || !out->alive || !out->constant || !out->idle || !out->y)
        return PLUMB_EMEMORY;
    for (int64_t i = 0; i < d; i++) {
        double mean, own, size = 0.0, inside = 0.0;
        for (int64_t k = 0; k < rows->trajectories; k++)
            inside += variance(rows, i, k * rows->steps, rows->steps, &own);
        inside /= (double)rows->trajectories;
        const double all = variance(rows, i, 0, rows->rows, &mean), sd = sqrt(all);
        for (int64_t r = 0; r < rows->rows; r++) size = fmax(size, fabs(rows->latent[r * d + i]));
        out->alive[i] = sd > 1e-6 * size;
        if (!out->alive[i]) continue;
        out->deviation[i] = sd;
        out->constant[i] = inside < nearly_constant * all;
        out->largest = fmax(out->largest, sd);
        for (int64_t r = 0; r < rows->rows; r++)
            out->y[r * d + i] = (rows->latent[r * d + i] - mean) / sd;
    }
    return PLUMB_OK;
}
