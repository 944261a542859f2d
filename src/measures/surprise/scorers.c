// SPDX-License-Identifier: MIT
// The table of scorers, and the one that is a search.
#include "measures/surprise/scorers.h"

#include "base/status.h"
#include "math/knn.h"

scorer_function *scorer_find(plumb_scorer scorer)
{
    switch (scorer) {
    case PLUMB_SCORER_KNN: return scorer_knn;
    case PLUMB_SCORER_IFOREST: return scorer_iforest;
    case PLUMB_SCORER_OCSVM: return scorer_ocsvm;
    case PLUMB_SCORER_PCA: return scorer_pca;
    case PLUMB_SCORER_MAHALANOBIS: return scorer_mahalanobis;
    default: return NULL;
    }
}

// r = distance to the k-th nearest observed clip [Lin23].
plumb_status scorer_knn(double *r, arena *mem, const scorer_task *task)
{
    const int64_t k = task->opt->k;
    if (k < 1 || k > task->observed_count)
        return fail(PLUMB_EVALUE, "k is %lld; with %lld observed clips it can be 1 to %lld",
                    (long long)k, (long long)task->observed_count, (long long)task->observed_count);
    const arena_mark mark = arena_get_mark(mem);
    knn_index points;
    plumb_status st = knn_init(&points, mem, task->observed, task->observed_count, task->dims);
    if (!st)
        st = knn_kth_distance(r, &points, task->queries, task->query_count, k, task->opt->threads);
    arena_rewind(mem, mark);
    return st;
}
