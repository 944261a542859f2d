// SPDX-License-Identifier: MIT
// The log of a run: log.jsonl and TensorBoard events.
#ifndef TRAIN_RUN_LOG_H
#define TRAIN_RUN_LOG_H

#include <stdio.h>

#include "io/tensorboard.h"
#include "models/model.h"

typedef struct run_log {
    FILE *file; ///< log.jsonl
    tensorboard_writer *events;
    double seconds; ///< training time before this call, from the last line that was kept
} run_log;

typedef struct run_log_line {
    int64_t step;        ///< steps done
    const double *terms; ///< (terms), mean since the last line
    double rate;         ///< learning rate
    double validation;   ///< error on validation clips; NaN: not measured at this step
    double seconds;      ///< training time in all
} run_log_line;

/// Opens the files in the run directory `path` and truncates both behind `step`.
plumb_status run_log_open(run_log *log, const char *path, int64_t step);
plumb_status run_log_write(run_log *log, const trainable_model *model, const run_log_line *line);
void run_log_close(run_log *log);

#endif
