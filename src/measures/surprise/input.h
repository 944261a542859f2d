// SPDX-License-Identifier: MIT
// Reads and checks the arrays of surprise: surprise per clip and frame, features and concepts.
#ifndef MEASURES_SURPRISE_INPUT_H
#define MEASURES_SURPRISE_INPUT_H

#include "base/arena.h"
#include "plumb/surprise.h"

/// The arrays as doubles, all finite.
typedef struct surprise_arrays {
    int64_t tuples;
    int64_t frames;         ///< 0: `frame` is NULL
    const double *frame;    ///< (tuples, 4, frames)
    const double *clip;     ///< (tuples, 4), frames taken together as `joined` says
    const double *maximum;  ///< (tuples, 4): the greatest frame, or NULL
    const double *naive;    ///< (tuples, 4), of the model of impossible clips, or NULL
    int64_t dims;           ///< 0: no features
    const double *feature;  ///< (tuples, 4, dims), of unit length if the options say so
    const double *observed; ///< (observed_count, dims), or NULL
    int64_t observed_count;
    const int64_t *observed_concept; ///< (observed_count), or NULL: one density for all
    int64_t zero_features;           ///< rows, observed ones included, that are shorter than 1e-12
    int64_t concepts;                ///< 0: none given
    const char **concept_name;
    const int64_t *concept_of; ///< (tuples)
    const double *motion;      ///< (tuples, 4, motion_numbers), or NULL
    int64_t motion_numbers;
    plumb_surprise_unit error_unit;
    plumb_surprise_frames joined; ///< mean if there are no frames
} surprise_arrays;

/// Everything lives in `mem`.
plumb_status surprise_input_read(surprise_arrays *out, arena *mem, const plumb_surprise_input *in,
                                 const plumb_surprise_options *opt);

/// The surprise of a clip from that of its frames (frames): mean, maximum or sum. 0 without frames.
double surprise_reduce_frames(const double *frame, int64_t frames, plumb_surprise_frames how);

/// x / max(|x|, 1e-12) in place; true if the length is below 1e-12. No length overflows.
bool surprise_input_normalise(double *x, int64_t dims);

#endif
