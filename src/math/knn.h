// SPDX-License-Identifier: MIT
// Exact distance to the k-th nearest of many points, by comparing with all of them.
//
// In a hundred dimensions no tree is faster than comparing with every point, so comparing is made
// cheap: points are rounded to 16 bits, and integer products (twice as many per cycle as float
// ones) show for nearly all of them that they cannot be among the k nearest. The rounding error has
// a known bound, so none of the nearest is lost. The few that remain are measured in double.
#ifndef MATH_KNN_H
#define MATH_KNN_H

#include <stdbool.h>

#include "base/arena.h"
#include "plumb/status.h"

/// Points prepared for a search.
typedef struct knn_index {
    const double *rows; ///< (count, dims); they belong to the caller.
    int64_t count, dims;
    double *centre;    ///< (dims) mean of the rows.
    double *deviation; ///< (count) distances from the centre.
    double farthest;   ///< The largest of them.
} knn_index;

/// The index refers to `rows`. Fails with PLUMB_EMEMORY.
plumb_status knn_init(knn_index *out, arena *mem, const double *rows, int64_t count, int64_t dims);

/// out[i] = the distance of queries[i] (queries, dims) to its k-th nearest row, 1 <= k <= count.
/// Equal points count one by one. All values must be finite. threads 0: one per processor. Fails
/// with PLUMB_EMEMORY.
plumb_status knn_kth_distance(double *out, const knn_index *points, const double *queries,
                              int64_t count, int64_t k, int threads);

/// Instruction set in use, "avx2" or "portable"; both give the same bits.
const char *knn_instructions(void);
/// For tests: chooses a set; false if this processor does not have it.
bool knn_select(const char *set);

#endif
