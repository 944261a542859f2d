// SPDX-License-Identifier: MIT
// Mean, median, quantiles, and bootstrap confidence intervals.
#ifndef MATH_STATS_H
#define MATH_STATS_H

#include <stdint.h>

#include "base/arena.h"
#include "plumb/record.h"
#include "plumb/status.h"

// Each of these is NaN if one of the numbers is NaN, or if n is 0.

/// Summed in the order of the index.
double stats_mean(const double *x, int64_t n);

/// Reorders x. With an even count, the mean of the middle two.
double stats_median(double *x, int64_t n);
/// Reorders x. Linear interpolation between neighbours, as NumPy's default: p = 0 is the smallest
/// value, p = 1 the largest.
double stats_quantile(double *x, int64_t n, double p);
/// Reorders x. The quantiles 0.025 and 0.975.
plumb_interval stats_interval_95(double *x, int64_t n);

/// A statistic of the items index[0 .. count-1], which may repeat.
typedef double stats_statistic(const void *context, const int64_t *index, int64_t count);

/// How resamples are drawn.
typedef struct bootstrap_options {
    int64_t items;     ///< Number of items; each resample draws this many with replacement.
    int64_t resamples; ///< Number of resamples. 0: no interval.
    uint64_t seed;     ///< Of the random numbers,
    uint64_t stream;   ///< and their stream.
} bootstrap_options;

/// The 95 % percentile interval [Efron79] of `statistic` over items 0 .. items-1. NaN, NaN if items
/// < 2, if resamples == 0, or if the statistic of a resample is NaN. `mem` lends scratch memory.
/// Fails with PLUMB_EMEMORY.
plumb_status stats_bootstrap(plumb_interval *out, arena *mem, const bootstrap_options *options,
                             stats_statistic *statistic, const void *context);

/// The same for the mean of x (options->items).
plumb_status stats_bootstrap_mean(plumb_interval *out, arena *mem, const double *x,
                                  const bootstrap_options *options);

#endif
