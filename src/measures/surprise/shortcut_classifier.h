// SPDX-License-Identifier: MIT
// A linear classifier whose input is one frame or two consecutive frames. It cannot use physics, so
// an accuracy above one half means that the clips of a probe differ by something else.
#ifndef MEASURES_SURPRISE_SHORTCUT_CLASSIFIER_H
#define MEASURES_SURPRISE_SHORTCUT_CLASSIFIER_H

#include "base/arena.h"
#include "plumb/record.h"

enum { SHORTCUT_FRAME = 3 * (8 * 8 + 3), SHORTCUT_PAIR = 3 * 3 * (4 * 4 + 3) };

/// Features of a frame of bytes (height, width, channels): mean colours on a coarse grid, share of
/// odd values (which shows a lossy codec), and mean absolute differences of neighbouring pixels.
void shortcut_classifier_frame(float out[SHORTCUT_FRAME], const uint8_t *frame, int64_t height,
                               int64_t width, int64_t channels);
/// The same on a coarser grid for two frames: the first, the second, their absolute difference.
/// `scratch` has height * width * channels bytes.
void shortcut_classifier_pair(float out[SHORTCUT_PAIR], const uint8_t *first, const uint8_t *second,
                              uint8_t *scratch, int64_t height, int64_t width, int64_t channels);

/// Features of many tuples, and how to evaluate.
typedef struct shortcut_task {
    const float *x;               ///< (tuples, 4, times, width): two possible clips, two impossible
    int64_t tuples, times, width; ///< width: features of one frame or pair of frames
    int64_t resamples;            ///< bootstrap draws for the intervals
    uint64_t seed;                ///< of the folds and of the bootstrap
} shortcut_task;

typedef struct shortcut_result {
    double accuracy; ///< share of frames (pairs) that are classified correctly
    plumb_interval accuracy_ci;
    double tuple_accuracy; ///< share of tuples whose impossible clips have the higher sum of scores
    plumb_interval tuple_ci;
    bool leak; ///< one of the two intervals lies above one half
} shortcut_result;

/// Trains on one half of the tuples, tests on the other, and the other way round.
plumb_status shortcut_classifier_evaluate(shortcut_result *out, arena *mem,
                                          const shortcut_task *task);

#endif
