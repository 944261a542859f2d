// SPDX-License-Identifier: MIT
// The loss of a clip: from the places in its middle window a state, from the state a rollout to
// both ends, and the distance between the places that are predicted and those that were seen.
#ifndef MODELS_BODIES_CLIP_H
#define MODELS_BODIES_CLIP_H

#include "models/bodies/law.h"

enum { CLIP_MAX_WINDOW = 99 };

/// Weights by which a window gives the value and the slope of a polynomial at its middle.
typedef struct window_weights {
    int frames;
    double value[CLIP_MAX_WINDOW];
    double slope[CLIP_MAX_WINDOW]; ///< per unit of time
} window_weights;
void clip_find_weights(window_weights *out, const bodies_config *config);

/// A state: q (objects, 2) or (objects), and velocities and momenta of the same shape.
typedef struct bodies_state {
    double q[2 * POINTS_MAX], v[2 * POINTS_MAX], p[2 * POINTS_MAX];
} bodies_state;

/// The state in the middle of a window of places (window, objects, 2).
void clip_find_state(bodies_state *out, const bodies_law *law, const bodies_constants *constants,
                     const window_weights *weights, const double *xy);

/// The frames of a clip, for rollouts that are drawn.
typedef struct clip_frames {
    const uint8_t *frames;     ///< (length, height, width, channels)
    const sprite_scene *scene; ///< with the looks of the video
    double scale;              ///< squared change of a picture whose object moves by a pixel
} clip_frames;

/// The scale of a frame in which objects are at xy (objects, 2), in units of length: their mean.
double clip_find_scale(const sprite_scene *scene, const bodies_config *config, const double *xy,
                       const uint8_t *frame, sprite_scratch *scratch);

/// A piece of a trajectory, in units of length.
typedef struct bodies_clip {
    const double *xy; ///< (length, objects, 2)
    int64_t length;
    const double *radius;     ///< (objects)
    int64_t row;              ///< of the table of constants
    const clip_frames *drawn; ///< NULL: places are compared, not frames
} bodies_clip;

/// Memory of one thread, for clips of at most `length` frames each way.
typedef struct clip_memory {
    double *path; ///< of points
    chain_step *steps;
    double *out, *by_out;
    float *picture; ///< a frame, for clips that are drawn
    sprite_scratch sprites;
} clip_memory;
/// Without a scene no clip can be drawn.
plumb_status clip_alloc(clip_memory *out, arena *mem, const bodies_config *config, int64_t length,
                        const sprite_scene *scene);

/// Derivatives of the loss by the parameters that are not in tables, in double.
typedef struct clip_sums {
    double log_mass[POINTS_MAX], mass_law[2], log_spring;
    double gravity[CHAIN_MAX][2];
} clip_sums;

/// What a clip is measured by, and where its gradient goes.
typedef struct clip_task {
    bodies_law *law; ///< filled; the seeds of its tables are added to
    const window_weights *weights;
    const float *parameters;
    double weight;   ///< of the clip in the loss
    clip_sums *sums; ///< is added to
    float *gradient; ///< the rows of constants are added to
    clip_memory *memory;
} clip_task;

/// The loss of a clip, and the mean over its frames of the squared error in pixels.
double clip_add_gradient(double *error, const clip_task *task, const bodies_clip *clip);

/// Adds the sums to the gradient.
void clip_add_sums(float *gradient, const clip_sums *sums, const bodies_law *law);

#endif
