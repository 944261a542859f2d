// SPDX-License-Identifier: MIT
// Rollouts of AR.
#ifndef MODELS_LATENT_DYNAMICS_AUTOREGRESSIVE_ROLLOUT_H
#define MODELS_LATENT_DYNAMICS_AUTOREGRESSIVE_ROLLOUT_H

#include "models/latent_dynamics/config.h"
#include "models/model.h"

/// Takes the true frames of the window as input and then its own predictions [Higgins21, code]. The
/// latent of frame t is what predicted it, from frame 1 on. There is no posterior: all variances
/// are 0. Fails with PLUMB_EVALUE for a rollout backward in time, PLUMB_ESHAPE if videos are not
/// longer than the window.
plumb_status autoregressive_rollout(const hgn_config *config, params *layout,
                                    const float *parameters, const model_rollout_job *job);

#endif
