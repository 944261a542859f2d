// SPDX-License-Identifier: MIT
// Summaries of numbers, and how sure they are: the bootstrap.
#ifndef MATH_STATS_H
#define MATH_STATS_H

#include <stdint.h>

#include "base/arena.h"
#include "plumb/status.h"

// A NaN among the numbers makes each of these NaN; so do no numbers at all.

double stats_mean(const double *x, int64_t n); ///< summed in the order of the index

/// Both may reorder x. An even count has the mean of the middle two as its median; a quantile lies
/// on the line between its neighbours, p = 0 the least and p = 1 the greatest (NumPy's default).
double stats_median(double *x, int64_t n);
double stats_quantile(double *x, int64_t n, double p);

/// A statistic of the items index[0 .. count-1], repeats included.
typedef double stats_statistic(const void *context, const int64_t *index, int64_t count);

/// The 95 % percentile interval [Efron79] of `statistic` over `items` items, each resample drawing
/// `items` of them with replacement. NaN, NaN if items < 2 or resamples == 0, or if the statistic
/// of some resample is NaN. `mem` lends scratch. Fails with PLUMB_EMEMORY only.
plumb_status stats_bootstrap(double *low, double *high, arena *mem, int64_t items,
                             int64_t resamples, uint64_t seed, uint64_t stream,
                             stats_statistic *statistic, const void *context);

/// The same for the mean of x.
plumb_status stats_bootstrap_mean(double *low, double *high, arena *mem, const double *x, int64_t n,
                                  int64_t resamples, uint64_t seed, uint64_t stream);

#endif
