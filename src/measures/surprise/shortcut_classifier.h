// SPDX-License-Identifier: MIT
// A classifier that cannot know any physics, because it sees one frame or two.
#ifndef MEASURES_SURPRISE_SHORTCUT_CLASSIFIER_H
#define MEASURES_SURPRISE_SHORTCUT_CLASSIFIER_H

#include "base/arena.h"
#include "plumb/audit.h"

enum { SHORTCUT_FRAME = 3 * (8 * 8 + 3), SHORTCUT_PAIR = 3 * 3 * (4 * 4 + 3) };

/// Numbers that describe a frame of bytes (height, width, channels): colours on a coarse grid,
/// sharpness, and lowest bits, where a file that was packed twice gives itself away.
void shortcut_classifier_frame(float out[SHORTCUT_FRAME], const uint8_t *frame, int64_t height,
                               int64_t width, int64_t channels);
/// The same, coarser, for two frames: each of them, and their absolute difference.
void shortcut_classifier_pair(float out[SHORTCUT_PAIR], const uint8_t *first, const uint8_t *second,
                              uint8_t *scratch, int64_t height, int64_t width, int64_t channels);

/// Trains and judges. x (tuples, 4, times, width), the first two of four possible.
plumb_status shortcut_classifier_evaluate(plumb_audit_classifier *out, arena *mem, const float *x,
                                          int64_t tuples, int64_t times, int64_t width,
                                          const plumb_audit_options *opt);

#endif
