// SPDX-License-Identifier: MIT
// A clip before it is rendered: camera and bodies in each of its frames.
#ifndef WORLDS_ROOMS_SCENE_H
#define WORLDS_ROOMS_SCENE_H

#include "math/rng.h"
#include "worlds/rooms/body.h"

enum { ROOM_SCENE_STEPS = PLUMB_ROOM_STEPS, ROOM_SCENE_BODIES = PLUMB_ROOM_OBJECTS };

/// Seconds between frames.
#define ROOM_SCENE_DT 0.06

/// Body i has id i + 1 in the mask. A body of shape PLUMB_ROOM_SHAPE_NONE is an unused place.
typedef struct room_scene {
    raytrace_floor floor;
    raytrace_camera camera[ROOM_SCENE_STEPS];
    rigid_body bodies[ROOM_SCENE_STEPS][ROOM_SCENE_BODIES];
} room_scene;

/// Makes an empty room: a random floor and the fixed camera of the probes.
void room_scene_init(room_scene *scene, rng *random);
double room_scene_uniform(rng *random, double low, double high);
/// Samples a colour that differs from both colours of the floor.
void room_scene_color(double color[3], const raytrace_floor *floor, rng *random);

/// Largest difference of two colours in one channel.
double room_scene_color_distance(const double a[3], const double b[3]);

/// Height of the lower edge of a curtain at frame t. It is up until `down[0]`, down from `down[1]`
/// to `down[2]`, and up again from `down[3]` on; times in frames. `speed` is in units per frame.
/// May be NULL: speed.
double room_scene_curtain(double *speed, const double down[4], double t);

/// Renders frame t: (size, size, 3) and mask (size, size).
void room_scene_draw(uint8_t *frame, uint8_t *mask, raytrace_view *view, const room_scene *scene,
                     int64_t t);
/// Writes objects and camera of frame t for a data file.
void room_scene_write(double *objects, float *camera, const room_scene *scene, int64_t t);

/// Number of pixels with this id in frame t of a mask, scaled to an image of 64 x 64.
double room_scene_visible_pixels(const uint8_t *mask, int64_t size, int64_t t, int id);

#endif
