// SPDX-License-Identifier: MIT
// Training: a model is trained on videos of a world or a file, into a run directory.
//
//     plumb_training_options opt = plumb_training_defaults();
//     opt.model = "hgn++";
//     opt.world = "mass-spring";
//     plumb_training result;
//     if (plumb_training_run(&result, &opt)) puts(plumb_last_error());
//
// A run directory holds config.json (all settings), weights.safetensors, optimizer.safetensors (the
// checkpoint), log.jsonl, results.json and TensorBoard events. Every step is a function of the
// settings and the step alone: weights are bit-identical for any number of threads, and after any
// stop, kill and resume.
#ifndef PLUMB_TRAINING_H
#define PLUMB_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plumb/record.h"
#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Progress of a training. Valid during the call only.
typedef struct plumb_training_progress {
    int64_t step;            ///< Steps done.
    int64_t steps;           ///< Steps in all.
    double loss;             ///< Mean over the last few steps.
    double steps_per_second; ///< Speed since this call began to train.
    double seconds;          ///< Time since this call began to train.
    double seconds_left;     ///< Estimated time left.
} plumb_training_progress;

/// The options. Take them from plumb_training_defaults() and change what you need.
typedef struct plumb_training_options {
    size_t size;            ///< sizeof(plumb_training_options)
    const char *model;      ///< "hgn++". With `resume` it may be NULL: that of the run.
    const char *world;      ///< Name of a world; NULL if `data` is given.
    const char *data;       ///< A file of plumb_dataset_simulate(); NULL if `world` is given.
    const char *out;        ///< Run directory. NULL: MODEL-WORLD, or MODEL-STEM of `data`.
    const char *preset;     ///< "paper", "cpu", "tiny", "cpu-angles", "cpu-state",
                            ///< "cpu-constants"; of bodies also "points", "box", "chain",
                            ///< "points-constants", "chain-constants". NULL: "cpu".
    const char *const *set; ///< Settings "name=value", applied in order. NULL if set_count is 0.
    int64_t set_count;      ///< Number of settings in `set`. Default 0.
    int64_t steps;          ///< Updates of the parameters. Negative (default): of the preset.
    double minutes;         ///< Stop and save after this time. 0 (default): no limit.
    bool resume; ///< Resume the run in `out`; bit-identical to a run without a stop. Default false.
    bool force;  ///< Overwrite a run in `out`. Default false.
    int threads; ///< 0 (default): all cores. Does not affect the result.
    /// Called after every step, on the caller's thread. May be NULL.
    void (*progress)(void *context, const plumb_training_progress *progress);
    void *context; ///< First argument of `progress`. May be NULL.
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

/// Result of plumb_training_run().
typedef struct plumb_training {
    char model[64]; ///< Name of the model.
    int64_t steps;  ///< Updates done in all.
    bool finished;  ///< All steps are done; else the time was up.
    double loss;    ///< Mean over the steps of the last line of the log. NaN without a step.
    double seconds; ///< Training time, earlier calls included.
    char run[4096]; ///< The run directory.
    /// Variance of predicted frames over a few clips as a share of that of the true frames: about 1
    /// for a good model, 0 if all clips get the same frames. NaN without a step, or if unknown.
    double input_dependence;
    char warning[256]; ///< What is wrong with the trained model, one line; "" if nothing is known.
    double best_validation; ///< Least error on validation clips, that of best.safetensors; or NaN.
    int64_t best_step;      ///< Its step.
} plumb_training;

/// Trains. Fails with PLUMB_ESTOPPED, after saving, if plumb_set_stop() was called; PLUMB_ENUMERIC
/// if a loss or a gradient is not finite, and names step, tensor and the last good checkpoint;
/// PLUMB_EFILE if `out` holds a run and neither `resume` nor `force` is set, or if another process
/// trains into it; PLUMB_EVALUE for invalid settings, and names the nearest valid one.
PLUMB_API plumb_status plumb_training_run(plumb_training *out, const plumb_training_options *opt);

/// Records what a step of such a training would cost, and does not train: parameters, and per stage
/// of training the memory, kernel calls and arithmetic of one replica. `out` is not used.
PLUMB_API plumb_status plumb_training_plan(plumb_record *record, const plumb_training_options *opt);

/// What a training takes: result of plumb_training_estimate().
typedef struct plumb_training_cost {
    char model[64], preset[16];      ///< As in the options, the default preset by its name.
    char data[512];                  ///< The world or the file; "" if none was named: any world.
    int64_t parameters;              ///< Of the model.
    int64_t steps;                   ///< Of the training.
    int64_t batch, replicas;         ///< Clips per step, and the shards they are computed in.
    int64_t videos, frames;          ///< Training videos, and the frames of each; 0: unknown.
    int64_t height, width, channels; ///< Of a frame as the model sees it, in pixels.
    double video_bytes;              ///< Memory of the videos.
    double bytes;                    ///< Memory in all.
    double step_core_seconds; ///< Processor time of a step at the longest horizon. NaN: unknown.
    int threads;              ///< That can work at once.
    double seconds;           ///< Time of all steps, at most about.
} plumb_training_cost;

/// The same, with the time of a few steps, which are run on a small batch. May be NULL: cost,
/// record.
PLUMB_API plumb_status plumb_training_estimate(plumb_training_cost *cost, plumb_record *record,
                                               const plumb_training_options *options);

/// Makes a run of the weights of another program: a .safetensors or .pth file with a state dict of
/// the published PyTorch code of PredRNN, or of the other models in the layouts of torch.nn
/// (docs/training.md). `options` name the model and the run, `out`, and may have a world or a file,
/// a preset (NULL: "paper") and settings; sizes of PredRNN follow from the file. The run has no
/// checkpoint, so it can be evaluated and not be resumed. Fails with PLUMB_EFORMAT if tensors are
/// missing or too many, PLUMB_ESHAPE if one has another shape.
PLUMB_API plumb_status plumb_weights_import(const char *file,
                                            const plumb_training_options *options);

/// Writes the weights of `run` under these names and in these layouts; `file` ends in .safetensors,
/// .npz or .h5. A log line says if the published code computes something else with them.
PLUMB_API plumb_status plumb_weights_export(const char *file, const char *run);

#ifdef __cplusplus
}
#endif
#endif
