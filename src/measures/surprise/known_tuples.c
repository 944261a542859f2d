// SPDX-License-Identifier: MIT
// Folds go round the tuples of each concept in their order, so that every concept is in every fold.
#include "measures/surprise/known_tuples.h"

#include <string.h>

#include "base/status.h"

static int64_t concept_of(const surprise_arrays *arrays, int64_t tuple)
{
    return arrays->concept_of ? arrays->concept_of[tuple] : 0;
}

// fold (count): 0, 1, .., 4, 0, .. within each concept. False if a concept has one tuple only.
static bool assign_folds(int64_t *fold, const int64_t *concept, int64_t count, int64_t concepts)
{
    bool enough = count >= 2;
    for (int64_t c = 0; c < concepts; c++) {
        int64_t members = 0, at = 0;
        for (int64_t i = 0; i < count; i++) members += concept[i] == c;
        const int64_t folds = members < KNOWN_TUPLES_FOLDS ? members : KNOWN_TUPLES_FOLDS;
        for (int64_t i = 0; i < count; i++)
            if (concept[i] == c) fold[i] = at++ % folds;
        enough = enough && members != 1;
    }
    return enough;
}

plumb_status known_tuples_make(known_tuples *out, arena *mem, const observation_sets *sets,
                               const surprise_arrays *arrays)
{
    const int64_t count = sets->split ? sets->drawn : sets->tested;
    const int64_t *tuple = sets->split ? sets->drawn_tuple : sets->tested_tuple;
    int64_t *concept = ARENA_ALLOC(mem, int64_t, count), *fold = ARENA_ALLOC(mem, int64_t, count);
    int64_t *judged = ARENA_ALLOC(mem, int64_t, sets->tested);
    if (!concept || !fold || !judged) return PLUMB_EMEMORY;
    *out = (known_tuples){.tuple = tuple,
                          .concept = concept,
                          .fold = fold,
                          .judged_fold = judged,
                          .folds = sets->split ? 1 : KNOWN_TUPLES_FOLDS,
                          .concepts = arrays->concepts ? arrays->concepts : 1,
                          .split = sets->split};
    for (int64_t i = 0; i < count; i++) concept[i] = concept_of(arrays, tuple[i]);
    if (!assign_folds(fold, concept, count, out->concepts)) return PLUMB_OK;
    out->count = count;
    if (!sets->split) {
        memcpy(judged, fold, (size_t)count * sizeof *judged);
        return PLUMB_OK;
    }
    // All known tuples are used to judge the others.
    for (int64_t i = 0; i < count; i++) fold[i] = -1;
    return PLUMB_OK;
}

bool known_tuples_use(const known_tuples *known, int64_t i, int64_t fold)
{
    return known->fold[i] != fold;
}

// ---- r of the known tuples ----

typedef struct fold_task {
    const known_tuples *known;
    const surprise_arrays *arrays;
    const plumb_surprise_options *opt;
    plumb_scorer scorer;
    const int64_t *fold; // (count) of the known tuples inside their concepts
    int64_t concept, turn;
} fold_task;

// One concept, one fold: fits the scorer on the impossible clips of the others.
static plumb_status measure_fold(double *r, const fold_task *task)
{
    const known_tuples *known = task->known;
    const int64_t d = task->arrays->dims, n = known->count;
    arena scratch = {0};
    double *observed = ARENA_ALLOC(&scratch, double, 2 * n * d),
           *queries = ARENA_ALLOC(&scratch, double, 4 * n * d),
           *found = ARENA_ALLOC(&scratch, double, 4 * n);
    int64_t *place = ARENA_ALLOC(&scratch, int64_t, n);
    plumb_status st = observed && queries && found && place ? PLUMB_OK : PLUMB_EMEMORY;
    int64_t seen = 0, asked = 0;
    for (int64_t i = 0; i < n && !st; i++) {
        if (known->concept[i] != task->concept) continue;
        const double *from = task->arrays->feature + 4 * known->tuple[i] * d;
        if (task->fold[i] != task->turn) {
            memcpy(observed + 2 * d * seen++, from + 2 * d, (size_t)(2 * d) * sizeof *observed);
        } else {
            place[asked] = i;
            memcpy(queries + 4 * d * asked++, from, (size_t)(4 * d) * sizeof *queries);
        }
    }
    // The same share of neighbours of a smaller set.
    plumb_surprise_options opt = *task->opt;
    const int64_t whole = 2 * (seen + asked);
    if (whole) opt.k = (opt.k * 2 * seen + whole / 2) / whole;
    if (opt.k < 1) opt.k = 1;
    const scorer_task fitted = {.observed = observed,
                                .observed_count = 2 * seen,
                                .queries = queries,
                                .query_count = 4 * asked,
                                .dims = d,
                                .opt = &opt,
                                .stream = (uint64_t)task->concept,
                                .quiet = true};
    if (!st && asked) st = scorer_find(task->scorer)(found, &scratch, &fitted);
    for (int64_t j = 0; j < 4 * asked && !st; j++) r[4 * place[j / 4] + j % 4] = found[j];
    arena_clear(&scratch);
    return st;
}

plumb_status known_tuples_distances(double *r, arena *mem, const known_tuples *known,
                                    const surprise_arrays *arrays,
                                    const plumb_surprise_options *opt, plumb_scorer scorer)
{
    const arena_mark mark = arena_get_mark(mem);
    int64_t *fold = ARENA_ALLOC(mem, int64_t, known->count);
    if (!fold) return PLUMB_EMEMORY;
    assign_folds(fold, known->concept, known->count, known->concepts);
    plumb_status st = PLUMB_OK;
    for (int64_t c = 0; c < known->concepts && !st; c++)
        for (int64_t turn = 0; turn < KNOWN_TUPLES_FOLDS && !st; turn++)
            st = measure_fold(r, &(fold_task){.known = known,
                                              .arrays = arrays,
                                              .opt = opt,
                                              .scorer = scorer,
                                              .fold = fold,
                                              .concept = c,
                                              .turn = turn});
    arena_rewind(mem, mark);
    return st;
}
