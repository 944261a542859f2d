// SPDX-License-Identifier: MIT
// Latents of a dynamics model beside the true states.
#ifndef EVALUATE_STATE_ARRAYS_H
#define EVALUATE_STATE_ARRAYS_H

#include "evaluate/test_videos.h"

/// For the steps that the model predicts: latent and truth (trajectories, steps, dims), variance
/// (trajectories, latents). A Lagrangian model has its momenta in place of velocities.
typedef struct state_arrays {
    plumb_array latent, variance, truth;
} state_arrays;

/// Infers the latents of test videos and views them with the true states. In the memory of
/// `trained`.
plumb_status state_arrays_infer(state_arrays *out, trained_model *trained, test_videos *test,
                                int64_t steps, int threads);

/// The same of videos that are made or read for it. Videos of a world are made in pieces, so that
/// only the latents and states of all of them are in memory, and not their frames.
plumb_status state_arrays_make(state_arrays *out, trained_model *trained,
                               const test_videos_request *request);

#endif
