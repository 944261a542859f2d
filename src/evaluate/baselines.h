// SPDX-License-Identifier: MIT
// Predictors that need no training, and their errors on clips.
#ifndef EVALUATE_BASELINES_H
#define EVALUATE_BASELINES_H

#include "plumb/evaluation.h"

/// Mean squared error of frames 1 .. of every clip, in units of white: error (clips, steps - 1).
/// frames (clips, steps, frame_size) in 0 to 255; for the oracle every four clips are a tuple.
void baseline_errors(double *error, plumb_baseline baseline, const uint8_t *frames, int64_t clips,
                     int64_t steps, int64_t frame_size);

#endif
