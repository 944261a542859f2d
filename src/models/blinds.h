// SPDX-License-Identifier: MIT
// Blinds before a clip: rectangles of one colour that stand, or pass. Whatever goes on behind them
// is hidden for a while, in every clip and not only where the scene has something to hide behind.
#ifndef MODELS_BLINDS_H
#define MODELS_BLINDS_H

#include "math/rng.h"

/// Hangs `count` blinds before `clip`, (steps, height, width, channels). Two of three stand still.
void blinds_hang(uint8_t *clip, int64_t steps, int64_t height, int64_t width, int64_t channels,
                 int64_t count, rng *r);

#endif
