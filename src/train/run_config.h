// SPDX-License-Identifier: MIT
// Resolved configuration of a training run: the model and all settings. config.json holds it.
#ifndef TRAIN_RUN_CONFIG_H
#define TRAIN_RUN_CONFIG_H

#include "models/registry.h"

typedef struct run_config_data {
    const char *world;    ///< name of a world, or ""
    const char *data;     ///< a file, or ""; one of the two is given
    int64_t trajectories; ///< training videos; for a file 0 means all
    int64_t frames;       ///< per video, of a world
    int64_t data_seed;    ///< of the world
    int64_t resize;       ///< larger side that frames of a file are resized to; 0: at most 64
    int64_t image;        ///< height and width of frames, of a world; 0: those of the world
    int storage;          ///< a video_storage
} run_config_data;

typedef struct run_config {
    const registry_entry *model;
    settings_preset preset;
    run_config_data data;
    training_settings training;
    void *model_settings; ///< the struct of the model
    settings all;         ///< tables of data, training and model, and the structs they fill
    bool corrected;       ///< the file it was read from had a setting that was not used
} run_config;

/// What a user asks for. All members may be NULL or 0 except `model`.
typedef struct run_request {
    const char *model;
    const char *preset;       ///< NULL: "cpu"
    const char *world, *data; ///< one of them, or set by `set`
    const char *const *set;   ///< "name=value", applied in order
    int64_t set_count;
    int64_t steps;   ///< negative: those of the preset
    bool skip_check; ///< does not check that settings fit together
} run_request;

/// Which part of a request failed; an index of `set` from 0 on.
enum {
    RUN_REQUEST_WHOLE = -1,
    RUN_REQUEST_MODEL = -2,
    RUN_REQUEST_PRESET = -3,
    RUN_REQUEST_DATA = -4,
};

/// Resolves a request: the preset, then the members of the request, then its settings; and checks
/// the result. Lives in `mem` and must not be moved. `*failed_at` says what failed; may be NULL.
plumb_status run_config_resolve(run_config *config, arena *mem, const run_request *request,
                                int64_t *failed_at);

/// All settings of a preset for this model. Lives in `mem` and must not be moved.
plumb_status run_config_init(run_config *config, arena *mem, const char *model,
                             settings_preset preset);

/// Parses the text of a config.json, which is changed.
plumb_status run_config_parse(run_config *config, arena *mem, char *text, size_t size,
                              const char *path);

/// Records it as config.json.
void run_config_record(plumb_record *record, const run_config *config);

/// Replaces an old name of a setting of `model`, or an old word of its value, by the new one.
void run_config_use_new_names(const char *model, const char **name, const char **value);

/// Makes the path of the data absolute, so that the run can be used from any directory.
plumb_status run_config_use_absolute_path(run_config *config, arena *mem);

/// Frames of a training clip.
int64_t run_config_clip_length(const run_config *config);

/// Fails with PLUMB_EVALUE if settings do not fit together.
plumb_status run_config_check(const run_config *config);

/// Hash of all settings but those that may change on resume: equal for runs with bit-identical
/// results.
plumb_status run_config_hash(char out[33], const run_config *config);
/// All hashes that the files of this run may have: that of run_config_hash() first, then those of
/// version 0.1.0, with the old names of settings and with values that were recorded but not used.
enum { RUN_CONFIG_MAX_HASHES = 8 };
typedef struct run_config_hashes {
    int count;
    char hash[RUN_CONFIG_MAX_HASHES][33];
} run_config_hashes;
plumb_status run_config_list_hashes(run_config_hashes *out, const run_config *config);

/// Loads the training videos. Those on disk are in a temporary file in `folder`; call
/// video_memory_clear() afterwards.
plumb_status run_config_load_video(video_set *out, arena *mem, const run_config *config,
                                   const char *folder, int threads);

/// The shape of the training videos, with the steps of one clip; no frames.
plumb_status run_config_video_shape(video_set *out, const run_config *config);

/// Tables of the settings that all models share: "data" and "training".
extern const setting_spec run_config_data_specs[], run_config_training_specs[];

#endif
