// SPDX-License-Identifier: MIT
// Training: a model learns from film, into a run directory.
//
//     plumb_training_options opt = plumb_training_defaults();
//     opt.model = "hgn++";
//     opt.world = "mass-spring";
//     opt.out = "run";
//     plumb_training result;
//     if (plumb_training_run(&result, &opt)) puts(plumb_last_error());
//
// A run directory holds config.json (all settings, resolved), weights.safetensors,
// optimizer.safetensors (the checkpoint), log.jsonl, results.json and TensorBoard's events. Every
// step is a function of the settings and the step alone: threads, stops, kills and resumptions
// change no bit of the weights.
#ifndef PLUMB_TRAIN_H
#define PLUMB_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plumb/record.h"
#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How far it is. Valid during the call only.
typedef struct plumb_training_progress {
    int64_t step, steps; ///< done, and all
    double loss;         ///< mean over the last few steps
    double pace;         ///< steps a second
    double seconds;      ///< since this call began to train
    double left;         ///< seconds, estimated
} plumb_training_progress;

typedef struct plumb_training_options {
    size_t size;
    const char *model; ///< "hgn++"; with `resume` NULL: that of the run
    const char *world; ///< the world it watches,
    const char *data;  ///< or a file of plumb_dataset_simulate; the other NULL
    const char *out;   ///< the run directory
    const char
        *preset; ///< "paper", "cpu" (NULL), "tiny", "cpu-angles", "cpu-state", "cpu-constants"
    const char *const *set; ///< "name=value", applied in order
    int64_t set_count;
    int64_t steps;  ///< updates of the parameters; negative: as the preset has it
    double minutes; ///< stop and save after so long; 0: no limit
    bool resume;    ///< go on with the run in `out`, to the same bits as if it had never stopped
    bool force;     ///< overwrite a run in `out`
    int threads;    ///< 0: plumb_system_threads(); changes no bit
    /// Called after every step, on the caller's thread; NULL: silent.
    void (*progress)(void *context, const plumb_training_progress *progress);
    void *context;
} plumb_training_options;
/// Sets the first `size` bytes of `options` to the defaults. plumb_training_defaults() calls it.
PLUMB_API void plumb_training_options_init(plumb_training_options *options, size_t size);

/// The defaults.
static inline plumb_training_options plumb_training_defaults(void)
{
    plumb_training_options options;
    plumb_training_options_init(&options, sizeof options);
    return options;
}

typedef struct plumb_training {
    char model[64];
    int64_t steps;  ///< updates done in all
    bool finished;  ///< all of them; else the time was up
    double loss;    ///< mean of the steps of the last line of the log; NaN if there was no step
    double seconds; ///< of training, earlier calls included
} plumb_training;

/// Trains. Fails with PLUMB_ESTOPPED, saved, if somebody called plumb_set_stop; PLUMB_ENUMERIC if a
/// loss or a gradient is not finite, naming step, tensor and the last good checkpoint; PLUMB_EFILE
/// if `out` holds a run and neither `resume` nor `force` is set, or another process trains into it;
/// PLUMB_EVALUE for settings that make no sense, naming the nearest right one.
PLUMB_API plumb_status plumb_training_run(plumb_training *out, const plumb_training_options *opt);

/// What a step of such a training would cost, and nothing is trained: parameters, and by stage of
/// training the memory, calls and arithmetic of one replica. `out` of the options is not used.
PLUMB_API plumb_status plumb_training_plan(plumb_record *record, const plumb_training_options *opt);

/// The models there are; the text is there for ever.
PLUMB_API int64_t plumb_model_count(void);
PLUMB_API const char *plumb_model_name(int64_t index);
PLUMB_API const char *plumb_model_summary(int64_t index);

/// A setting of a model. Plain text: copy it, print it, keep it.
typedef struct plumb_model_setting {
    char name[64];
    char takes[256]; ///< "a whole number from 1 to 64", "elbo|geco"
    char paper[64], cpu[64], tiny[64];
    char help[160];
} plumb_model_setting;

/// Setting `index` of a model; `*there` is false behind the last. Fails with PLUMB_EVALUE if there
/// is no such model.
PLUMB_API plumb_status plumb_model_setting_at(plumb_model_setting *out, bool *there,
                                              const char *model, int64_t index);

#ifdef __cplusplus
}
#endif
#endif
