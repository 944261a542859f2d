// SPDX-License-Identifier: MIT
// Are features spread evenly over the sphere? What distances to the k-th neighbour say.
#ifndef MEASURES_SURPRISE_UNIFORMITY_H
#define MEASURES_SURPRISE_UNIFORMITY_H

#include "base/arena.h"
#include "plumb/surprise.h"

/// Share of the unit sphere in `dims` dimensions that is nearer than r to a point of it.
double uniformity_cap(double r, int64_t dims);

/// Kolmogorov-Smirnov of values in 0 to 1 against the uniform distribution; reorders them. p by
/// Kolmogorov's limit.
plumb_surprise_test uniformity_ks(double *x, int64_t n);

/// r (count): distances to the k-th of observed[i] unit vectors in `dims` dimensions.
plumb_status uniformity_measure(plumb_surprise_uniformity *out, arena *mem, const double *r,
                                const int64_t *observed, int64_t count, int64_t k, int64_t dims);

#endif
