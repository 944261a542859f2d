// SPDX-License-Identifier: MIT
// A PredRNN watching clips: what it expects of every frame before it is shown.
#ifndef MODELS_PREDRNN_PREDICT_H
#define MODELS_PREDRNN_PREDICT_H

#include "models/model.h"
#include "models/predrnn/predrnn.h"

/// The features of a clip: the greatest value of each channel of the top layer's h when the last
/// frame is asked for [Lin23].
plumb_status predrnn_predict_clips(const predrnn_config *c, params *p, const float *value,
                                   const model_predict_job *job);

#endif
