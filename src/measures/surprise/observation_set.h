// SPDX-License-Identifier: MIT
// Which impossible clips are observed, and which tuples are tested.
#ifndef MEASURES_SURPRISE_OBSERVATION_SET_H
#define MEASURES_SURPRISE_OBSERVATION_SET_H

#include "measures/surprise/input.h"

/// One observation set and the tuples tested with it.
typedef struct observation_set {
    const double *observed; ///< (observed_count, dims)
    int64_t observed_count;
    const int64_t *queries; ///< which of the tested tuples
    int64_t query_count;
    const double *sample; ///< rows of `observed` for the deviation of r
    int64_t sample_count, sample_first;
} observation_set;

typedef struct observation_sets {
    observation_set *set; ///< one in all, or one a concept
    int64_t sets;
    int64_t sample_count; ///< over all sets
    int64_t tested;
    const int64_t *tested_tuple;
    const double *tested_feature; ///< (tested, 4, dims)
    const int64_t *concept_of;    ///< (tested), or NULL
    const int64_t *observed_of;   ///< (tested): the size of its observation set
    bool split;
    const int64_t *drawn_tuple; ///< (drawn): the tuples of the sets, if split
    int64_t drawn;
    int64_t observed; ///< rows over all sets
    int64_t equal;    ///< rows that repeat another of their set
} observation_sets;

/// `dense` says that features matter; if not, all tuples are tested and there are no sets. Without
/// an observation array a share of each concept's tuples is drawn. Fails with PLUMB_ENUMERIC if
/// the observation array holds a feature of the tuples, PLUMB_EVALUE if a concept cannot be split.
plumb_status observation_set_make(observation_sets *out, arena *mem, const surprise_arrays *arrays,
                                  const plumb_surprise_options *opt, bool dense);

#endif
