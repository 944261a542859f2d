// SPDX-License-Identifier: MIT
// A run opened to be looked at: its model with its weights, and films it has never seen.
#ifndef EVALUATE_TRAINED_MODEL_H
#define EVALUATE_TRAINED_MODEL_H

#include "models/model.h"
#include "plumb/evaluate.h"
#include "train/run_config.h"

typedef struct trained_model {
    arena mem;
    run_config recipe;
    trainable_model t;
    bool created;
    int64_t trained; ///< updates
    video_set shape; ///< of the frames it was trained on; no frames
} trained_model;

/// A run of any model.
plumb_status trained_model_load(trained_model *e, const char *run);
/// One that has a phase space.
plumb_status trained_model_open_dynamics(trained_model *e, const char *run,
                                         const plumb_evaluation_options *opt);
void trained_model_close(trained_model *e);

/// Films and the true states behind them. `state` and `canonical` are (count, steps, ..), in `mem`.
typedef struct test_videos {
    video_set film;
    double *state, *canonical;
    int64_t states, canonicals; ///< numbers a frame
} test_videos;

/// Which films: those of the forecast, or those of the phase-space measures. They never meet, nor
/// those of training.
typedef enum test_videos_use { TEST_VIDEOS_FORECAST, TEST_VIDEOS_MEASURE } test_videos_use;
plumb_status test_videos_get(test_videos *out, trained_model *e,
                             const plumb_evaluation_options *opt, test_videos_use use,
                             int64_t count, int64_t steps);

/// Many trajectories of TEST_VIDEOS_MEASURE of which only what the model watches is filmed:
/// `film` has its window of frames, `state` has `steps`, `canonical` is NULL. From a file all that
/// it has, `steps` frames of each.
plumb_status test_videos_windows(test_videos *out, trained_model *e,
                                 const plumb_evaluation_options *opt, int64_t count, int64_t steps);

#endif
