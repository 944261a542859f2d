// SPDX-License-Identifier: MIT
#include "measures/probe/split.h"

#include "math/rng.h"

enum { FOLD_STREAM = 0x666f6c64 };

plumb_status probe_split_deal(probe_split *out, int64_t **order, arena *mem, int64_t n,
                              int64_t folds, uint64_t seed)
{
    int *fold = ARENA_ALLOC(mem, int, n);
    *order = ARENA_ALLOC(mem, int64_t, n);
    if (!fold || !*order) return PLUMB_EMEMORY;
    rng random = rng_at(seed, FOLD_STREAM);
    rng_distinct(*order, &random, n, n);
    *out = (probe_split){.folds = (int)(folds < n ? folds : n), .fold = fold};
    for (int64_t k = 0; k < n; k++) fold[(*order)[k]] = (int)(k % out->folds);
    for (int f = 0; f < out->folds; f++) out->tested[f] = true;
    return PLUMB_OK;
}
