// SPDX-License-Identifier: MIT
// What the parts of learning share: background and sprites in perception_learn.c, colours in
// perception_colours.c.
#ifndef MODELS_BODIES_LEARN_JOB_H
#define MODELS_BODIES_LEARN_JOB_H

#include "math/rng.h"
#include "models/bodies/perception_steps.h"

typedef struct learn_job {
    perception *seen;
    const video_set *videos;
    const perception_options *options;
    arena *mem;   // what stays
    arena local;  // what does not
    int64_t size; // values of a frame
    float *background;
    int32_t *counts;                  // (size, 256)
    int colour_frames, sprite_frames; // fewer if there are fewer
} learn_job;

/// A random frame of the videos.
const uint8_t *learn_draw_frame(const learn_job *job, rng *random);

/// Learns the colours of objects, and how many objects have each. The background must be known.
plumb_status perception_learn_colours(learn_job *job);

/// Weights (objects, PROFILE_NODES) that draw the discs found so far; the scene uses them.
void perception_start_profiles(float *weights, perception *seen);
/// Fits them to the sums of many frames (objects), which are changed. Sets radii: of discs that
/// cover as much.
void perception_step_profiles(float *weights, perception *seen, profile_sums *sums);

#endif
