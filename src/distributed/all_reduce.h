// SPDX-License-Identifier: MIT
// Sums the gradients of replicas on several ranks, over the same binary tree of replica numbers as
// in one process. So the result is bit-identical for any distribution of the replicas.
//
// Each rank has consecutive replicas and does the steps of the tree within them. The gradients that
// remain, one per rank if the numbers divide well, are cut into one slice per rank. Slices are
// exchanged, each rank finishes the tree for its slice, and the sums are collected. The traffic is
// that of a ring all-reduce.
#ifndef DISTRIBUTED_ALL_REDUCE_H
#define DISTRIBUTED_ALL_REDUCE_H

#include "base/arena.h"
#include "base/status.h"

typedef struct all_reduce {
    int64_t replicas; ///< of all ranks
    int rank, ranks;
    int64_t first, count; ///< replicas of this rank
    int64_t part;         ///< floats per part; a slice has whole parts
    int64_t parts, size;  ///< parts and floats of a gradient
    int64_t stride;       ///< floats from one gradient of this rank to the next

    // Arrays over ranks.
    int64_t *part_first, *part_count; ///< parts of the slice of each rank
    int *slice_at, *slice;            ///< first float and number of floats of the slice
    int *send, *send_at;              ///< floats sent to each rank, and where they start
    int *receive, *receive_at;        ///< floats received from each rank, and where they go
    int *squares_at, *squares;        ///< sums of squares per part, counted in floats

    int64_t remaining_count;  ///< replicas that remain after the local steps, of all ranks
    int64_t *remaining;       ///< their numbers, ascending
    int64_t *remaining_first; ///< (ranks + 1) index of the first one of each rank
    float *packed;            ///< what is sent, if more than one replica remains on this rank
    float *rows;              ///< (remaining_count, floats of this rank's slice)
} all_reduce;

/// Plans the all-reduce of gradients with `size` floats. `stride` is the distance of the gradients
/// of this rank. Memory is taken from `mem`.
plumb_status all_reduce_init(all_reduce *reduce, arena *mem, int64_t replicas, int64_t size,
                             int64_t part, int64_t stride);

/// Does the local steps of the tree in part `part` of the gradients of this rank.
void all_reduce_local(const all_reduce *reduce, float *gradient, int64_t part);
/// Called by all ranks together: receives the remaining gradients for the slice of this rank.
plumb_status all_reduce_exchange(all_reduce *reduce, const float *gradient);
/// Does the remaining steps in part `part` of the slice of this rank and returns the sum.
const float *all_reduce_remote(const all_reduce *reduce, int64_t part);
/// Called by all ranks together: collects the slices of the sum, and the sums of squares of all
/// parts.
plumb_status all_reduce_collect(const all_reduce *reduce, float *sum, double *squares);

#endif
