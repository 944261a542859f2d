// SPDX-License-Identifier: MIT
// Ray tracer of the rooms: balls and boxes on a chequered floor, seen by a camera that looks down.
// One light shines straight down and casts hard shadows, another is at the camera. z is up.
#ifndef WORLDS_RENDER_RAYTRACE_BOXES_H
#define WORLDS_RENDER_RAYTRACE_BOXES_H

#include <stdbool.h>
#include <stdint.h>

enum { RAYTRACE_BOXES_MAX_PARTS = 64, RAYTRACE_BOXES_MAX_IMAGE = 256 };

/// A ball of radius half[0], or a box with half extents `half` along the rows of `axis`.
typedef struct raytrace_box_part {
    bool ball;
    uint8_t id; ///< Value in the mask; 0 is the floor.
    double center[3], axis[3][3], half[3];
    double color[3]; ///< Red, green, blue, 0 to 1.
    /// If above 0, cubes of this side around the centre have alternately this colour.
    double square_side, square_color[3];
} raytrace_box_part;

/// Squares of side 1 in two colours; one corner is at `offset`.
typedef struct raytrace_floor {
    double offset[2], color[2][3];
} raytrace_floor;

/// The free camera of MuJoCo: it looks along (cos el cos az, cos el sin az, sin el) at `look` from
/// `distance`. Angles are in degrees. The vertical field of view is 45 degrees.
typedef struct raytrace_camera {
    double look[3], distance, azimuth, elevation;
} raytrace_camera;

typedef struct raytrace_box_scene {
    int count;
    raytrace_box_part part[RAYTRACE_BOXES_MAX_PARTS]; ///< At equal distance the first is visible.
} raytrace_box_scene;

/// Everything that depends on camera and floor only, kept while neither changes.
typedef struct raytrace_view {
    int64_t size; ///< Height and width of the image in pixels.
    raytrace_camera camera;
    raytrace_floor floor;
    double position[3], forward[3], right[3], up[3]; ///< Of the camera.
    double *floor_distance; ///< (2 size, 2 size): length along the ray to the floor, or infinity.
    double *offset;         ///< (2 size): distance of a row or column of rays from the middle.
    double *inverse_length; ///< (2 size, 2 size): 1 / length of the ray.
    uint8_t *empty_frame;   ///< (size, size, 3): the image without objects.
    uint64_t *visible_parts, *shadow_parts; ///< (size, size): bit i set if part i may be visible,
                                            ///< or may shade the floor, in this pixel.
} raytrace_view;

/// Bytes that the arrays of a view need.
int64_t raytrace_boxes_view_size(int64_t size);
/// `memory` has at least raytrace_boxes_view_size() bytes and must outlive the view.
void raytrace_boxes_view_init(raytrace_view *view, void *memory, int64_t size);
/// Sets camera and floor. Does nothing if they have not changed.
void raytrace_boxes_view_aim(raytrace_view *view, const raytrace_camera *camera,
                             const raytrace_floor *floor);

/// Renders frame (size, size, 3) and mask (size, size), row 0 at the top. 2 x 2 rays per pixel;
/// their mean is rounded half up. The mask is that of the first ray.
void raytrace_boxes_draw(uint8_t *frame, uint8_t *mask, raytrace_view *view,
                         const raytrace_box_scene *scene);

/// Reference implementation: every part at every ray.
void raytrace_boxes_draw_reference(uint8_t *frame, uint8_t *mask, raytrace_view *view,
                                   const raytrace_box_scene *scene);

#endif
