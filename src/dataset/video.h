// SPDX-License-Identifier: MIT
// Training videos, as bytes in memory or in a mapped file, and the random temporal crop that each
// sample of each step takes: a function of (seed, step, sample) only.
#ifndef DATASET_VIDEO_H
#define DATASET_VIDEO_H

#include <stddef.h>
#include <stdint.h>

#include "plumb/status.h"

/// Training uses items of a world from 0 on, tests from this one on, so they never overlap.
#define VIDEO_TEST_FIRST ((int64_t)1 << 40)

/// A part of a video set that is in a mapped file.
typedef struct video_mapping {
    void *at; ///< NULL: not mapped
    size_t size;
} video_mapping;

typedef struct video_set {
    const uint8_t *frames; ///< (count, steps, height, width, channels)
    const uint8_t *mask;   ///< (count, steps, height, width): object id, 0 the floor; or NULL.
    int64_t count, steps, height, width, channels;
    double dt;                ///< Time between frames; 0 if unknown.
    double mean;              ///< Of all pixels, 0 to 1.
    double variance;          ///< Of all pixels, 0 to 0.25.
    int threads;              ///< For work on all videos before training; 0: parallel_threads().
    video_mapping mapping[2]; ///< Frames and mask, if they are on disk (dataset/video_memory.h).
} video_set;

/// A window of `length` frames: trajectory and first frame.
typedef struct video_window {
    int64_t item, start;
} video_window;
/// Fails with PLUMB_ESHAPE if the trajectories have fewer than `length` frames.
plumb_status video_check_length(const video_set *videos, int64_t length);
/// Draws a window, uniform over trajectories and start frames. `length` is at most `steps`.
video_window video_sample_window(const video_set *videos, uint64_t seed, int64_t step,
                                 int64_t sample, int64_t length);

/// Masks of a window, or NULL if there are none.
const uint8_t *video_window_mask(const video_set *videos, video_window window);
/// Frames of a window: (length, height, width, channels), contiguous.
const uint8_t *video_window_frames(const video_set *videos, video_window window);

#endif
