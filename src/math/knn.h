// SPDX-License-Identifier: MIT
// Distance to the k-th nearest of many points: exact, by looking at all of them.
//
// At a hundred dimensions no tree is quicker than looking at every point, so looking is made cheap:
// points are rounded to 16 bits, and integer products, twice as many a cycle as float ones, say for
// nearly all of them that they cannot be among the k nearest. How far rounding can be off is
// known, so none of the nearest is lost; the few that remain are measured in double.
#ifndef MATH_KNN_H
#define MATH_KNN_H

#include <stdbool.h>

#include "base/arena.h"
#include "plumb/status.h"

/// Points made ready to be searched.
typedef struct knn_index {
    const double *rows; ///< (count, dims), the caller's
    int64_t count, dims;
    double *centre;    // of the rows
    double *deviation; // (count): distance from the centre
    double farthest;
} knn_index;

/// Keeps `rows`. Fails with PLUMB_EMEMORY.
plumb_status knn_init(knn_index *out, arena *mem, const double *rows, int64_t count, int64_t dims);

/// out[i] = the distance of queries[i] (queries, dims) to its k-th nearest row, 1 <= k <= count.
/// Equal points count each. All must be finite. Fails with PLUMB_EMEMORY.
plumb_status knn_kth_distance(double *out, const knn_index *points, const double *queries,
                              int64_t count, int64_t k, int threads);

/// "avx2" or "portable"; both give the same bits.
const char *knn_instructions(void);
/// For tests: uses that set from here on; false if this processor does not have it.
bool knn_select(const char *set);

#endif
