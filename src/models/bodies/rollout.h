// SPDX-License-Identifier: MIT
// Rollouts of a trained model `bodies`: objects are found in the input frames, a state is inferred,
// rolled out to both ends of the video and drawn.
#ifndef MODELS_BODIES_ROLLOUT_H
#define MODELS_BODIES_ROLLOUT_H

#include "models/bodies/law.h"
#include "models/model.h"

/// `frames` has the shape of the frames alone.
typedef struct bodies_rollout_model {
    const bodies_config *config;
    const bodies_layout *layout;
    const float *parameters;
    const video_set *frames;
} bodies_rollout_model;

/// Input frames of a rollout.
int64_t bodies_rollout_window(const bodies_config *config);

plumb_status bodies_rollout(const bodies_rollout_model *model, const model_rollout_job *job);

#endif
