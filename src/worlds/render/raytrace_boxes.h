// SPDX-License-Identifier: MIT
// Balls and boxes on a chequered floor, seen by a camera that looks down at it. One light shines
// straight down and casts hard shadows, another stands where the camera is. z is up.
#ifndef WORLDS_RENDER_RAYTRACE_BOXES_H
#define WORLDS_RENDER_RAYTRACE_BOXES_H

#include <stdbool.h>
#include <stdint.h>

enum { BOXCAST_PARTS = 64, BOXCAST_MAX_IMAGE = 256 };

/// A ball of radius half[0], or a box with half extents `half` along the rows of `axis`.
typedef struct boxcast_part {
    bool ball;
    uint8_t id; ///< in the mask; 0 is the floor
    double center[3], axis[3][3], half[3], color[3];
} boxcast_part;

/// Squares of side 1, the first corner at `offset`.
typedef struct boxcast_floor {
    double offset[2], color[2][3];
} boxcast_floor;

/// The free camera of MuJoCo: it looks along (cos el cos az, cos el sin az, sin el) at `look` from
/// `distance`; angles in degrees. The vertical field is 45 degrees.
typedef struct boxcast_camera {
    double look[3], distance, azimuth, elevation;
} boxcast_camera;

typedef struct boxcast_scene {
    int count;
    boxcast_part part[BOXCAST_PARTS]; ///< of two at the same distance the first is seen
} boxcast_scene;

/// What depends on camera and floor alone, kept for as long as neither moves.
typedef struct boxcast_view {
    int64_t size; ///< of the picture
    boxcast_camera camera;
    boxcast_floor floor;
    double eye[3], forward[3], right[3], up[3];
    double *ground;         ///< (2 size, 2 size): how far along the ray the floor is, or infinity
    double *offset;         ///< (2 size): how far from the middle a row or column of rays is
    double *slant;          ///< the same: 1 / length of the ray
    uint8_t *bare;          ///< (size, size, 3): the picture without a thing in it
    uint64_t *seen, *shade; ///< (size, size): which parts may be seen, or shade the floor, there
} boxcast_view;

/// Bytes of the arrays above together; `memory` holds as many.
int64_t boxcast_view_size(int64_t size);
void boxcast_view_init(boxcast_view *v, void *memory, int64_t size);
/// Does nothing if camera and floor are those of last time.
void boxcast_view_aim(boxcast_view *v, const boxcast_camera *camera, const boxcast_floor *floor);

/// frame (size, size, 3) and mask (size, size), row 0 at the top; 2 x 2 rays a pixel, their mean
/// rounded half up, the mask from the first of them.
void boxcast_draw(uint8_t *frame, uint8_t *mask, boxcast_view *v, const boxcast_scene *scene);

/// The definition: every part at every ray; the judge of boxcast_draw.
void boxcast_draw_ref(uint8_t *frame, uint8_t *mask, boxcast_view *v, const boxcast_scene *scene);

#endif
