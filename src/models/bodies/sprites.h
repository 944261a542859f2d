// SPDX-License-Identifier: MIT
// Round sprites drawn over a background, and the derivatives of the picture. A disc of radius R at
// x covers a pixel at distance d by a = 1 / (1 + exp(-edge (R - d))). With a profile the cover is
// any function of d, a sum of cubic splines. All lengths are in pixels; pixel (row, column) is at
// y = row, x = column.
//
// A sprite is only computed near its disc, so the cost is that of the discs and not of the picture.
#ifndef MODELS_BODIES_SPRITES_H
#define MODELS_BODIES_SPRITES_H

#include <stdint.h>

#include "base/arena.h"
#include "plumb/status.h"

enum { SPRITES_MAX = 16, SPRITES_CHANNELS = 4, PROFILE_NODES = 32 };

typedef struct sprite {
    double radius;
    double colour[SPRITES_CHANNELS]; ///< 0 to 1
    int depth;                       ///< less is nearer; of equal ones the first is
    int exchanged;                   ///< index of its profile, minus its own index
} sprite;

typedef struct sprite_scene {
    int64_t height, width, channels;
    const float *background; ///< (height, width, channels), 0 to 1
    double edge;             ///< steepness of the edge, per pixel
    int count;
    sprite sprites[SPRITES_MAX];
    /// (count, PROFILE_NODES): weights of the splines; NULL: discs. Weight j belongs to the
    /// distance (j - 1) profile_step. The first equals the third, so that the cover is smooth at
    /// the centre, and the last three are 0.
    const float *profile;
    double profile_step;
} sprite_scene;

/// Sums over the pixels of one sprite that Gauss-Newton steps are made of. The residual is frame
/// minus picture; J is the derivative of the picture.
typedef struct sprite_sums {
    double xx, xy, yy;               ///< J J^T by the place
    double x, y;                     ///< J residual by the place
    double radius2, radius;          ///< the same by the radius
    double edge2, edge;              ///< the same by the edge
    double cover2;                   ///< sum of squares of what the sprite covers visibly
    double colour[SPRITES_CHANNELS]; ///< sum of visible cover times residual
} sprite_sums;

/// Memory for one frame; one per thread.
typedef struct sprite_scratch {
    double *alpha[SPRITES_MAX];                  ///< (height, width) each, used from the start
    double *slope[SPRITES_MAX];                  ///< with a profile: the slope -da/dd of each
    int left[SPRITES_MAX], top[SPRITES_MAX];     ///< of the rectangle that is computed
    int columns[SPRITES_MAX], rows[SPRITES_MAX]; ///< its size
    int near_count[SPRITES_MAX];                 ///< other sprites whose rectangles overlap
    int near[SPRITES_MAX][SPRITES_MAX];          ///< their indices, from front to back
    int order[SPRITES_MAX];                      ///< all sprites from front to back
} sprite_scratch;

/// Exchanges the two sprites of a scene of two, with their profiles. The one that was in front
/// stays in front.
void sprites_exchange(sprite looks[2]);

plumb_status sprites_alloc(sprite_scratch *out, arena *mem, const sprite_scene *scene);

/// Draws sprites at xy (count, 2), x before y, into frame (height, width, channels).
void sprites_draw(float *frame, const sprite_scene *scene, const double *xy,
                  sprite_scratch *scratch);
/// The definition: every pixel of every sprite, in double.
void sprites_draw_reference(double *frame, const sprite_scene *scene, const double *xy);

/// Sums of every sprite for a frame of bytes, which are 255 times the picture. Without `looks` only
/// those of the place.
void sprites_sum(sprite_sums *sums, const sprite_scene *scene, const double *xy,
                 const uint8_t *frame, bool looks, sprite_scratch *scratch);

/// The gradient of sum(seed * picture) by the places (count, 2), given seed (height, width,
/// channels).
void sprites_gradient(double *gradient, const sprite_scene *scene, const double *xy,
                      const float *seed, sprite_scratch *scratch);

/// The normal equations of the profile of one sprite: the picture is linear in its weights.
typedef struct profile_sums {
    double normal[PROFILE_NODES][PROFILE_NODES], right[PROFILE_NODES];
} profile_sums;
/// Adds those of a frame of bytes for every sprite: sums (count). Its profile is in the scene.
void sprites_add_profile(profile_sums *sums, const sprite_scene *scene, const double *xy,
                         const uint8_t *frame, sprite_scratch *scratch);
/// The cover at a distance and its slope -da/dd.
double sprites_profile_cover(double *slope, const float *weights, double step, double distance);

/// Mean squared difference of a frame of bytes and the picture. `picture` is scratch memory for
/// one frame.
double sprites_error(const sprite_scene *scene, const double *xy, const uint8_t *frame,
                     float *picture, sprite_scratch *scratch);

#endif
