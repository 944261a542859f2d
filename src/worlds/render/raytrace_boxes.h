// SPDX-License-Identifier: MIT
// Balls and boxes on a chequered floor, seen by a camera that looks down at it. One light shines
// straight down and casts hard shadows, another stands where the camera is. z is up.
#ifndef WORLDS_RENDER_RAYTRACE_BOXES_H
#define WORLDS_RENDER_RAYTRACE_BOXES_H

#include <stdbool.h>
#include <stdint.h>

enum { RAYTRACE_BOXES_PARTS = 64, RAYTRACE_BOXES_MAX_IMAGE = 256 };

/// A ball of radius half[0], or a box with half extents `half` along the rows of `axis`.
typedef struct raytrace_box_part {
    bool ball;
    uint8_t id; ///< in the mask; 0 is the floor
    double center[3], axis[3][3], half[3], color[3];
} raytrace_box_part;

/// Squares of side 1, the first corner at `offset`.
typedef struct raytrace_floor {
    double offset[2], color[2][3];
} raytrace_floor;

/// The free camera of MuJoCo: it looks along (cos el cos az, cos el sin az, sin el) at `look` from
/// `distance`; angles in degrees. The vertical field is 45 degrees.
typedef struct raytrace_camera {
    double look[3], distance, azimuth, elevation;
} raytrace_camera;

typedef struct raytrace_box_scene {
    int count;
    raytrace_box_part part[RAYTRACE_BOXES_PARTS]; ///< of two at the same distance the first is seen
} raytrace_box_scene;

/// What depends on camera and floor alone, kept for as long as neither moves.
typedef struct raytrace_view {
    int64_t size; ///< of the picture
    raytrace_camera camera;
    raytrace_floor floor;
    double eye[3], forward[3], right[3], up[3];
    double *ground;         ///< (2 size, 2 size): how far along the ray the floor is, or infinity
    double *offset;         ///< (2 size): how far from the middle a row or column of rays is
    double *slant;          ///< the same: 1 / length of the ray
    uint8_t *bare;          ///< (size, size, 3): the picture without a thing in it
    uint64_t *seen, *shade; ///< (size, size): which parts may be seen, or shade the floor, there
} raytrace_view;

/// Bytes of the arrays above together; `memory` holds as many.
int64_t raytrace_boxes_view_size(int64_t size);
void raytrace_boxes_view_init(raytrace_view *v, void *memory, int64_t size);
/// Does nothing if camera and floor are those of last time.
void raytrace_boxes_view_aim(raytrace_view *v, const raytrace_camera *camera,
                             const raytrace_floor *floor);

/// frame (size, size, 3) and mask (size, size), row 0 at the top; 2 x 2 rays a pixel, their mean
/// rounded half up, the mask from the first of them.
void raytrace_boxes_draw(uint8_t *frame, uint8_t *mask, raytrace_view *v,
                         const raytrace_box_scene *scene);

/// The definition: every part at every ray; the judge of raytrace_boxes_draw.
void raytrace_boxes_draw_ref(uint8_t *frame, uint8_t *mask, raytrace_view *v,
                             const raytrace_box_scene *scene);

#endif
