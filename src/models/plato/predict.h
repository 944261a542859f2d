// SPDX-License-Identifier: MIT
// Predictions of a trained PLATO: codes of the next frame, decoded to images.
#ifndef MODELS_PLATO_PREDICT_H
#define MODELS_PLATO_PREDICT_H

#include "models/model.h"
#include "models/plato/plato.h"

/// Errors are between the decoded prediction and the decoded codes of the true frame. Features are
/// the maximum over slots of each value of the LSTM's state when the last frame is predicted. Fails
/// with PLUMB_ESHAPE for clips of another length than in training.
plumb_status plato_predict_clips(const plato_config *config, params *layout,
                                 const float *parameters, const model_predict_job *job);

/// The graph of the encoder alone: `frames` frames of one clip at a time.
typedef struct plato_encoder {
    network_builder net;
    graph_node *masked, *mean; ///< input and output
    int64_t frames;
} plato_encoder;
plumb_status plato_encoder_build(plato_encoder *out, params *layout, const plato_config *config,
                                 int64_t frames);
/// Computes the codes (slots, frames, code_size) of a clip.
void plato_encoder_run(float *codes, program_instance *instance, const plato_encoder *encoder,
                       const plato_config *config, const uint8_t *frames, const uint8_t *mask);

#endif
