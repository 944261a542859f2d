// SPDX-License-Identifier: MIT
// Steps that learning and tracking share.
#ifndef MODELS_BODIES_PERCEPTION_STEPS_H
#define MODELS_BODIES_PERCEPTION_STEPS_H

#include "models/bodies/perception.h"

/// Centroids (count, 2) of `count` colours in a frame, and their masses: the sum of contrasts of
/// their pixels. `slots` are the colours; NULL: 0, 1, ..
void perception_find_colours(double *xy, double *mass, const perception *seen, const int *slots,
                             int count, const uint8_t *frame);

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
