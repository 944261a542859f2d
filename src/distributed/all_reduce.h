// SPDX-License-Identifier: MIT
// Gradients of replicas on several ranks, summed over the same tree of replica numbers as in one
// process, so that the bits are the same wherever the replicas are.
//
// Each rank has a run of replica numbers and adds what the tree adds within it. What is left, one
// block a rank where the numbers divide well, is cut into slices, one a rank; slices are exchanged,
// each rank adds those of its own slice in the order of the tree, and the sums are joined. The
// traffic is that of a ring all-reduce.
#ifndef DISTRIBUTED_ALL_REDUCE_H
#define DISTRIBUTED_ALL_REDUCE_H

#include "base/arena.h"
#include "base/status.h"

typedef struct all_reduce {
    int64_t replicas;
    int rank, ranks;
    int64_t first, count; ///< replicas of this rank
    int64_t part;         ///< floats a part; slices are whole parts
    int64_t parts, size;
    int64_t stride; ///< floats from one replica's gradient to the next, this rank's only
    // Of all ranks: parts and floats of their slices, and the blocks that their own sums leave.
    int64_t *part_first, *part_count;
    int *slice_at, *slice;
    int64_t live_count; ///< of all ranks
    int64_t *live;      ///< replica numbers, in order
    int64_t *live_first;
    int *give, *give_at, *take, *take_at;
    int *square_at, *square; ///< of the parts' squares, in floats
    float *packed;           ///< what is sent, where a rank has more than one block left
    float *rows;             ///< (live_count, own slice)
} all_reduce;

plumb_status all_reduce_init(all_reduce *s, arena *mem, int64_t replicas, int64_t size,
                             int64_t part, int64_t stride);

/// Adds, in part `p` of this rank's gradients, what the tree adds among its own replicas.
void all_reduce_local(const all_reduce *s, float *gradient, int64_t p);
/// All ranks together: what is left of the others' replicas of this rank's slice, into `rows`.
plumb_status all_reduce_exchange(all_reduce *s, const float *gradient);
/// Adds the rest in part `p`, which is this rank's, and returns the sum.
const float *all_reduce_remote(const all_reduce *s, int64_t p);
/// All ranks together: the whole sum, of which each has its slice, and the squares of all parts.
plumb_status all_reduce_gather(const all_reduce *s, float *sum, double *square);

#endif
