// SPDX-License-Identifier: MIT
// The table of scorers, and the one that is a search.
#include "measures/surprise/scorers.h"

#include "base/status.h"
#include "math/knn.h"

density_measure *density_of(plumb_scorer scorer)
{
    switch (scorer) {
    case PLUMB_SCORER_KNN: return density_knn;
    case PLUMB_SCORER_IFOREST: return density_iforest;
    case PLUMB_SCORER_OCSVM: return density_ocsvm;
    case PLUMB_SCORER_PCA: return density_pca;
    case PLUMB_SCORER_MAHALANOBIS: return density_mahalanobis;
    default: return NULL;
    }
}

plumb_status density_knn(double *r, arena *mem, const density_task *task)
{
    const int64_t k = task->opt->k;
    if (k < 1 || k > task->seen_count)
        return fail(PLUMB_EVALUE, "k is %lld; with %lld observed clips it can be 1 to %lld",
                    (long long)k, (long long)task->seen_count, (long long)task->seen_count);
    const arena_mark mark = arena_here(mem);
    nearest points;
    plumb_status st = nearest_init(&points, mem, task->seen, task->seen_count, task->dims);
    if (!st) st = nearest_kth(r, &points, task->asked, task->asked_count, k, task->opt->threads);
    arena_rewind(mem, mark);
    return st;
}
