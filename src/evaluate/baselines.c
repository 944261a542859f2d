// SPDX-License-Identifier: MIT
// Predictors that need no training, and their errors on clips.
// The oracle knows the possible continuation and is the upper bound of a model. Copy and linear
// show how far a predictor gets without physics.
#include "evaluate/baselines.h"

// Sum of squared errors of one frame. It is an integer, so that sums over the same frames are equal
// in any order.
static int64_t squared_error(plumb_baseline baseline, const uint8_t *frame, const uint8_t *possible,
                             int64_t n)
{
    const uint8_t *last = frame - n, *before = frame - 2 * n;
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t expected = baseline == PLUMB_BASELINE_LINEAR   ? 2 * last[i] - before[i]
                                 : baseline == PLUMB_BASELINE_ORACLE ? possible[i]
                                                                     : last[i];
        sum += (expected - frame[i]) * (expected - frame[i]);
    }
    return sum;
}

void baseline_errors(double *error, plumb_baseline baseline, const uint8_t *frames, int64_t clips,
                     int64_t steps, int64_t frame_size)
{
    for (int64_t c = 0; c < clips; c++) {
        const uint8_t *clip = frames + c * steps * frame_size;
        // Clips 2 and 3 of a tuple begin as clips 0 and 1.
        const uint8_t *possible = clip - (c % 4 >= 2 ? 2 * steps * frame_size : 0);
        for (int64_t t = 1; t < steps; t++) {
            const plumb_baseline used = baseline == PLUMB_BASELINE_LINEAR && t < 2
                                            ? PLUMB_BASELINE_COPY // one frame has no slope
                                            : baseline;
            // Pixels are scaled to 0 .. 1.
            *error++ = (double)squared_error(used, clip + t * frame_size, possible + t * frame_size,
                                             frame_size) /
                       (255.0 * 255.0 * (double)frame_size);
        }
    }
}
