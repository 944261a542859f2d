// SPDX-License-Identifier: MIT
// Ray tracer of the camera worlds: an arena with five objects, seen by a camera that looks at the
// origin. z is up.
#ifndef WORLDS_RENDER_RAYTRACE_ARENA_H
#define WORLDS_RENDER_RAYTRACE_ARENA_H

#include <stdint.h>

/// RAYTRACE_SAMPLES: rays per pixel along each axis, so 4 x 4.
enum { RAYTRACE_OBJECTS = 5, RAYTRACE_SAMPLES = 4 };

typedef enum raytrace_shape {
    RAYTRACE_SHAPE_SPHERE,
    RAYTRACE_SHAPE_CAPSULE,
    RAYTRACE_SHAPE_CYLINDER,
    RAYTRACE_SHAPE_BOX
} raytrace_shape;

typedef struct raytrace_object {
    raytrace_shape kind;
    double center[3];
    double size[3];    ///< Radius size[0]. Capsules and cylinders are upright, and size[2] is half
                       ///< their straight part. Boxes have half extents `size`.
    double heading[2]; ///< Boxes: cosine and sine of the rotation about z.
    double color[3];   ///< Red, green, blue, 0 to 1.
} raytrace_object;

/// Floor z = 0 with |x|, |y| <= half, four walls of one colour, and sky above them.
typedef struct raytrace_arena {
    double half, height;              ///< Half the side of the floor; height of the walls.
    double floor[3], wall[3], sky[3]; ///< Colours, 0 to 1.
    raytrace_object object[RAYTRACE_OBJECTS];
} raytrace_arena;

/// Renders frame (size, size, 3), row 0 at the top. The camera must not be above the origin.
void raytrace_arena_draw(uint8_t *frame, int64_t size, const raytrace_arena *arena,
                         const double camera[3]);

/// Reference implementation: every object at every ray. Values before they become bytes,
/// (size, size, 3).
void raytrace_arena_draw_reference(double *values, int64_t size, const raytrace_arena *arena,
                                   const double camera[3]);

#endif
