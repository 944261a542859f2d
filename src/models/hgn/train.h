// SPDX-License-Identifier: MIT
// Training of HGN, HGN++ and their relatives: one way for all, the settings say what moves the
// state.
#ifndef MODELS_HGN_TRAIN_H
#define MODELS_HGN_TRAIN_H

#include "models/hgn/settings.h"
#include "models/registry.h"

/// `own` stays where it is.
plumb_status hgn_train_create(trainable_model *out, arena *mem, const hgn_settings *own,
                              const char *model, const training_settings *training,
                              const video_set *film);
/// Frames of a clip.
int64_t hgn_train_clip_length(const hgn_settings *own);

#endif
