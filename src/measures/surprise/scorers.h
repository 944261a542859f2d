// SPDX-License-Identifier: MIT
// How far clips are from the impossible ones seen before: one row a scorer, all with one shape.
#ifndef MEASURES_SURPRISE_SCORERS_H
#define MEASURES_SURPRISE_SCORERS_H

#include "base/arena.h"
#include "plumb/surprise.h"

/// Points to fit and points to judge, finite, (count, dims) each.
typedef struct density_task {
    const double *seen; ///< the observation set
    int64_t seen_count;
    const double *asked;
    int64_t asked_count;
    int64_t dims;
    const plumb_surprise_options *opt;
    uint64_t stream; ///< of random numbers: another one for every observation set
} density_task;

/// r[i] of asked[i]: larger is less like what was seen. `mem` lends scratch.
typedef plumb_status density_measure(double *r, arena *mem, const density_task *task);

density_measure density_knn;         ///< distance to the k-th nearest
density_measure density_iforest;     ///< 2^(-mean path / c)
density_measure density_ocsvm;       ///< minus the decision
density_measure density_pca;         ///< as opt->pca says
density_measure density_mahalanobis; ///< squared, population covariance, pseudo-inverse

/// The measure of a scorer, or NULL: plain and naive have none, knn-log is made of knn's.
density_measure *density_of(plumb_scorer scorer);

#endif
