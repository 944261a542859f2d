// SPDX-License-Identifier: MIT
// A PLATO watching clips: codes of what it sees and of what it expects, both drawn.
#ifndef MODELS_PLATO_PREDICT_H
#define MODELS_PLATO_PREDICT_H

#include "models/model.h"
#include "models/plato/plato.h"

/// Errors are between the drawing of the codes it expected and that of those it then saw. Features
/// are the greatest of every number of its state over the slots, when the last frame is asked for.
plumb_status plato_predict_clips(const plato_config *c, params *p, const float *value,
                                 const model_predict_job *job);

/// The encoder alone: frames of one clip at a time.
typedef struct plato_encoder {
    network_builder net;
    graph_node *seen, *mean;
    int64_t frames;
    graph_program *program;
} plato_encoder;
plumb_status plato_encoder_create(plato_encoder *out, params *p, const plato_config *c,
                                  int64_t frames);
void plato_encoder_clear(plato_encoder *e);
/// codes (slots, frames, code) of a clip.
void plato_encoder_run(float *codes, program_instance *i, const plato_encoder *e,
                       const plato_config *c, const uint8_t *frames, const uint8_t *mask);

#endif
