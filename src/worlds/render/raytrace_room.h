// SPDX-License-Identifier: MIT
// A room with five things in it, seen by a camera that looks at the origin. z is up.
#ifndef WORLDS_RENDER_RAYTRACE_ROOM_H
#define WORLDS_RENDER_RAYTRACE_ROOM_H

#include <stdint.h>

enum { RAYTRACE_OBJECTS = 5, RAYTRACE_SAMPLES = 4 }; ///< samples of a pixel: 4 x 4

typedef enum raytrace_shape {
    RAYTRACE_SHAPE_SPHERE,
    RAYTRACE_SHAPE_CAPSULE,
    RAYTRACE_SHAPE_CYLINDER,
    RAYTRACE_SHAPE_BOX
} raytrace_shape;

/// Radius size[0]; capsules and cylinders stand upright, half the straight part is size[2]; boxes
/// have half extents `size` and are turned about z by the angle whose cosine and sine are
/// `heading`.
typedef struct raytrace_object {
    raytrace_shape kind;
    double center[3], size[3], heading[2], color[3];
} raytrace_object;

/// Floor z = 0, |x|, |y| <= half; four walls of one colour; above them the sky.
typedef struct raytrace_room_scene {
    double half, height;
    double floor[3], wall[3], sky[3];
    raytrace_object object[RAYTRACE_OBJECTS];
} raytrace_room_scene;

/// (size, size, 3), row 0 at the top. The camera is anywhere but above the origin.
void raytrace_room_draw(uint8_t *frame, int64_t size, const raytrace_room_scene *room,
                        const double camera[3]);

/// The definition: every object at every ray, and the judge of raytrace_room_draw; values before
/// they become bytes, (size, size, 3).
void raytrace_room_draw_ref(double *values, int64_t size, const raytrace_room_scene *room,
                            const double camera[3]);

#endif
