// SPDX-License-Identifier: MIT
// Clips that training does not use, and the error of the model on them: which checkpoint is best.
#ifndef TRAIN_VALIDATION_H
#define TRAIN_VALIDATION_H

#include "models/model.h"
#include "train/run_config.h"

/// Loads the clips of the setting validation_clips: items of the world between those of training
/// and those of tests. `out->count` is 0 for a run that trains on a file, or without such clips.
plumb_status validation_load(video_set *out, arena *mem, const run_config *config, int threads);

/// Mean squared error of the frames that the model predicts, per value. A model with a state
/// predicts the frames of a training clip, a video model each frame from the true ones before it.
/// NaN if there are no clips. The order of sums is fixed: any number of threads gives the same
/// bits.
plumb_status validation_measure(double *loss, const trainable_model *model, const video_set *clips,
                                int64_t clip_length, int threads);

#endif
