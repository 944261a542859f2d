// SPDX-License-Identifier: MIT
// Everything that decides what a training run does: the model, and all settings, resolved. What
// config.json holds.
#ifndef TRAIN_RUN_CONFIG_H
#define TRAIN_RUN_CONFIG_H

#include "models/registry.h"

typedef struct recipe_data {
    const char *world; ///< or ""
    const char *data;  ///< a file, or ""
    int64_t trajectories, frames, data_seed, image;
} recipe_data;

typedef struct recipe {
    const catalogue_row *model;
    settings_preset preset;
    recipe_data data;
    training_settings training;
    void *own;    ///< the model's
    settings all; ///< of data, training and model
} recipe;

/// All settings as the preset has them, for this model. Lives in `mem`, and must stay in its place.
plumb_status recipe_begin(recipe *r, arena *mem, const char *model, settings_preset preset);

/// From the text of a config.json, which is changed.
plumb_status recipe_read(recipe *r, arena *mem, char *text, size_t size, const char *path);

/// Into config.json.
void recipe_record(plumb_record *record, const recipe *r);

/// Settings that make no sense together, with PLUMB_EVALUE.
plumb_status recipe_check(const recipe *r);

/// Of all settings but the loose ones: equal for the runs that give the same bits.
plumb_status recipe_identity(char out[33], const recipe *r);

/// The film it asks for. `path` of the data is as it was given when the run was begun.
plumb_status recipe_film(footage *out, arena *mem, const recipe *r, int threads);

/// The shape of its frames alone, with as many steps as a clip has; no frames.
plumb_status recipe_frames(footage *out, const recipe *r);

/// The rows that all models share, for lists: "data" and "training".
extern const settings_row recipe_data_rows[], recipe_training_rows[];

#endif
