// SPDX-License-Identifier: MIT
// The models there are: one row each.
#ifndef MODELS_REGISTRY_H
#define MODELS_REGISTRY_H

#include "base/arena.h"
#include "dataset/video.h"
#include "models/model.h"
#include "models/settings.h"

/// What every model's training has, whatever the model; the rows are in train/run_config.c.
typedef struct training_settings {
    int64_t steps, batch, replicas, seed;
    double rate;
    int64_t warmup;
    int decay; ///< adam_decay
    double hold, last;
    double beta1, beta2, epsilon, clip;
    int64_t log, save;
} training_settings;

typedef struct registry_entry {
    const char *name;
    const char *summary;
    const setting_spec *settings; ///< of the model's own
    size_t settings_size;
    /// Settings of training and data that are others for this model: "rate=2e-3", NULL at the end;
    /// or NULL.
    const char *const *adjust[SETTINGS_NAMES];
    /// Frames of a trajectory that training needs at least, by its settings.
    int64_t (*clip)(const void *own);
    bool video; ///< it predicts the frames of clips and has no phase space
    bool masks; ///< it must be shown which pixels belong to which object
    /// Makes the model with its first parameters, which are a function of the seed. Everything it
    /// takes is in `mem`; `film` stays where it is. Refuses settings that do not fit together, and
    /// film that does not fit the settings, with PLUMB_EVALUE or PLUMB_ESHAPE.
    plumb_status (*create)(trainable_model *out, arena *mem, const void *own,
                           const training_settings *training, const video_set *film);
} registry_entry;

int64_t registry_count(void);
const registry_entry *registry_at(int64_t index);
/// Fails with PLUMB_EVALUE, naming the nearest there is.
plumb_status registry_find(const registry_entry **out, const char *name);

/// For tests: one more row, for as long as the program runs.
void registry_add(const registry_entry *row);

#endif
