// SPDX-License-Identifier: MIT
// Predictions of a trained PredRNN: every frame of a clip from the true frames before it.
#ifndef MODELS_PREDRNN_PREDICT_H
#define MODELS_PREDRNN_PREDICT_H

#include "models/model.h"
#include "models/predrnn/predrnn.h"

/// Features of a clip: the maximum over pixels of each channel of the top layer's h when the last
/// frame is predicted [Lin23]. Fails with PLUMB_ESHAPE for clips of less than 2 frames.
plumb_status predrnn_predict_clips(const predrnn_config *config, params *layout,
                                   const float *parameters, const model_predict_job *job);

#endif
