// SPDX-License-Identifier: MIT
// Structure of the latents that is finer than the fit of G: a short wave of small amplitude leaves
// little unexplained, but its slopes are large and would change the form. What G leaves of held-out
// trajectories is noise or a wave. Noise is as different between near states as between distant
// ones; a wave is alike at near states and differs more and more with distance.
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "measures/kappa/kappa.h"

enum {
    NEIGHBOURS = KAPPA_MAX_NEIGHBOURS,
    MAX_QUERIES = 4000, // rows whose neighbours are searched for
    MIN_PAIRS = 10,     // pairs of near states in each of two groups, by which a wave is seen
};

// An output with more unexplained than the first value is noise; with less than the second it is
// exact.
static const double noise_limit = 0.5, exact_limit = 1e-6;
// Residuals of nearest states that are correlated by less than this, or by less than so many
// standard deviations of what noise would give, show no wave. The slope of a wave counts as far as
// it exceeds its error so many times.
static const double min_correlation = 0.15, min_significance = 4.0, slope_significance = 3.0;
// The growth of the latents, relative to their difference from the last neighbour, is at least
// this.
static const double min_growth = 0.2;

// Of all pairs of nearest states, sorted by distance: the closest ones, and those a little farther.
// The distance varies much between pairs, so the closest show waves that the mean pair does not.
static const double closest_share = 0.05, close_share = 0.25;
static const double min_close_correlation = 0.3;
// Waves are seen down to this many mean distances from a state to the nearest one of another
// trajectory; to the second value where there are fewer pairs of near trajectories than FEW_PAIRS
// (bench/resolution).
static const double distances_per_wave = 3.0, distances_of_few = 6.0;
enum { FEW_PAIRS = 25 };

// e (rows, outputs): the residuals of each half by the fit to the other half.
static plumb_status compute_residuals(double *e, arena *mem, const kappa_work *work)
{
    const latent_map *g = &work->map;
    const kappa_rows *rows = &work->rows;
    const int64_t first = rows->first_half_rows, outputs = g->out.count;
    // The fits to data near a surface were made off it.
    const double *x = g->request.x;
    plumb_status st = kernel_fit_values(e, &g->fit, mem, KERNEL_FIT_SECOND, x, first);
    if (!st)
        st = kernel_fit_values(e + first * outputs, &g->fit, mem, KERNEL_FIT_FIRST,
                               x + first * g->in.dims, rows->rows - first);
    for (int64_t i = 0; i < rows->rows * outputs && !st; i++) e[i] = g->out.y[i] - e[i];
    return st;
}

static double square_difference(const double *v, int64_t outputs, int64_t k, int64_t a, int64_t b)
{
    const double by = v[a * outputs + k] - v[b * outputs + k];
    return by * by;
}

// The share of the squared slopes of output k, along trajectories, that is missed and no noise:
// over one and two steps the residuals of noise differ alike, D1 = D2, those of a missed slope like
// 1 : 4, so (D2 - D1) / 3 is its square.
static double missed_along(const double *e, const kappa_work *work, int64_t k)
{
    const kappa_rows *rows = &work->rows;
    const map_outputs *out = &work->map.out;
    double one = 0.0, two = 0.0, slope = 0.0, ones = 0.0, twos = 0.0;
    for (int64_t r = 0; r + 1 < rows->rows; r++) {
        const int64_t t = r % rows->steps;
        if (t + 1 >= rows->steps) continue;
        one += square_difference(e, out->count, k, r, r + 1), ones += 1.0;
        slope += square_difference(out->y, out->count, k, r, r + 1);
        if (t + 2 < rows->steps) two += square_difference(e, out->count, k, r, r + 2), twos += 1.0;
    }
    if (!(slope > 0.0) || !(twos > 0.0)) return 0.0;
    return fmax(two / twos - one / ones, 0.0) / 3.0 / (slope / ones);
}

// Rows and their nearest states in other trajectories.
typedef struct near_states {
    int64_t queries, stride;      // query q is row q * stride
    int64_t *neighbour;           // (queries, NEIGHBOURS) rows
    int64_t *sorted;              // (queries) queries, those with the nearest neighbour first
    double mean_distance;         // to the nearest neighbour
    int64_t closest, close;       // queries of the closest pairs, and of those and the close ones
    int64_t trajectory_pairs[2];  // pairs of trajectories among the former, and among the others
    int64_t all_trajectory_pairs; // and among all queries
} near_states;

// Mean squared differences of output k between states and their neighbours of one rank, over the
// queries sorted[from .. to): of the residuals and of the latents.
typedef struct variation {
    double residual, latent;
    double square; // the mean of the sum of both squared residuals: `residual` of noise
} variation;

static variation measure_variation(const double *e, const kappa_work *work, int64_t k,
                                   const near_states *near, int64_t rank, int64_t from, int64_t to)
{
    const map_outputs *out = &work->map.out;
    variation sum = {0};
    for (int64_t i = from; i < to; i++) {
        const int64_t q = near->sorted[i], other = near->neighbour[q * NEIGHBOURS + rank];
        sum.residual += square_difference(e, out->count, k, q * near->stride, other);
        sum.latent += square_difference(out->y, out->count, k, q * near->stride, other);
        const double first = e[q * near->stride * out->count + k],
                     second = e[other * out->count + k];
        sum.square += first * first + second * second;
    }
    const double count = fmax((double)(to - from), 1.0);
    return (variation){sum.residual / count, sum.latent / count, sum.square / count};
}

// The slope of one variation over the other: the share of squared slopes that is missed. Where the
// second pairs are hardly farther apart than the first, the growth is not known well.
static double variation_slope(variation nearer, variation farther)
{
    const double growth = fmax(farther.latent - nearer.latent, min_growth * farther.latent);
    return growth > 0.0 ? fmin(fmax(farther.residual - nearer.residual, 0.0) / growth, 1.0) : 0.0;
}

// How many independent pairs there are among `pairs` that belong to `trajectory_pairs` pairs of
// trajectories: two trajectories that are near at one step are near at many, and `smooth` is how
// far residuals are alike from step to step. Each pair is also found from its other end.
static double count_independent(int64_t pairs, int64_t trajectory_pairs, double smooth)
{
    const double repeats = fmax(0.5 * (double)pairs - (double)trajectory_pairs, 0.0);
    return (double)trajectory_pairs + repeats * (1.0 - smooth) / (1.0 + smooth);
}

// A mean over pairs, and how many of them are independent.
typedef struct variation_sample {
    variation mean;
    double pairs;
} variation_sample;

// The slope between two samples, less its error.
static double significant_slope(variation_sample first, variation_sample second)
{
    // The mean of n squares has a relative error of sqrt(2 / n).
    const double error = slope_significance *
                         sqrt(2.0 * (first.mean.residual * first.mean.residual / first.pairs +
                                     second.mean.residual * second.mean.residual / second.pairs));
    first.mean.residual += error;
    return variation_slope(first.mean, second.mean);
}

// Are the residuals of these pairs more alike than noise would be, and by `least`?
static bool is_correlated(double residual, double square, double pairs, double least)
{
    if (!(square > 0.0) || !(pairs >= 1.0)) return false;
    return 1.0 - residual / square >= fmax(least, min_significance / sqrt(pairs));
}

// Waves shorter than the distance to the nearest state of most rows: the growth from the closest
// pairs to those a little farther. smooth: of the residuals of output k, 0 to 1.
static double missed_between_closest(const double *e, const kappa_work *work, int64_t k,
                                     const near_states *near, double smooth)
{
    if (near->closest < MIN_PAIRS) return 0.0;
    const int64_t others = near->close - near->closest;
    const variation_sample first = {
        measure_variation(e, work, k, near, 0, 0, near->closest),
        count_independent(near->closest, near->trajectory_pairs[0], smooth)};
    const variation_sample second = {
        measure_variation(e, work, k, near, 0, near->closest, near->close),
        count_independent(others, near->trajectory_pairs[1], smooth)};
    const double share = closest_share / close_share;
    const double square = share * first.mean.square + (1.0 - share) * second.mean.square;
    const double residual = share * first.mean.residual + (1.0 - share) * second.mean.residual;
    if (!is_correlated(residual, square, first.pairs + second.pairs, min_close_correlation))
        return 0.0;
    return significant_slope(first, second);
}

// The same across trajectories: of waves longer than the distance to the nearest state the growth
// from there to the last of NEIGHBOURS.
static double missed_across(const double *e, const kappa_work *work, int64_t k,
                            const near_states *near, double smooth)
{
    const double pairs = count_independent(near->queries, near->all_trajectory_pairs, smooth);
    const variation_sample first = {measure_variation(e, work, k, near, 0, 0, near->queries),
                                    pairs};
    const variation_sample last = {
        measure_variation(e, work, k, near, NEIGHBOURS - 1, 0, near->queries), pairs};
    double missed = 0.0;
    if (last.mean.latent > first.mean.latent &&
        is_correlated(first.mean.residual, first.mean.square, pairs, min_correlation))
        missed = significant_slope(first, last);
    return fmax(missed, missed_between_closest(e, work, k, near, smooth));
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

// How many pairs of trajectories the queries sorted[from .. to) and their nearest states belong to.
// key: scratch for as many numbers.
static int64_t count_trajectory_pairs(int64_t *key, const near_states *near, const kappa_rows *rows,
                                      int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const int64_t q = near->sorted[i], a = q * near->stride / rows->steps,
                      b = near->neighbour[q * NEIGHBOURS] / rows->steps;
        key[i - from] = a < b ? a * rows->trajectories + b : b * rows->trajectories + a;
    }
    qsort(key, (size_t)(to - from), sizeof *key, compare_numbers);
    int64_t count = to > from;
    for (int64_t i = 1; i < to - from; i++) count += key[i] != key[i - 1];
    return count;
}

// Finds the neighbours of up to MAX_QUERIES rows.
static plumb_status find_near_states(near_states *near, arena *mem, const kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    near->stride = (rows->rows + MAX_QUERIES - 1) / MAX_QUERIES;
    near->queries = (rows->rows + near->stride - 1) / near->stride;
    near->neighbour = ARENA_ALLOC(mem, int64_t, (near->queries * NEIGHBOURS));
    near->sorted = ARENA_ALLOC(mem, int64_t, near->queries);
    kappa_sort_item *item = ARENA_ALLOC(mem, kappa_sort_item, near->queries);
    int64_t *key = ARENA_ALLOC(mem, int64_t, near->queries);
    if (!near->neighbour || !near->sorted || !item || !key) return PLUMB_EMEMORY;
    kappa_neighbours all;
    plumb_status st = kappa_neighbours_init(&all, mem, &work->map.in, rows);
    for (int64_t q = 0; q < near->queries && !st; q++) {
        item[q].index = q;
        item[q].value = kappa_neighbours_find(near->neighbour + q * NEIGHBOURS, NEIGHBOURS, &all,
                                              q * near->stride);
        if (q % 64 == 0) st = status_check_stop();
    }
    if (st) return st;
    qsort(item, (size_t)near->queries, sizeof *item, kappa_compare_items);
    double sum = 0.0;
    for (int64_t q = 0; q < near->queries; q++) {
        near->sorted[q] = item[q].index;
        sum += item[q].value;
    }
    near->mean_distance = sum / (double)near->queries;
    near->closest = (int64_t)(closest_share * (double)near->queries);
    near->close = (int64_t)(close_share * (double)near->queries);
    near->trajectory_pairs[0] = count_trajectory_pairs(key, near, rows, 0, near->closest);
    near->trajectory_pairs[1] = count_trajectory_pairs(key, near, rows, near->closest, near->close);
    near->all_trajectory_pairs = count_trajectory_pairs(key, near, rows, 0, near->queries);
    return PLUMB_OK;
}

// Is output k neither exact nor noise?
static bool may_have_waves(const latent_map *g, int64_t k)
{
    const double unexplained = g->fit.choice[k].unexplained;
    return unexplained >= exact_limit && unexplained <= noise_limit;
}

plumb_status kappa_missed_slopes(kappa_work *work)
{
    const latent_map *g = &work->map;
    const kappa_rows *rows = &work->rows;
    bool is_exact = true;
    for (int64_t k = 0; k < g->out.count; k++) is_exact = is_exact && !may_have_waves(g, k);
    work->form.missed_slope = 0.0;
    arena mem = {0};
    near_states near = {0};
    double *e = ARENA_ALLOC(&mem, double, (rows->rows * g->out.count));
    plumb_status st = e ? find_near_states(&near, &mem, work) : PLUMB_EMEMORY;
    if (!st)
        work->form.resolution =
            near.mean_distance * (near.trajectory_pairs[0] + near.trajectory_pairs[1] < FEW_PAIRS
                                      ? distances_of_few
                                      : distances_per_wave);
    if (!st && !is_exact) st = compute_residuals(e, &mem, work);
    for (int64_t k = 0; k < g->out.count && !st; k++) {
        if (!may_have_waves(g, k)) continue;
        for (int64_t r = 0; r < rows->rows; r++)
            work->form.residual2[r / rows->steps] +=
                e[r * g->out.count + k] * e[r * g->out.count + k];
        const double along = missed_along(e, work, k);
        const double smooth = fmin(fmax(g->fit.choice[k].smooth_share, 0.0), 1.0);
        const double across = missed_across(e, work, k, &near, smooth);
        work->form.missed_slope = fmax(work->form.missed_slope, fmax(along, across));
    }
    arena_clear(&mem);
    return st;
}
