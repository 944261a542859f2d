// SPDX-License-Identifier: MIT
#include "distributed/all_reduce.h"

#include <limits.h>
#include <string.h>

#include "base/thread_team.h"
#include "distributed/comm.h"
#include "engine/gradient_sum.h"

// The replicas that the tree has joined in r once it has added r + reach to it: r .. end - 1.
static int64_t end_of(const all_reduce *s, int64_t r, int64_t reach)
{
    return r + 2 * reach < s->replicas ? r + 2 * reach : s->replicas;
}

static int rank_of(const all_reduce *s, int64_t replica)
{
    int64_t size;
    for (int k = 0; k < s->ranks; k++)
        if (replica < thread_team_split(&size, s->replicas, k, s->ranks) + size) return k;
    return s->ranks - 1;
}

// Does one rank have all that is added here?
static bool is_own(const all_reduce *s, int64_t r, int64_t reach)
{
    return rank_of(s, r) == rank_of(s, end_of(s, r, reach) - 1);
}

// Replicas that no rank adds to another by itself.
static void find_live(all_reduce *s)
{
    int64_t n = 0;
    for (int k = 0; k < s->ranks; k++) {
        int64_t size;
        const int64_t first = thread_team_split(&size, s->replicas, k, s->ranks);
        s->live_first[k] = n;
        for (int64_t i = first; i < first + size; i++) {
            bool taken = false;
            for (int64_t reach = 1; reach < s->replicas && !taken; reach *= 2) {
                const int64_t r = i - reach;
                taken = r >= 0 && r % (2 * reach) == 0 && is_own(s, r, reach);
            }
            if (!taken) s->live[n++] = i;
        }
    }
    s->live_first[s->ranks] = s->live_count = n;
}

static void cut(all_reduce *s)
{
    for (int k = 0; k < s->ranks; k++) {
        int64_t count;
        const int64_t first = thread_team_split(&count, s->parts, k, s->ranks);
        const int64_t at = first * s->part, end = (first + count) * s->part;
        s->part_first[k] = first;
        s->part_count[k] = count;
        s->slice_at[k] = (int)(at < s->size ? at : s->size);
        s->slice[k] = (int)((end < s->size ? end : s->size) - s->slice_at[k]);
        s->square_at[k] = (int)(2 * first); // a double is sent as two floats
        s->square[k] = (int)(2 * count);
    }
}

static void address(all_reduce *s)
{
    const int64_t own = s->live_first[s->rank + 1] - s->live_first[s->rank];
    int64_t given = 0;
    for (int k = 0; k < s->ranks; k++) {
        const int64_t theirs = s->live_first[k + 1] - s->live_first[k];
        s->give[k] = (int)(own * s->slice[k]);
        s->give_at[k] = (int)(own == 1 ? s->slice_at[k] : given);
        given += s->give[k];
        s->take[k] = (int)(theirs * s->slice[s->rank]);
        s->take_at[k] = (int)(s->live_first[k] * s->slice[s->rank]);
    }
}

plumb_status all_reduce_init(all_reduce *s, arena *mem, int64_t replicas, int64_t size,
                             int64_t part, int64_t stride)
{
    const int ranks = comm_size();
    *s = (all_reduce){.replicas = replicas,
                      .rank = comm_rank(),
                      .ranks = ranks,
                      .part = part,
                      .parts = (size + part - 1) / part,
                      .size = size,
                      .stride = stride};
    s->first = thread_team_split(&s->count, replicas, s->rank, ranks);
    if (ranks == 1) return PLUMB_OK;
    if (size * replicas > INT_MAX)
        return fail(PLUMB_EVALUE, "%lld parameters of %lld replicas are too many for MPI",
                    (long long)size, (long long)replicas);
    int64_t *longs = ARENA_ALLOC(mem, int64_t, (3 * (ranks + 1) + replicas));
    int *ints = ARENA_ALLOC(mem, int, (8 * ranks));
    if (!longs || !ints) return PLUMB_EMEMORY;
    s->part_first = longs, s->part_count = longs + ranks;
    s->live_first = longs + 2 * ranks, s->live = longs + 3 * (ranks + 1);
    s->slice_at = ints, s->slice = ints + ranks;
    s->give = ints + 2 * ranks, s->give_at = ints + 3 * ranks;
    s->take = ints + 4 * ranks, s->take_at = ints + 5 * ranks;
    s->square_at = ints + 6 * ranks, s->square = ints + 7 * ranks;
    cut(s);
    find_live(s);
    address(s);
    const int64_t own = s->live_first[s->rank + 1] - s->live_first[s->rank];
    if (own > 1) s->packed = ARENA_ALLOC(mem, float, (own * size));
    s->rows = ARENA_ALLOC(mem, float, (s->live_count * s->slice[s->rank]));
    return (own > 1 && !s->packed) || !s->rows ? PLUMB_EMEMORY : PLUMB_OK;
}

static int64_t part_size(const all_reduce *s, int64_t p)
{
    const int64_t left = s->size - p * s->part;
    return left < s->part ? left : s->part;
}

// Replica r takes in r + 1, then r + 2, then r + 4 ...: a binary tree of their numbers.
void all_reduce_local(const all_reduce *s, float *gradient, int64_t p)
{
    float *at = gradient + p * s->part;
    const int64_t end = s->first + s->count;
    for (int64_t reach = 1; reach < s->replicas; reach *= 2)
        for (int64_t r = 0; r + reach < s->replicas; r += 2 * reach)
            if (r >= s->first && end_of(s, r, reach) <= end)
                gradient_add(at + (r - s->first) * s->stride,
                             at + (r + reach - s->first) * s->stride, part_size(s, p));
}

plumb_status all_reduce_exchange(all_reduce *s, const float *gradient)
{
    const int64_t from = s->live_first[s->rank], own = s->live_first[s->rank + 1] - from;
    const float *data = gradient + (s->live[from] - s->first) * s->stride;
    for (int k = 0; k < s->ranks && own > 1; k++)
        for (int64_t i = 0; i < own; i++)
            memcpy(s->packed + s->give_at[k] + i * s->slice[k],
                   gradient + (s->live[from + i] - s->first) * s->stride + s->slice_at[k],
                   (size_t)s->slice[k] * sizeof *gradient);
    return comm_all_to_all(s->rows, s->take, s->take_at, own > 1 ? s->packed : data, s->give,
                           s->give_at);
}

static int64_t row_of(const all_reduce *s, int64_t replica)
{
    int64_t i = 0;
    while (s->live[i] != replica) i++;
    return i;
}

const float *all_reduce_remote(const all_reduce *s, int64_t p)
{
    const int64_t wide = s->slice[s->rank];
    float *at = s->rows + p * s->part - s->slice_at[s->rank];
    for (int64_t reach = 1; reach < s->replicas; reach *= 2)
        for (int64_t r = 0; r + reach < s->replicas; r += 2 * reach)
            if (!is_own(s, r, reach))
                gradient_add(at + row_of(s, r) * wide, at + row_of(s, r + reach) * wide,
                             part_size(s, p));
    return at;
}

plumb_status all_reduce_gather(const all_reduce *s, float *sum, double *square)
{
    const plumb_status st = comm_all_gather_slices(sum, s->slice, s->slice_at);
    return st ? st : comm_all_gather_slices((float *)(void *)square, s->square, s->square_at);
}
