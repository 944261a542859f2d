// SPDX-License-Identifier: MIT
// How long a step of training takes, by a few of them.
#ifndef TRAIN_STEP_TIME_H
#define TRAIN_STEP_TIME_H

#include "train/run_config.h"

/// `*out` = core seconds of a step: the least of three on one thread, after one that touches memory
/// for the first time. `*latents` is the number of latents of the model, 0 if it has none. The
/// videos of `config` are loaded; use few. All memory is in `mem`.
plumb_status step_time_measure(double *out, int64_t *latents, const run_config *config, arena *mem);

#endif
