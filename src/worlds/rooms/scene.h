// SPDX-License-Identifier: MIT
// A clip before it is drawn: where everything is in each of its frames.
#ifndef WORLDS_ROOMS_SCENE_H
#define WORLDS_ROOMS_SCENE_H

#include "math/rng.h"
#include "worlds/rooms/body.h"

enum { ROOM_SCENE_STEPS = PLUMB_ROOM_STEPS, ROOM_SCENE_BODIES = PLUMB_ROOM_OBJECTS };

#define ROOM_SCENE_DT 0.06

/// Body i has id i + 1; one of kind PLUMB_ROOM_SHAPE_NONE is not there.
typedef struct room_scene {
    raytrace_floor floor;
    raytrace_camera camera[ROOM_SCENE_STEPS];
    body body[ROOM_SCENE_STEPS][ROOM_SCENE_BODIES];
} room_scene;

/// An empty room: floor and the fixed camera of the probes.
void room_scene_init(room_scene *s, rng *r);
double room_scene_uniform(rng *r, double low, double high);
/// A colour that stands out from both of the floor's.
void room_scene_color(double color[3], const raytrace_floor *floor, rng *r);

/// The height of a curtain's lower edge, which is up until `down[0]`, down from `down[1]` to
/// `down[2]` and up again at `down[3]`; times in frames. `speed` may be NULL, in frames too.
double room_scene_curtain(double *speed, const double down[4], double t);

/// Draws frame t: (size, size, 3) and (size, size).
void room_scene_draw(uint8_t *frame, uint8_t *mask, raytrace_view *view, const room_scene *s,
                     int64_t t);
/// Rows for a data file.
void room_scene_write(double *objects, float *camera, const room_scene *s, int64_t t);

/// One kind of probe. `pose` draws the possible clips A and B; false: draw again. `accept` looks at
/// their masks, (15, size, size) each, with pixels counted as if size were 64.
typedef struct room_probe {
    bool (*pose)(room_scene *a, room_scene *b, rng *r);
    bool (*accept)(const uint8_t *a, const uint8_t *b, int64_t size);
    int64_t cut[PLUMB_ROOM_CUTS]; ///< -1: none
    bool search;                  ///< the cut is in the middle of the frames 6 to 8 that agree
    bool reversed;                ///< B is A backward: drawn once
} room_probe;

extern const room_probe probes_continuity, probes_solidity, probes_persistence,
    probes_unchangeableness, probes_inertia;

/// Pixels of an id in frame t of a mask, as if it were 64 x 64.
double room_scene_visible_pixels(const uint8_t *mask, int64_t size, int64_t t, int id);

/// A free scene; `blocks` counts its events. False: draw again.
bool freeform_sample(room_scene *s, uint8_t blocks[PLUMB_ROOM_EVENTS], rng *r);
/// Does anything that moves show?
bool freeform_accept(const room_scene *s, const uint8_t *mask, int64_t size);
const char *freeform_event_name(int64_t block);

#endif
