// SPDX-License-Identifier: MIT
// A run opened for evaluation: its configuration and its model with the trained weights.
#ifndef EVALUATE_TRAINED_MODEL_H
#define EVALUATE_TRAINED_MODEL_H

#include "models/model.h"
#include "train/run_config.h"

typedef struct trained_model {
    arena mem; ///< of everything below, and of what evaluation allocates
    run_config config;
    trainable_model model;
    bool created;           ///< `model` must be destroyed
    const char *run;        ///< path of the run directory
    int64_t training_steps; ///< training steps that the weights have had
    char data_hash[33];     ///< of the training videos, see video_hash(); "" if unknown
    video_set shape;        ///< shape of the training videos; no frames
} trained_model;

/// Opens the run directory `run`. Call trained_model_close() in any case, also after a failure.
/// `data` is the file it will be evaluated on, or NULL: if the weights do not name their frame
/// size, and the training data are gone, it is that of this file.
plumb_status trained_model_open(trained_model *out, const char *run, const char *data);
/// The same, and fails with PLUMB_EVALUE for a model without a phase space.
plumb_status trained_model_open_dynamics(trained_model *out, const char *run, const char *data);
/// The same, and fails with PLUMB_EVALUE for a model that does not predict clips.
plumb_status trained_model_open_video(trained_model *out, const char *run);
/// Loads the weights with the least validation error. Fails with PLUMB_EFILE if there are none.
plumb_status trained_model_use_best(trained_model *trained);
void trained_model_close(trained_model *trained);

#endif
