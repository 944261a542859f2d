// SPDX-License-Identifier: MIT
// Everything that decides what a training run does: the model, and all settings, resolved. What
// config.json holds.
#ifndef TRAIN_RUN_CONFIG_H
#define TRAIN_RUN_CONFIG_H

#include "models/registry.h"

typedef struct run_config_data {
    const char *world; ///< or ""
    const char *data;  ///< a file, or ""
    int64_t trajectories, frames, data_seed, image;
} run_config_data;

typedef struct run_config {
    const registry_entry *model;
    settings_preset preset;
    run_config_data data;
    training_settings training;
    void *own;    ///< the model's
    settings all; ///< of data, training and model
} run_config;

/// All settings as the preset has them, for this model. Lives in `mem`, and must stay in its place.
plumb_status run_config_init(run_config *r, arena *mem, const char *model, settings_preset preset);

/// From the text of a config.json, which is changed.
plumb_status run_config_parse(run_config *r, arena *mem, char *text, size_t size, const char *path);

/// Into config.json.
void run_config_record(plumb_record *record, const run_config *r);

/// Settings that make no sense together, with PLUMB_EVALUE.
plumb_status run_config_check(const run_config *r);

/// Of all settings but the loose ones: equal for the runs that give the same bits.
plumb_status run_config_hash(char out[33], const run_config *r);

/// The film it asks for. `path` of the data is as it was given when the run was begun.
plumb_status run_config_load_video(video_set *out, arena *mem, const run_config *r, int threads);

/// The shape of its frames alone, with as many steps as a clip has; no frames.
plumb_status run_config_video_shape(video_set *out, const run_config *r);

/// The rows that all models share, for lists: "data" and "training".
extern const setting_spec run_config_data_rows[], run_config_training_rows[];

#endif
