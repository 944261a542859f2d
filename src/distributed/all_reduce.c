// SPDX-License-Identifier: MIT
// All-reduce over a binary tree of replica numbers. In the step with distance d, replica r takes in
// replica r + d, for all r that are multiples of 2d; d is 1, 2, 4 and so on. A rank does the steps
// whose replicas are all its own. The replicas that are left are exchanged in slices, so that each
// rank finishes the tree for its own slice of the gradient.
#include "distributed/all_reduce.h"

#include <limits.h>
#include <string.h>

#include "base/thread_team.h"
#include "distributed/comm.h"
#include "engine/gradient_sum.h"

// After replica r has taken in r + reach, it holds the sum of the replicas r .. end - 1.
static int64_t get_end(const all_reduce *reduce, int64_t r, int64_t reach)
{
    return r + 2 * reach < reduce->replicas ? r + 2 * reach : reduce->replicas;
}

// The rank that has a replica.
static int find_rank(const all_reduce *reduce, int64_t replica)
{
    int64_t size;
    for (int k = 0; k < reduce->ranks; k++)
        if (replica < thread_team_split(&size, reduce->replicas, k, reduce->ranks) + size) return k;
    return reduce->ranks - 1;
}

// True if one rank has all replicas of this step.
static bool is_local_sum(const all_reduce *reduce, int64_t r, int64_t reach)
{
    return find_rank(reduce, r) == find_rank(reduce, get_end(reduce, r, reach) - 1);
}

// Lists the replicas that are left after all local steps.
static void find_remaining(all_reduce *reduce)
{
    int64_t n = 0;
    for (int k = 0; k < reduce->ranks; k++) {
        int64_t size;
        const int64_t first = thread_team_split(&size, reduce->replicas, k, reduce->ranks);
        reduce->remaining_first[k] = n;
        // A replica is left if no local step has added it to another.
        for (int64_t i = first; i < first + size; i++) {
            bool added = false;
            for (int64_t reach = 1; reach < reduce->replicas && !added; reach *= 2) {
                const int64_t r = i - reach;
                added = r >= 0 && r % (2 * reach) == 0 && is_local_sum(reduce, r, reach);
            }
            if (!added) reduce->remaining[n++] = i;
        }
    }
    reduce->remaining_first[reduce->ranks] = reduce->remaining_count = n;
}

// Splits the gradient into slices of whole parts, one per rank.
static void split_slices(all_reduce *reduce)
{
    for (int k = 0; k < reduce->ranks; k++) {
        int64_t count;
        const int64_t first = thread_team_split(&count, reduce->parts, k, reduce->ranks);
        const int64_t at = first * reduce->part, end = (first + count) * reduce->part;
        reduce->part_first[k] = first;
        reduce->part_count[k] = count;
        reduce->slice_at[k] = (int)(at < reduce->size ? at : reduce->size);
        reduce->slice[k] = (int)((end < reduce->size ? end : reduce->size) - reduce->slice_at[k]);
        reduce->squares_at[k] = (int)(2 * first); // a double is sent as two floats
        reduce->squares[k] = (int)(2 * count);
    }
}

// Counts and offsets of what this rank sends to and receives from every rank. One remaining replica
// is sent from where it is; several are packed first.
static void plan_messages(all_reduce *reduce)
{
    const int64_t sent_count =
        reduce->remaining_first[reduce->rank + 1] - reduce->remaining_first[reduce->rank];
    int64_t sent = 0;
    for (int k = 0; k < reduce->ranks; k++) {
        const int64_t received_count = reduce->remaining_first[k + 1] - reduce->remaining_first[k];
        reduce->send[k] = (int)(sent_count * reduce->slice[k]);
        reduce->send_at[k] = (int)(sent_count == 1 ? reduce->slice_at[k] : sent);
        sent += reduce->send[k];
        reduce->receive[k] = (int)(received_count * reduce->slice[reduce->rank]);
        reduce->receive_at[k] = (int)(reduce->remaining_first[k] * reduce->slice[reduce->rank]);
    }
}

plumb_status all_reduce_init(all_reduce *reduce, arena *mem, int64_t replicas, int64_t size,
                             int64_t part, int64_t stride)
{
    const int ranks = comm_size();
    *reduce = (all_reduce){.replicas = replicas,
                           .rank = comm_rank(),
                           .ranks = ranks,
                           .part = part,
                           .parts = (size + part - 1) / part,
                           .size = size,
                           .stride = stride};
    reduce->first = thread_team_split(&reduce->count, replicas, reduce->rank, ranks);
    if (ranks == 1) return PLUMB_OK;
    // MPI counts and offsets are of type int.
    if (size * replicas > INT_MAX)
        return fail(PLUMB_EVALUE, "%lld parameters of %lld replicas are too many for MPI",
                    (long long)size, (long long)replicas);
    // One block for all lists of 64 bits, and one for those of 32 bits.
    int64_t *longs = ARENA_ALLOC(mem, int64_t, (3 * (ranks + 1) + replicas));
    int *ints = ARENA_ALLOC(mem, int, (8 * ranks));
    if (!longs || !ints) return PLUMB_EMEMORY;
    reduce->part_first = longs, reduce->part_count = longs + ranks;
    reduce->remaining_first = longs + 2 * ranks, reduce->remaining = longs + 3 * (ranks + 1);
    reduce->slice_at = ints, reduce->slice = ints + ranks;
    reduce->send = ints + 2 * ranks, reduce->send_at = ints + 3 * ranks;
    reduce->receive = ints + 4 * ranks, reduce->receive_at = ints + 5 * ranks;
    reduce->squares_at = ints + 6 * ranks, reduce->squares = ints + 7 * ranks;
    split_slices(reduce);
    find_remaining(reduce);
    plan_messages(reduce);
    const int64_t sent_count =
        reduce->remaining_first[reduce->rank + 1] - reduce->remaining_first[reduce->rank];
    if (sent_count > 1) reduce->packed = ARENA_ALLOC(mem, float, (sent_count * size));
    reduce->rows = ARENA_ALLOC(mem, float, (reduce->remaining_count * reduce->slice[reduce->rank]));
    return (sent_count > 1 && !reduce->packed) || !reduce->rows ? PLUMB_EMEMORY : PLUMB_OK;
}

// The last part may be shorter.
static int64_t part_size(const all_reduce *reduce, int64_t part)
{
    const int64_t left = reduce->size - part * reduce->part;
    return left < reduce->part ? left : reduce->part;
}

// The steps of the tree whose replicas are all of this rank.
void all_reduce_local(const all_reduce *reduce, float *gradient, int64_t part)
{
    float *at = gradient + part * reduce->part;
    const int64_t end = reduce->first + reduce->count;
    for (int64_t reach = 1; reach < reduce->replicas; reach *= 2)
        for (int64_t r = 0; r + reach < reduce->replicas; r += 2 * reach)
            if (r >= reduce->first && get_end(reduce, r, reach) <= end)
                gradient_add(at + (r - reduce->first) * reduce->stride,
                             at + (r + reach - reduce->first) * reduce->stride,
                             part_size(reduce, part));
}

// Packs the remaining replicas slice by slice, if there are several, and exchanges the slices.
plumb_status all_reduce_exchange(all_reduce *reduce, const float *gradient)
{
    const int64_t from = reduce->remaining_first[reduce->rank],
                  sent_count = reduce->remaining_first[reduce->rank + 1] - from;
    const float *data = gradient + (reduce->remaining[from] - reduce->first) * reduce->stride;
    for (int k = 0; k < reduce->ranks && sent_count > 1; k++)
        for (int64_t i = 0; i < sent_count; i++)
            memcpy(reduce->packed + reduce->send_at[k] + i * reduce->slice[k],
                   gradient + (reduce->remaining[from + i] - reduce->first) * reduce->stride +
                       reduce->slice_at[k],
                   (size_t)reduce->slice[k] * sizeof *gradient);
    return comm_all_to_all(reduce->rows, reduce->receive, reduce->receive_at,
                           sent_count > 1 ? reduce->packed : data, reduce->send, reduce->send_at);
}

// The row of a remaining replica in `rows`.
static int64_t find_row(const all_reduce *reduce, int64_t replica)
{
    int64_t i = 0;
    while (reduce->remaining[i] != replica) i++;
    return i;
}

// The other steps of the tree, in the same order as in one process.
const float *all_reduce_remote(const all_reduce *reduce, int64_t part)
{
    const int64_t slice = reduce->slice[reduce->rank];
    // `part` counts over the whole gradient, but a row begins at the slice of this rank.
    float *at = reduce->rows + part * reduce->part - reduce->slice_at[reduce->rank];
    for (int64_t reach = 1; reach < reduce->replicas; reach *= 2)
        for (int64_t r = 0; r + reach < reduce->replicas; r += 2 * reach)
            if (!is_local_sum(reduce, r, reach))
                gradient_add(at + find_row(reduce, r) * slice,
                             at + find_row(reduce, r + reach) * slice, part_size(reduce, part));
    return at;
}

// Every rank gets the slices of all others: the sum, and the sums of squares of the parts.
plumb_status all_reduce_collect(const all_reduce *reduce, float *sum, double *square)
{
    const plumb_status st = comm_all_gather_slices(sum, reduce->slice, reduce->slice_at);
    return st ? st
              : comm_all_gather_slices((float *)(void *)square, reduce->squares,
                                       reduce->squares_at);
}
