// SPDX-License-Identifier: MIT
// The training loop: gradients of all replicas, their sum over a fixed tree, one step of Adam, a
// line of the log, a checkpoint. The result is bit-identical for any number of threads and ranks,
// also if the run was stopped, killed and resumed.
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "engine/adam.h"
#include "models/model.h"
#include "train/checkpoint.h"

typedef struct trainer_progress {
    int64_t step, steps;     ///< steps done, and all
    double loss;             ///< mean since the last line of the log
    double steps_per_second; ///< since this call started
    double seconds;          ///< since this call started
    double seconds_left;     ///< estimate
} trainer_progress;

typedef struct trainer_options {
    adam_options adam;
    adam_schedule schedule;    ///< `steps` is the length of training
    double clip_norm;          ///< largest norm of the gradient; 0: no limit
    int64_t log_steps;         ///< steps per line of the log
    int64_t checkpoint_steps;  ///< steps per checkpoint; 0: by time and at the end only
    double checkpoint_seconds; ///< longest time between checkpoints; 0: no limit
    double seconds;            ///< stop after this time; 0: no limit
    int threads;               ///< 0: all cores
    /// Measures the error on validation clips every `validation_steps` steps, at a line of the log.
    /// May be NULL.
    plumb_status (*validate)(void *context, double *loss);
    void *validate_context;
    int64_t validation_steps;
    void (*report)(void *context,
                   const trainer_progress *report); ///< after every step; may be NULL
    void *context;
} trainer_options;

typedef struct trainer_result {
    int64_t step;   ///< updates done in all
    bool finished;  ///< all steps are done; else the time was up
    double loss;    ///< the first term, mean since the last line of the log or of that line; NaN at
                    ///< step 0
    double seconds; ///< training time in all
    double seconds_here;    ///< the same, in this call only
    int64_t first_step;     ///< step at which this call started
    double best_validation; ///< least validation error; NaN: none
    int64_t best_step;      ///< its step
} trainer_result;

/// Trains into `run`, from its checkpoint if it has one. `run` may be NULL: nothing is written.
/// On plumb_set_stop saves and fails with PLUMB_ESTOPPED. If a loss or a gradient is not finite it
/// fails with PLUMB_ENUMERIC, naming step, tensor and the last good checkpoint; parameters are then
/// those before that step.
plumb_status trainer_run(trainer_result *out, trainable_model *model, run_dir *run,
                         const trainer_options *opt);

#endif
