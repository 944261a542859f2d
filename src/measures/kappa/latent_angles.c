// SPDX-License-Identifier: MIT
// Latents that are angles. Such a latent is no single-valued function of the state: wrapped, it
// jumps by a period somewhere; unwrapped, it has gained a period after each turn. In both cases
// nearly equal states have latents that differ by a multiple of one period. So the differences
// between the latents of neighbouring states show the period: the largest P for which
// |mean exp(2 pi i difference / P)| is near 1, while some differences are larger than P / 2.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/stats.h"
#include "measures/kappa/kappa.h"

enum {
    MAX_QUERIES = 1200, // rows whose nearest state is searched for
    PERIODS = 2000,     // periods that are tried
    SAMPLES = 400,      // differences that measure coherence
    MIN_JUMPS = 4,      // differences of a period or more that must be seen
    MAX_DIMS = 16,      // with more coordinates there are no near neighbours
};

// |mean exp(2 pi i difference / P)| of an angle is above this.
static const double min_coherence = 0.9;
// A shorter period, in deviations of the latent, is rounding or noise.
static const double min_period = 0.02;
// The longest period, and the shortest, over the largest difference.
static const double longest = 1.05, shortest = 1.0 / 60.0;

// The largest jumps of an angle are this many times the median difference.
static const double outlier_ratio = 8.0;
// A latent whose mean squared step is below this share of twice its variance moves smoothly.
static const double smooth_share = 0.25;

static const double turn = 6.283185307179586;

double kappa_latent_angle(const kappa_work *work, int64_t row, int64_t i)
{
    const kappa_latent *l = &work->latent;
    const double y = l->y[row * work->rows.latent_dims + i] * l->deviation[i];
    return turn * y / l->period[i];
}

// Whether |mean exp(2 pi i difference / P)| of SAMPLES differences reaches min_coherence. Ends as
// soon as the rest cannot change the answer.
static bool is_coherent(const double *difference, int64_t count, double period)
{
    const int64_t stride = (count + SAMPLES - 1) / SAMPLES;
    const int64_t samples = (count + stride - 1) / stride;
    const double needed = min_coherence * (double)samples, frequency = turn / period;
    double re = 0.0, im = 0.0;
    for (int64_t i = 0; i < samples; i++) {
        const double angle = frequency * difference[i * stride];
        re += cos(angle);
        im += sin(angle);
        const double short_by = needed - (double)(samples - 1 - i);
        if (short_by > 0.0 && re * re + im * im < short_by * short_by) return false;
    }
    return true;
}

// The size of the MIN_JUMPS largest differences: the largest first.
static void find_largest(double *largest, const double *difference, int64_t count)
{
    memset(largest, 0, MIN_JUMPS * sizeof *largest);
    for (int64_t q = 0; q < count; q++) {
        const double size = fabs(difference[q]);
        if (!(size > largest[MIN_JUMPS - 1])) continue;
        int i = MIN_JUMPS - 1;
        for (; i > 0 && largest[i - 1] < size; i--) largest[i] = largest[i - 1];
        largest[i] = size;
    }
}

// Whether a few differences are many times larger than most: those of an angle are about 0 or about
// a multiple of its period, those of noise are not.
static bool has_outliers(const double *difference, int64_t count)
{
    double size[SAMPLES], largest[MIN_JUMPS];
    const int64_t stride = (count + SAMPLES - 1) / SAMPLES;
    int64_t samples = 0;
    for (int64_t q = 0; q < count; q += stride) size[samples++] = fabs(difference[q]);
    find_largest(largest, difference, count);
    return samples && largest[MIN_JUMPS - 1] > outlier_ratio * stats_median(size, samples);
}

// About the period of a latent, from its differences, or 0. Longer periods come first, because a
// half or a third of a period is as coherent.
static double find_period(const double *difference, int64_t count)
{
    double largest[MIN_JUMPS];
    find_largest(largest, difference, count);
    const double ratio = pow(shortest / longest, 1.0 / PERIODS);
    double period = largest[0] * longest;
    for (int k = 0; k < PERIODS && period >= min_period; k++, period *= ratio)
        if (largest[MIN_JUMPS - 1] > 0.5 * period && is_coherent(difference, count, period))
            return period;
    return 0.0;
}

// The period to more digits: least squares over all jumps, each a multiple of it.
static double refine_period(const double *difference, int64_t count, double period)
{
    for (int round = 0; round < 4; round++) {
        double product = 0.0, square = 0.0;
        for (int64_t q = 0; q < count; q++) {
            const double turns = nearbyint(difference[q] / period);
            product += turns * difference[q];
            square += turns * turns;
        }
        if (square > 0.0) period = product / square;
    }
    return period;
}

// An angle in radians or degrees has a period that is known exactly.
static double snap_period(double period)
{
    static const double known[] = {6.283185307179586, 3.141592653589793, 360.0, 180.0, 1.0, 2.0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fabs(period / known[i] - 1.0) < 0.02) return known[i];
    return period;
}

// The period of latent i, or 0: from neighbouring states, or from the steps of trajectories, where
// a wrapped angle jumps.
static double find_latent_period(double *difference, const kappa_work *work, int64_t i,
                                 const int64_t *neighbour, int64_t stride)
{
    const kappa_rows *rows = &work->rows;
    const double *y = work->latent.y + i;
    const int64_t d = rows->latent_dims;
    // A step less the one before it, so that only jumps are large.
    int64_t count = 0;
    double step2 = 0.0, period = 0.0;
    for (int64_t r = 1; r + 1 < rows->rows; r++) {
        const int64_t t = r % rows->steps;
        if (t < 1 || t + 1 >= rows->steps) continue;
        difference[count++] = y[(r + 1) * d] - 2.0 * y[r * d] + y[(r - 1) * d];
        step2 += (y[(r + 1) * d] - y[r * d]) * (y[(r + 1) * d] - y[r * d]);
    }
    // y has a variance of 1.
    const bool smooth = count && step2 < 2.0 * smooth_share * (double)count;
    if (has_outliers(difference, count)) period = find_period(difference, count);
    if (!(period > 0.0)) {
        count = 0;
        for (int64_t r = 0; r < rows->rows; r += stride, count++)
            difference[count] = y[r * d] - y[neighbour[count] * d];
        if (smooth || has_outliers(difference, count)) period = find_period(difference, count);
    }
    return period > 0.0 ? refine_period(difference, count, period) : 0.0;
}

plumb_status kappa_find_latent_angles(kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    kappa_latent *l = &work->latent;
    if (work->truth.dims > MAX_DIMS) return PLUMB_OK;
    const int64_t stride = (rows->rows + MAX_QUERIES - 1) / MAX_QUERIES;
    const int64_t queries = (rows->rows + stride - 1) / stride;
    arena mem = {0};
    map_inputs in;
    plumb_status st = kappa_map_inputs(&in, &mem, work, MAP_ANGLES_CIRCLE, NULL);
    kappa_neighbours near;
    if (!st) st = kappa_neighbours_init(&near, &mem, &in, rows);
    int64_t *neighbour = ARENA_ALLOC(&mem, int64_t, queries);
    double *difference = ARENA_ALLOC(&mem, double, rows->rows);
    if (!st && (!neighbour || !difference)) st = PLUMB_EMEMORY;
    for (int64_t q = 0; q < queries && !st; q++)
        kappa_neighbours_find(neighbour + q, 1, &near, q * stride);
    for (int64_t i = 0; i < rows->latent_dims && !st; i++) {
        if (!l->varies[i] || l->constant[i]) continue;
        // In units of the array a period may be one that is known.
        const double given_unit = l->deviation[i] * rows->latent_unit;
        const double period = find_latent_period(difference, work, i, neighbour, stride);
        l->period[i] = snap_period(period * given_unit) / rows->latent_unit;
        st = status_check_stop();
    }
    arena_clear(&mem);
    return st;
}
