// SPDX-License-Identifier: MIT
// Reads and checks the arrays. They become rows of doubles: every second trajectory first, then the
// others. Long inputs are thinned evenly in time.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "measures/fit/phase_space_check.h"
#include "measures/kappa/kappa.h"
#include "measures/kappa/options.h"

// More rows than MAX_ROWS do not improve the fits; SEARCH_ROWS suffice to choose a fit.
enum { MAX_ROWS = 12000, SEARCH_ROWS = 2000, MIN_TRAJECTORIES = 4 };

// A latent whose variance along trajectories is below this share of its variance is constant along
// them. It is not 0 because learnt constants drift.
static const double constant_share = 1e-3;

// A trajectory has diverged if its latents go this many times as far as 95 % of all rows, and this
// many times as far as its true states do. If more than a tenth do, it is what the model does.
static const double diverged_reach = 20.0, diverged_ratio = 5.0, max_diverged = 0.1;

static plumb_status check_momenta(const plumb_array *momenta, const plumb_array *latent)
{
    char a[256], b[256];
    if (!momenta) return PLUMB_OK;
    plumb_array_shape_string(a, sizeof a, momenta);
    plumb_array_shape_string(b, sizeof b, latent);
    if (momenta->ndim != 3 || momenta->shape[0] != latent->shape[0] ||
        momenta->shape[1] != latent->shape[1] || 2 * momenta->shape[2] != latent->shape[2])
        return fail(PLUMB_ESHAPE,
                    "momenta are %s for a latent %s; expected (trajectories, steps, m)", a, b);
    return PLUMB_OK;
}

// Reads trajectory k of `a`. False if a value is NaN or infinite; *bad is then its flat index.
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

static bool is_diverged(const kappa_rows *rows, int64_t trajectory)
{
    for (int64_t i = 0; i < rows->diverged_count; i++)
        if (rows->diverged[i] == trajectory) return true;
    return false;
}

// Copies `kept` of `steps` rows, evenly spaced in time.
static void copy_steps(double *to, const double *from, int64_t wide, int64_t kept, int64_t steps)
{
    for (int64_t t = 0; t < kept; t++)
        memcpy(to + t * wide, from + t * steps / kept * wide, (size_t)wide * sizeof *to);
}

// rows.trajectory: the trajectories without NaN or infinity that are not in rows.diverged, every
// second one first.
static plumb_status select_trajectories(kappa_work *work, const plumb_array *latent,
                                        const plumb_array *momenta, const plumb_array *truth)
{
    kappa_rows *out = &work->rows;
    arena *mem = work->mem;
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
        if (!of && is_diverged(out, k)) continue;
        if (!of) good[count++] = k;
        else if (!work->opt->drop_nonfinite)
            return array_reject_nonfinite(
                of,
                of == latent  ? "latent"
                : of == truth ? "truth"
                              : "momenta",
                1, bad, " or more; the option drop_nonfinite leaves such trajectories out");
    }
    arena_rewind(mem, mark);
    out->dropped = all - count - out->diverged_count;
    out->trajectories = 0;
    if (count < MIN_TRAJECTORIES)
        return fail(PLUMB_ENUMERIC, "%lld trajectories; kappa needs at least %d", (long long)count,
                    MIN_TRAJECTORIES);
    for (int half = 0; half < 2; half++)
        for (int64_t k = half; k < count; k += 2) out->trajectory[out->trajectories++] = good[k];
    return PLUMB_OK;
}

// What rounding leaves of a constant, relative to its size, with a margin for the arithmetic
// before.
static double rounding_of(plumb_dtype dtype)
{
    switch (dtype) {
    case PLUMB_FLOAT16: return 1e-3;
    case PLUMB_FLOAT32: return 1e-6;
    default: return 1e-10;
    }
}

// Divides by a power of two, so that no digit changes, and returns it.
static double scale_to_unit(double *values, int64_t count)
{
    double size = 0.0;
    for (int64_t i = 0; i < count; i++) size = fmax(size, fabs(values[i]));
    if (!(size > 0.0)) return 1.0;
    const int power = ilogb(size);
    for (int64_t i = 0; i < count; i++) values[i] = ldexp(values[i], -power);
    return ldexp(1.0, power);
}

// Reads the selected trajectories into rows.
static plumb_status read_rows(kappa_work *work, const plumb_array *latent,
                              const plumb_array *momenta, const plumb_array *truth)
{
    kappa_rows *out = &work->rows;
    arena *mem = work->mem;
    // At most MAX_ROWS rows, the same number of steps from each trajectory, at least two.
    const int64_t steps = truth->shape[1], fit = MAX_ROWS / out->trajectories;
    out->steps = steps <= fit ? steps : fit > 2 ? fit : 2;
    out->is_thinned = out->steps < steps;
    out->rows = out->trajectories * out->steps;
    out->first_half_rows = (out->trajectories + 1) / 2 * out->steps;
    out->search_stride = out->rows > SEARCH_ROWS ? (out->rows + SEARCH_ROWS - 1) / SEARCH_ROWS : 1;
    out->truth_dims = truth->shape[2];
    out->latent_dims = latent->shape[2];
    out->truth = ARENA_ALLOC(mem, double, (out->rows * out->truth_dims));
    out->latent = ARENA_ALLOC(mem, double, (out->rows * out->latent_dims));
    double *values = ARENA_ALLOC(
        mem, double,
        (steps * (out->truth_dims > out->latent_dims ? out->truth_dims : out->latent_dims)));
    if (!out->truth || !out->latent || !values) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < out->trajectories; k++) {
        int64_t bad;
        read_trajectory(values, truth, out->trajectory[k], steps, &bad);
        copy_steps(out->truth + k * out->steps * out->truth_dims, values, out->truth_dims,
                   out->steps, steps);
        read_trajectory(values, latent, out->trajectory[k], steps, &bad);
        copy_steps(out->latent + k * out->steps * out->latent_dims, values, out->latent_dims,
                   out->steps, steps);
        if (!momenta) continue;
        // The momenta replace the second half of the latents.
        const int64_t m = out->latent_dims / 2;
        read_trajectory(values, momenta, out->trajectory[k], steps, &bad);
        for (int64_t t = 0; t < out->steps; t++)
            memcpy(out->latent + (k * out->steps + t) * out->latent_dims + m,
                   values + t * steps / out->steps * m, (size_t)m * sizeof *values);
    }
    return PLUMB_OK;
}

// ---- diverged trajectories ----

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// reach (trajectories): the largest distance from the median in any column, over the distance that
// 95 % of the rows are within.
static plumb_status measure_reach(double *reach, arena *mem, const double *values,
                                  const kappa_rows *rows, int64_t columns)
{
    // Some rows suffice for the quantiles.
    enum { QUANTILE_ROWS = 1999 };
    const int64_t stride = (rows->rows + QUANTILE_ROWS - 1) / QUANTILE_ROWS;
    const int64_t some = (rows->rows + stride - 1) / stride;
    const arena_mark mark = arena_get_mark(mem);
    double *sorted = ARENA_ALLOC(mem, double, some);
    if (!sorted) return PLUMB_EMEMORY;
    memset(reach, 0, (size_t)rows->trajectories * sizeof *reach);
    for (int64_t i = 0; i < columns; i++) {
        for (int64_t r = 0; r < some; r++) sorted[r] = values[r * stride * columns + i];
        qsort(sorted, (size_t)some, sizeof *sorted, compare_doubles);
        const double median = sorted[some / 2];
        for (int64_t r = 0; r < some; r++)
            sorted[r] = fabs(values[r * stride * columns + i] - median);
        qsort(sorted, (size_t)some, sizeof *sorted, compare_doubles);
        const double most = sorted[some * 95 / 100];
        if (!(most > 0.0)) continue;
        for (int64_t r = 0; r < rows->rows; r++)
            reach[r / rows->steps] =
                fmax(reach[r / rows->steps], fabs(values[r * columns + i] - median) / most);
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// rows.diverged: the few trajectories whose latents go many times farther than all others, while
// their true states do not.
static plumb_status find_diverged(kappa_work *work)
{
    kappa_rows *rows = &work->rows;
    const int64_t all = rows->trajectories;
    double *latent = ARENA_ALLOC(work->mem, double, all);
    double *truth = ARENA_ALLOC(work->mem, double, all);
    int64_t *diverged = ARENA_ALLOC(work->keep, int64_t, all);
    if (!latent || !truth || !diverged) return PLUMB_EMEMORY;
    plumb_status st = measure_reach(latent, work->mem, rows->latent, rows, rows->latent_dims);
    if (!st) st = measure_reach(truth, work->mem, rows->truth, rows, rows->truth_dims);
    int64_t count = 0;
    for (int64_t k = 0; k < all && !st; k++) {
        if (!(latent[k] > diverged_reach && latent[k] > diverged_ratio * truth[k])) continue;
        int64_t at = count++; // in increasing order
        for (; at > 0 && diverged[at - 1] > rows->trajectory[k]; at--)
            diverged[at] = diverged[at - 1];
        diverged[at] = rows->trajectory[k];
    }
    if ((double)count <= max_diverged * (double)all && all - count >= MIN_TRAJECTORIES)
        rows->diverged = diverged, rows->diverged_count = count;
    return st;
}

// ---- constants ----

enum { MAX_CONSTANTS = 64 };
// Constants that differ by less than this share of the largest are the same.
static const double same_constant = 1e-9;

// rows.constant: those columns of `values` (trajectories, wide) that differ between trajectories.
static void keep_differing(kappa_rows *rows, const double *values, int64_t wide)
{
    const int64_t all = rows->trajectories;
    bool differs[MAX_CONSTANTS] = {false};
    for (int64_t i = 0; i < wide; i++) {
        double low = values[i], high = values[i];
        for (int64_t k = 1; k < all; k++) {
            low = fmin(low, values[k * wide + i]);
            high = fmax(high, values[k * wide + i]);
        }
        differs[i] = high - low > same_constant * fmax(fabs(low), fabs(high));
        rows->constants += differs[i];
    }
    double *to = rows->constant;
    for (int64_t k = 0; k < all; k++)
        for (int64_t i = 0; i < wide; i++)
            if (differs[i]) *to++ = values[k * wide + i];
}

static plumb_status read_constants(kappa_work *work, const plumb_array *truth)
{
    kappa_rows *rows = &work->rows;
    const plumb_array *given = work->opt->constants;
    if (!given) return PLUMB_OK;
    char text[256];
    if (given->ndim != 2 || given->shape[0] != truth->shape[0])
        return fail(PLUMB_ESHAPE,
                    "constants are %s for %lld trajectories; expected (trajectories, constants)",
                    plumb_array_shape_string(text, sizeof text, given), (long long)truth->shape[0]);
    if (given->shape[1] > MAX_CONSTANTS)
        return fail(PLUMB_ESHAPE, "constants are %lld per trajectory; at most %d are used",
                    (long long)given->shape[1], MAX_CONSTANTS);
    const int64_t all = rows->trajectories, wide = given->shape[1];
    double *values = ARENA_ALLOC(work->mem, double, (all * wide + 1));
    rows->constant = ARENA_ALLOC(work->mem, double, (all * wide + 1));
    if (!values || !rows->constant) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < all; k++) {
        plumb_array_to_double(values + k * wide, given, rows->trajectory[k] * wide, wide);
        for (int64_t i = 0; i < wide; i++)
            if (!isfinite(values[k * wide + i]))
                return fail(PLUMB_ENUMERIC, "constants of trajectory %lld are not finite",
                            (long long)rows->trajectory[k]);
    }
    keep_differing(rows, values, wide);
    return PLUMB_OK;
}

plumb_status kappa_input_read(kappa_work *work, const plumb_array *latent,
                              const plumb_array *momenta, const plumb_array *truth)
{
    kappa_rows *out = &work->rows;
    *out = (kappa_rows){0};
    plumb_status st = kappa_options_check(work->opt);
    if (!st) st = phase_space_check(latent, truth);
    if (!st) st = check_momenta(momenta, latent);
    if (!st) st = select_trajectories(work, latent, momenta, truth);
    if (!st) st = read_rows(work, latent, momenta, truth);
    if (!st) st = find_diverged(work);
    if (!st && out->diverged_count) {
        st = select_trajectories(work, latent, momenta, truth);
        if (!st) st = read_rows(work, latent, momenta, truth);
    }
    if (!st) st = read_constants(work, truth);
    if (st) return st;
    out->truth_rounding = rounding_of(truth->dtype);
    out->latent_rounding = rounding_of(latent->dtype);
    if (momenta) out->latent_rounding = fmax(out->latent_rounding, rounding_of(momenta->dtype));
    out->truth_unit = scale_to_unit(out->truth, out->rows * out->truth_dims);
    out->latent_unit = scale_to_unit(out->latent, out->rows * out->latent_dims);
    return PLUMB_OK;
}

// Mean square of column i about its mean over rows first .. first+count-1.
static double column_variance(const kappa_rows *rows, int64_t i, int64_t first, int64_t count,
                              double *mean)
{
    const double *x = rows->latent + first * rows->latent_dims + i;
    double sum = 0.0, square = 0.0;
    for (int64_t r = 0; r < count; r++) sum += x[r * rows->latent_dims];
    *mean = sum / (double)count;
    for (int64_t r = 0; r < count; r++) {
        const double by = x[r * rows->latent_dims] - *mean;
        square += by * by;
    }
    return square / (double)count;
}

plumb_status kappa_input_latents(kappa_work *work)
{
    kappa_latent *out = &work->latent;
    arena *mem = work->mem;
    const kappa_rows *rows = &work->rows;
    const int64_t d = rows->latent_dims;
    out->deviation = ARENA_ALLOC(mem, double, d);
    out->varies = ARENA_ALLOC(mem, bool, d);
    out->constant = ARENA_ALLOC(mem, bool, d);
    out->unpaired = ARENA_ALLOC(mem, bool, d);
    out->y = ARENA_ALLOC(mem, double, (rows->rows * d));
    out->mean = ARENA_ALLOC(mem, double, d);
    out->period = ARENA_ALLOC(mem, double, d);
    out->max_deviation = 0.0;
    if (!out->deviation || !out->varies || !out->constant || !out->unpaired || !out->y ||
        !out->mean || !out->period)
        return PLUMB_EMEMORY;
    for (int64_t i = 0; i < d; i++) {
        double mean, trajectory_mean, size = 0.0, inside = 0.0;
        // Mean variance along a trajectory, against the variance of all rows.
        for (int64_t k = 0; k < rows->trajectories; k++)
            inside += column_variance(rows, i, k * rows->steps, rows->steps, &trajectory_mean);
        inside /= (double)rows->trajectories;
        const double all = column_variance(rows, i, 0, rows->rows, &mean), sd = sqrt(all);
        for (int64_t r = 0; r < rows->rows; r++) size = fmax(size, fabs(rows->latent[r * d + i]));
        out->varies[i] = sd > rows->latent_rounding * size;
        if (!out->varies[i]) continue;
        out->deviation[i] = sd;
        out->mean[i] = mean;
        out->constant[i] = inside < constant_share * all;
        out->max_deviation = fmax(out->max_deviation, sd);
        for (int64_t r = 0; r < rows->rows; r++)
            out->y[r * d + i] = (rows->latent[r * d + i] - mean) / sd;
    }
    return PLUMB_OK;
}
