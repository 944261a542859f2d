// SPDX-License-Identifier: MIT
// How far clips are from the observed impossible clips: one function per scorer.
#ifndef MEASURES_SURPRISE_SCORERS_H
#define MEASURES_SURPRISE_SCORERS_H

#include "base/arena.h"
#include "plumb/surprise.h"

/// Points to fit and points to score, finite, (count, dims) each.
typedef struct scorer_task {
    const double *observed; ///< the observation set
    int64_t observed_count;
    const double *queries;
    int64_t query_count;
    int64_t dims;
    const plumb_surprise_options *opt;
    uint64_t stream; ///< random stream, one per observation set
    bool quiet;      ///< the same set, or a part of it: what was said of it is not said again
} scorer_task;

/// r (query_count): larger is less like the observed points. `mem` gives scratch.
typedef plumb_status scorer_function(double *r, arena *mem, const scorer_task *task);

scorer_function scorer_knn;         ///< distance to the k-th nearest
scorer_function scorer_iforest;     ///< 2^(-mean path / c)
scorer_function scorer_ocsvm;       ///< minus the decision
scorer_function scorer_pca;         ///< as opt->pca says
scorer_function scorer_mahalanobis; ///< squared, population covariance, pseudo-inverse

/// The measure of a scorer, or NULL: plain and naive have none, knn-log follows from knn.
scorer_function *scorer_find(plumb_scorer scorer);

/// False for a scorer whose library is missing on this machine.
bool scorer_available(plumb_scorer scorer);

#endif
