// SPDX-License-Identifier: MIT
// Rollouts of a trained model of the HGN family: it takes one end of a video as input and predicts
// the rest.
#ifndef MODELS_LATENT_DYNAMICS_ROLLOUT_H
#define MODELS_LATENT_DYNAMICS_ROLLOUT_H

#include "models/latent_dynamics/config.h"
#include "models/model.h"

/// Rolls out the posterior mean of the window at one end of each video to both ends of the video
/// [Higgins21, code]. Fails with PLUMB_EVALUE if the model cannot be run backward, PLUMB_ESHAPE if
/// videos are shorter than the window.
plumb_status hgn_rollout(const hgn_config *config, params *layout, const float *parameters,
                         const model_rollout_job *job);

#endif
