// SPDX-License-Identifier: MIT
// HGN, HGN++ and their variants as trainable models. One implementation for all; the settings say
// what advances the state.
#ifndef MODELS_LATENT_DYNAMICS_MODEL_H
#define MODELS_LATENT_DYNAMICS_MODEL_H

#include "models/latent_dynamics/settings.h"
#include "models/registry.h"

/// Creates a model `name`. `settings` and `videos` must outlive it.
plumb_status hgn_model_create(trainable_model *out, arena *mem, const hgn_settings *options,
                              const char *name, const training_settings *training,
                              const video_set *videos);
/// Frames of a clip.
int64_t hgn_model_clip_length(const hgn_settings *options);

#endif
