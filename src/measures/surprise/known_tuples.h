// SPDX-License-Identifier: MIT
// Tuples whose answer is known before a tuple is judged: gammas, thresholds and the likelihood
// ratio are fitted on them.
//
// If a share of the tuples is observed, these are known, and all others are judged by them. If the
// observation set is given, or no scorer needs one, every tuple is judged by the tuples of the
// other folds. In both cases no tuple is judged by what was fitted on itself.
#ifndef MEASURES_SURPRISE_KNOWN_TUPLES_H
#define MEASURES_SURPRISE_KNOWN_TUPLES_H

#include "measures/surprise/observation_set.h"
#include "measures/surprise/scorers.h"

enum { KNOWN_TUPLES_FOLDS = 5 };

typedef struct known_tuples {
    int64_t count;              ///< 0: too few tuples to fit anything
    const int64_t *tuple;       ///< (count) index among the tuples given
    const int64_t *concept;     ///< (count)
    const int64_t *fold;        ///< (count); -1: of no fold that is judged
    const int64_t *judged_fold; ///< (tested)
    int64_t folds, concepts;
    bool split; ///< the known tuples are those of the observation sets
} known_tuples;

/// Everything lives in `mem`.
plumb_status known_tuples_make(known_tuples *out, arena *mem, const observation_sets *sets,
                               const surprise_arrays *arrays);

/// True if known tuple `i` may be used to judge the tuples of `fold`.
bool known_tuples_use(const known_tuples *known, int64_t i, int64_t fold);

/// r (count, 4) of the known tuples by a scorer that was fitted without them: in turn, a fifth of
/// each observation set is left out. Only for `split`. `k` of the options shrinks with the set.
plumb_status known_tuples_distances(double *r, arena *mem, const known_tuples *known,
                                    const surprise_arrays *arrays,
                                    const plumb_surprise_options *opt, plumb_scorer scorer);

#endif
