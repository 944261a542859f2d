// SPDX-License-Identifier: MIT
// A run directory: config.json, weights.safetensors, optimizer.safetensors, log.jsonl,
// results.json and TensorBoard's events.
//
// optimizer.safetensors alone is the checkpoint: it holds all that training needs to go on, the
// parameters among it, and one rename puts it in place. weights.safetensors, for everybody else, is
// written after it and rewritten from it. So there is no moment at which a kill leaves a run that
// does not resume to the same bits.
#ifndef TRAIN_RUN_DIR_H
#define TRAIN_RUN_DIR_H

#include <stdio.h>

#include "base/arena.h"
#include "io/tensorboard.h"
#include "models/model.h"
#include "plumb/record.h"

/// What a checkpoint holds besides the trainee's own value and state. The trainer's.
typedef struct checkpoint_state {
    int64_t step;   ///< updates done
    float *m, *v;   ///< Adam's moments, (size)
    double *sum;    ///< terms added up since the last line of the log, (terms)
    int64_t summed; ///< of how many steps
    double *line;   ///< terms of the last line of the log, (terms)
} checkpoint_state;

typedef struct run_dir {
    char path[3800];
    int lock;
    bool made; ///< by us: it goes again if it comes to nothing
    FILE *log;
    tensorboard_writer *events;
    int64_t saved;     ///< step of the checkpoint on the disk; -1 none
    double seconds;    ///< of training before this time, as the log has it
    char identity[33]; ///< of the settings, for the files to say which run they are of
    char film[33];     ///< of the data
} run_dir;

typedef enum run_dir_mode {
    RUN_DIR_NEW,    ///< refuses to overwrite a run
    RUN_DIR_FORCE,  ///< may overwrite one
    RUN_DIR_RESUME, ///< needs a run
} run_dir_mode;

/// Makes or finds the directory and locks it: no second process trains into it until the close.
plumb_status run_dir_open(run_dir *r, const char *path, run_dir_mode mode);
void run_dir_close(run_dir *r);

/// Removes the files of a run, and no others; the lock stays.
plumb_status run_dir_remove_files(const run_dir *r);

/// config.json, whole, in `mem` with a zero behind it.
plumb_status run_dir_read_config(char **text, size_t *size, arena *mem, const char *path);
plumb_status run_dir_write_config(const run_dir *r, plumb_record *config);

/// Writes the checkpoint, then the weights.
plumb_status checkpoint_save(run_dir *r, const trainable_model *t, const checkpoint_state *s);
/// Reads the checkpoint; `*there` is false if the run has none yet. Mends the weights.
plumb_status checkpoint_load(bool *there, run_dir *r, trainable_model *t, checkpoint_state *s);

/// The weights of a run into a trainee that was made from its config.json; `*step` is how far it
/// was trained. For all who do not train.
plumb_status checkpoint_load_weights(trainable_model *t, int64_t *step, const char *path,
                                     const char *identity);

/// Opens log.jsonl and the events and cuts both behind `step`.
plumb_status run_log_open(run_dir *r, int64_t step);
/// One line: step, the terms, the rate, seconds of training in all.
plumb_status run_log_write(run_dir *r, const trainable_model *t, int64_t step, const double *terms,
                           double rate, double seconds);

/// Puts `record` into results.json under `section`, where other sections stay as they are.
plumb_status run_dir_write_results(const char *path, const char *section, plumb_record *record);

#endif
