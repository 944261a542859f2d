// SPDX-License-Identifier: MIT
// All the film a model learns from, in memory as bytes, and which piece of it each sample of each
// step is shown: a function of (seed, step, sample) and nothing else.
#ifndef DATASET_VIDEO_H
#define DATASET_VIDEO_H

#include <stdint.h>

#include "plumb/status.h"

/// Items of a world that training sees start at 0, those it is tested on here: they never meet.
#define FOOTAGE_TEST_FIRST ((int64_t)1 << 40)

typedef struct footage {
    const uint8_t *frames; ///< (count, steps, height, width, channels)
    const uint8_t *mask;   ///< (count, steps, height, width): which object, 0 none; or NULL
    int64_t count, steps, height, width, channels;
    double dt;   ///< time between frames, 0 if it is not known
    double mean; ///< of all pixels, from 0 to 1
    double variance;
} footage;

/// A piece of `length` frames: which trajectory, from which frame on. Uniform over both. `length`
/// is at most `steps`.
typedef struct footage_cut {
    int64_t item, start;
} footage_cut;
/// Refused where no trajectory has so many frames.
plumb_status footage_reaches(const footage *f, int64_t length);
footage_cut footage_choose(const footage *f, uint64_t seed, int64_t step, int64_t sample,
                           int64_t length);

/// Where the masks of a cut begin, if there are any.
const uint8_t *footage_mask(const footage *f, footage_cut cut);
/// Where the frames of a cut begin: (length, height, width, channels) lie there in one piece.
const uint8_t *footage_frames(const footage *f, footage_cut cut);

#endif
