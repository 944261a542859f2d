// SPDX-License-Identifier: MIT
// The likelihood ratio of single clips, in nats, and how well it is calibrated.
//
// log LR = s / T - w (d - 1) log r_k + c. The first term is -log p(possible) of Gaussian errors
// with variance T / 2 [Lin23, Section 3.1]. The second is log p(impossible) by the k-th neighbour,
// with d the intrinsic dimension of the observation set: features that fill few of their dimensions
// have the density of those few. T, w and c are fitted on tuples that are not judged.
#ifndef MEASURES_SURPRISE_LIKELIHOOD_RATIO_H
#define MEASURES_SURPRISE_LIKELIHOOD_RATIO_H

#include "measures/surprise/known_tuples.h"

typedef struct likelihood_ratio_task {
    const surprise_arrays *arrays;
    const observation_sets *sets;
    const known_tuples *known;
    const plumb_surprise_options *opt;
    const double *known_r;  ///< (known, 4): r_k by a density that was fitted without the tuple
    const double *judged_r; ///< (tested, 4)
} likelihood_ratio_task;

/// Fills `out`, and `known_score` (known, 4): the log ratio of the known tuples, for thresholds.
/// Everything lives in `mem`. Fails with PLUMB_EMEMORY.
plumb_status likelihood_ratio_measure(plumb_surprise_ratio *out, double *known_score, arena *mem,
                                      const likelihood_ratio_task *task);

/// The intrinsic dimension of points (count, dims) by their nearest neighbours: the estimate of
/// [Levina04] with inverses averaged, at most `dims`, which it also is for equal points.
double likelihood_ratio_dimension(const double *points, int64_t count, int64_t dims);

#endif
