// SPDX-License-Identifier: MIT
// Steps that learning and tracking share.
#ifndef MODELS_BODIES_PERCEPTION_STEPS_H
#define MODELS_BODIES_PERCEPTION_STEPS_H

#include "models/bodies/perception.h"

/// Centroids (count, 2) of `count` colours in a frame, and their masses: the sum of contrasts of
/// their pixels. `slots` are the colours; NULL: 0, 1, ..
void perception_find_colours(double *xy, double *mass, const perception *seen, const int *slots,
                             int count, const uint8_t *frame);

/// Weights (count) of one pixel: how much of it belongs to each colour. False if it is background.
bool perception_weigh_pixel(double *weight, const perception *seen, const int *slots, int count,
                            const uint8_t *pixel, const float *background);

/// First places (objects, 2) of a frame, and the masses of the objects: centroids of colours, and
/// where objects share a colour its densest parts. `scratch` is used.
void perception_find_places(double *xy, double *mass, const perception *seen, const uint8_t *frame,
                            sprite_scratch *scratch);
/// How many objects have each of `colours` colours: parts that are not connected. Sets colour_of.
/// Fails with PLUMB_EVALUE if they are not as many as objects.
plumb_status perception_find_groups(perception *seen, const uint8_t *const *frames, int count);

/// Tracks objects that share colours through all frames of a video: xy (steps, objects, 2), error
/// (steps), mass (steps, objects). Returns the sum of errors.
typedef struct group_video {
    const perception *seen;
    const sprite_scene *scene;
    const uint8_t *frames;
    int64_t steps;
    float *picture;
    sprite_scratch *scratch;
} group_video;
double perception_track_groups(double *xy, double *error, double *mass, const group_video *video);

/// At most `steps` Gauss-Newton steps of all places in a frame.
void perception_refine(double *xy, const sprite_scene *scene, const uint8_t *frame, bool periodic,
                       int steps, sprite_scratch *scratch);

/// The first look of a sprite of a colour whose mass is known.
void perception_start_look(sprite *out, const perception *seen, int colour, double mass);

/// Adds the sums that looks are fitted by: of radius, edge and colour.
void perception_add_sums(sprite_sums *to, const sprite_sums *sums, int count);
/// One step of radii and colours by the sums of many frames, of which `share` is taken.
void perception_step_looks(sprite_scene *scene, const sprite_sums *sums, double share);

#endif
