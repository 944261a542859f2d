// SPDX-License-Identifier: MIT
// All the film a model learns from, in memory as bytes, and which piece of it each sample of each
// step is shown: a function of (seed, step, sample) and nothing else.
#ifndef DATASET_VIDEO_H
#define DATASET_VIDEO_H

#include <stdint.h>

#include "plumb/status.h"

/// Items of a world that training sees start at 0, those it is tested on here: they never meet.
#define VIDEO_TEST_FIRST ((int64_t)1 << 40)

typedef struct video_set {
    const uint8_t *frames; ///< (count, steps, height, width, channels)
    const uint8_t *mask;   ///< (count, steps, height, width): which object, 0 none; or NULL
    int64_t count, steps, height, width, channels;
    double dt;   ///< time between frames, 0 if it is not known
    double mean; ///< of all pixels, from 0 to 1
    double variance;
} video_set;

/// A piece of `length` frames: which trajectory, from which frame on. Uniform over both. `length`
/// is at most `steps`.
typedef struct video_window {
    int64_t item, start;
} video_window;
/// Refused where no trajectory has so many frames.
plumb_status video_check_length(const video_set *f, int64_t length);
video_window video_sample_window(const video_set *f, uint64_t seed, int64_t step, int64_t sample,
                                 int64_t length);

/// Where the masks of a cut begin, if there are any.
const uint8_t *video_window_mask(const video_set *f, video_window cut);
/// Where the frames of a cut begin: (length, height, width, channels) lie there in one piece.
const uint8_t *video_window_frames(const video_set *f, video_window cut);

#endif
