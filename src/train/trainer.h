// SPDX-License-Identifier: MIT
// The loop: gradients of all replicas, their sum over a fixed tree, one step of Adam, a line of the
// log, a checkpoint. Whatever the number of threads, and however often it was stopped, killed and
// resumed, the same steps give the same bits.
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "engine/adam.h"
#include "models/model.h"
#include "train/run_dir.h"

typedef struct trainer_progress {
    int64_t step, steps; ///< done, and all
    double loss;         ///< mean since the last line of the log
    double pace;         ///< steps a second
    double seconds, left;
} trainer_progress;

typedef struct trainer_options {
    adam_options adam;
    adam_schedule schedule; ///< its `steps` is how long training goes
    double clip;            ///< of the gradient's norm; 0 none
    int64_t log;            ///< steps a line of the log
    int64_t save;           ///< steps a checkpoint; 0: only by time and at the end
    double save_seconds;    ///< a checkpoint at the latest after so long; 0: never. Changes no bit
    double seconds;         ///< stop after so long; 0 no limit
    int threads;            ///< 0: as many as there are cores
    void (*report)(void *context,
                   const trainer_progress *report); ///< after every step; may be NULL
    void *context;
} trainer_options;

typedef struct trainer_result {
    int64_t step;   ///< updates done in all
    bool finished;  ///< all steps; else the time was up
    double loss;    ///< the first term, mean since the last line of the log or of that line; NaN at
                    ///< step 0
    double seconds; ///< of training, in all
    double here;    ///< the same, this time only
    int64_t begun_at; ///< the step that this time began with
} trainer_result;

/// Trains into `run`, from its checkpoint if it has one; `run` may be NULL, then nothing is kept.
/// On plumb_set_stop saves and fails with PLUMB_ESTOPPED. If a loss or a gradient is not finite it
/// fails with PLUMB_ENUMERIC, naming step, tensor and the last good checkpoint; parameters are then
/// as before that step.
plumb_status trainer_run(trainer_result *out, trainable_model *t, run_dir *run,
                         const trainer_options *opt);

#endif
