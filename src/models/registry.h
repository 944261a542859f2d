// SPDX-License-Identifier: MIT
// Registry of models: one entry per model.
#ifndef MODELS_REGISTRY_H
#define MODELS_REGISTRY_H

#include "base/arena.h"
#include "dataset/video.h"
#include "models/exchange.h"
#include "models/model.h"
#include "models/settings.h"

/// Settings of training that all models have. Their table is in train/run_config.c.
typedef struct training_settings {
    int64_t steps;    ///< parameter updates
    int64_t batch;    ///< clips per step
    int64_t replicas; ///< shards of the batch, computed in parallel
    int64_t seed;     ///< of initial parameters, clips and noise
    double learning_rate;
    int64_t warmup;               ///< steps of linear warm-up
    int decay;                    ///< adam_decay
    double decay_start;           ///< share of the steps after which the rate falls, 0 to 1
    double final_rate;            ///< rate at the end as a share of `learning_rate`, 0 to 1
    double beta1, beta2, epsilon; ///< of Adam
    double clip_norm;             ///< largest norm of the gradient; 0: no limit
    int64_t log_steps;            ///< steps per line of log.jsonl
    int64_t checkpoint_steps;     ///< steps per checkpoint; 0: by time only
    int64_t validation_clips;     ///< clips whose error is logged; 0: none
    int64_t validation_steps;     ///< steps between these
} training_settings;

typedef struct registry_entry {
    const char *name;                  ///< "hgn++"
    const char *summary;               ///< one line
    const setting_spec *setting_specs; ///< its settings; ends with one without a name
    name_change *renamed_settings;     ///< old names of these settings; may be NULL
    /// Settings that follow from others; ends with one without a name; may be NULL.
    const setting_implication *implications;
    size_t settings_size; ///< bytes of the struct that they fill
    /// Per preset: settings that differ from the tables, "learning_rate=2e-3", NULL at the end; or
    /// NULL.
    const char *const *preset_changes[SETTINGS_NAMES];
    /// Frames of a training clip, by the model's settings. NULL: 1.
    int64_t (*clip_length)(const void *options);
    /// Sets settings that the user left open, by the videos: once, before create(), so that
    /// config.json has them. `text` says what was found; it is empty if nothing was. May be NULL.
    plumb_status (*choose)(char *text, size_t size, void *options,
                           const training_settings *training, const video_set *videos);
    /// The settings "name=value" of a state dict of its published PyTorch code, by its shapes.
    /// NULL: it has none. Fails with PLUMB_EFORMAT; the message has no path.
    plumb_status (*guess_settings)(const char *const **set, int64_t *count, arena *mem,
                                   const exchange_tensor *tensors, int64_t tensor_count);
    bool video;       ///< it predicts the frames of clips and has no phase space
    bool needs_masks; ///< it takes object masks as input
    /// Creates the model with its initial parameters, which are a function of the seed. Everything
    /// it allocates is in `mem`. `settings` and `videos` must outlive it. Fails with PLUMB_EVALUE
    /// if settings do not fit together, PLUMB_ESHAPE if the videos do not fit the settings.
    plumb_status (*create)(trainable_model *out, arena *mem, const void *options,
                           const training_settings *training, const video_set *videos);
} registry_entry;

int64_t registry_count(void);
const registry_entry *registry_at(int64_t index);
/// Fails with PLUMB_EVALUE and names the nearest model.
plumb_status registry_find(const registry_entry **out, const char *name);

/// For tests: adds an entry until the program ends.
void registry_add(const registry_entry *entry);

#endif
