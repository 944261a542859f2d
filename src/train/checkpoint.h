// SPDX-License-Identifier: MIT
// Checkpoints of a run.
//
// optimizer.safetensors alone is the checkpoint: it holds everything that training needs to resume,
// the parameters included, and is replaced by one rename. weights.safetensors, for all other
// readers, is written after it and can be restored from it. So a run that is killed at any moment
// resumes bit-identically.
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "models/model.h"
#include "train/run_dir.h"

/// What a checkpoint holds besides the parameters and the state of the model.
typedef struct checkpoint_state {
    int64_t step;                        ///< updates done
    float *first_moment, *second_moment; ///< of Adam, (parameters)
    double *sum;                         ///< terms summed since the last line of the log, (terms)
    int64_t summed;                      ///< steps in `sum`
    double *line;                        ///< terms of the last line of the log, (terms)
} checkpoint_state;

/// Writes the checkpoint, then the weights.
plumb_status checkpoint_save(run_dir *run, const trainable_model *model,
                             const checkpoint_state *state);
/// Reads the checkpoint; `*exists` is false if the run has none yet. Restores the weights if they
/// are missing or older.
plumb_status checkpoint_load(bool *exists, run_dir *run, trainable_model *model,
                             checkpoint_state *state);

/// Writes the weights alone: a run that cannot be resumed.
plumb_status checkpoint_save_weights(const run_dir *run, const trainable_model *model,
                                     int64_t step);

/// Writes the weights as best.safetensors, with their validation error.
plumb_status checkpoint_save_best(const run_dir *run, const trainable_model *model, int64_t step,
                                  double validation);
/// The validation error of best.safetensors of this run, and its step; infinity if there is none.
double checkpoint_find_best(int64_t *step, const run_dir *run, const trainable_model *model);

/// Height, width and channels of the training videos of the run `path`, from the metadata of its
/// weights. Returns false if they do not have them, as those of version 0.1.0.
enum { CHECKPOINT_MAX_SIDE = 1 << 20 };
bool checkpoint_find_frames(int64_t shape[3], const char *path);

/// What weights come from.
typedef struct checkpoint_origin {
    int64_t step;       ///< training steps done; -1 if unknown
    char data_hash[33]; ///< of the training videos; "" if unknown
} checkpoint_origin;
/// Reads the weights of the run `path` into a model that was created from its config.json. The file
/// must have one of the hashes of the configuration; NULL: not checked.
plumb_status checkpoint_load_weights(trainable_model *model, checkpoint_origin *origin,
                                     const char *path, const run_config_hashes *config);
/// The same of another file of the run: best.safetensors.
plumb_status checkpoint_load_file(trainable_model *model, checkpoint_origin *origin,
                                  const char *path, const run_config_hashes *config,
                                  const char *weights_file);

#endif
