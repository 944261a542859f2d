// SPDX-License-Identifier: MIT
// Scores of clips in tuples of four, and every number that benchmarks make of them.
#ifndef MEASURES_SURPRISE_TUPLE_METRICS_H
#define MEASURES_SURPRISE_TUPLE_METRICS_H

#include "base/arena.h"
#include "plumb/surprise.h"

/// Which tuples to judge and how sure to be.
typedef struct tuple_metrics_plan {
    int64_t count;
    const int64_t *concept_of; ///< (count), 0 .. concepts-1; NULL: one
    int64_t concepts;
    double type1;
    int64_t resamples;
    uint64_t seed;
} tuple_metrics_plan;

/// score is (count, 4), all finite. `mem` lends scratch. Fails with PLUMB_EMEMORY.
plumb_status tuple_metrics_compute(plumb_surprise_metrics *out, arena *mem, const double *score,
                                   const tuple_metrics_plan *plan);

/// The sums of a tuple: possible and impossible. Both are added in the order of the clips, so that
/// clips which are equal cancel to the last bit; sums that differ by no more than rounding are
/// equal.
void tuple_metrics_sums(double *possible, double *impossible, const double score[4]);
/// (I - P) / (|I| + |P|), 0 for 0/0.
double tuple_metrics_relative(const double score[4]);
bool tuple_metrics_right(const double score[4]);

/// P(a random impossible clip scores higher than a random possible one), ties half. `mem` lends.
plumb_status tuple_metrics_auroc(double *out, arena *mem, const double *score, int64_t count);

/// Single clips against a threshold: best accuracy over all thresholds, and where.
plumb_status tuple_metrics_best(double *threshold, double *accuracy, arena *mem,
                                const double *score, int64_t count);

/// The 95 % interval of [Wilson27].
plumb_interval tuple_metrics_wilson(int64_t right, int64_t count);

/// McNemar's exact test, two-sided.
plumb_surprise_comparison tuple_metrics_compare(const double *first, const double *second,
                                                int64_t count);

#endif
