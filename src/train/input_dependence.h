// SPDX-License-Identifier: MIT
// Whether the predictions of a trained model depend on its input. A model that collapsed predicts
// the same frames for every clip, while its loss looks like that of a model that learns slowly.
#ifndef TRAIN_INPUT_DEPENDENCE_H
#define TRAIN_INPUT_DEPENDENCE_H

#include "dataset/video.h"
#include "models/model.h"

/// Variance of the predicted frames over a few clips of the training videos, as a share of that of
/// the true frames: about 1 for a good model, 0 if all clips get the same frames. NaN if the model
/// predicts no frames, or all clips are alike. `clip` is the length of a training clip; `seed`
/// draws the clips.
plumb_status input_dependence_measure(double *out, const trainable_model *model,
                                      const video_set *videos, int64_t clip, uint64_t seed,
                                      int threads);

/// Whether a model with this share after so many steps is said to have learnt nothing. The first
/// hundred steps are too few to tell.
bool input_dependence_is_low(double share, int64_t steps);

#endif
