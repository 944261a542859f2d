// SPDX-License-Identifier: MIT
// A PLATO watching clips: codes of what it sees and of what it expects, both drawn.
#ifndef MODELS_PLATO_PREDICT_H
#define MODELS_PLATO_PREDICT_H

#include "models/model.h"
#include "models/plato/plato.h"

/// Errors are between the drawing of the codes it expected and that of those it then saw. Features
/// are the greatest of every number of its state over the slots, when the last frame is asked for.
plumb_status plato_watch(const plato_config *c, params *p, const float *value,
                         const trainee_watch *job);

/// The encoder alone: frames of one clip at a time.
typedef struct plato_eye {
    net net;
    node *seen, *mean;
    int64_t frames;
    program *program;
} plato_eye;
plumb_status plato_eye_create(plato_eye *out, params *p, const plato_config *c, int64_t frames);
void plato_eye_clear(plato_eye *e);
/// codes (slots, frames, code) of a clip.
void plato_eye_look(float *codes, instance *i, const plato_eye *e, const plato_config *c,
                    const uint8_t *frames, const uint8_t *mask);

#endif
