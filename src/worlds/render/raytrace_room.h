// SPDX-License-Identifier: MIT
// A room with five things in it, seen by a camera that looks at the origin. z is up.
#ifndef WORLDS_RENDER_RAYTRACE_ROOM_H
#define WORLDS_RENDER_RAYTRACE_ROOM_H

#include <stdint.h>

enum { RAYCAST_OBJECTS = 5, RAYCAST_SAMPLES = 4 }; ///< samples of a pixel: 4 x 4

typedef enum raycast_kind {
    RAYCAST_SPHERE,
    RAYCAST_CAPSULE,
    RAYCAST_CYLINDER,
    RAYCAST_BOX
} raycast_kind;

/// Radius size[0]; capsules and cylinders stand upright, half the straight part is size[2]; boxes
/// have half extents `size` and are turned about z by the angle whose cosine and sine are
/// `heading`.
typedef struct raycast_object {
    raycast_kind kind;
    double center[3], size[3], heading[2], color[3];
} raycast_object;

/// Floor z = 0, |x|, |y| <= half; four walls of one colour; above them the sky.
typedef struct raycast_room {
    double half, height;
    double floor[3], wall[3], sky[3];
    raycast_object object[RAYCAST_OBJECTS];
} raycast_room;

/// (size, size, 3), row 0 at the top. The camera is anywhere but above the origin.
void raycast_draw(uint8_t *frame, int64_t size, const raycast_room *room, const double camera[3]);

/// The definition: every object at every ray, and the judge of raycast_draw; values before they
/// become bytes, (size, size, 3).
void raycast_draw_ref(double *values, int64_t size, const raycast_room *room,
                      const double camera[3]);

#endif
