// SPDX-License-Identifier: MIT
// A clip before it is drawn: where everything is in each of its frames.
#ifndef WORLDS_ROOMS_SCENE_H
#define WORLDS_ROOMS_SCENE_H

#include "math/rng.h"
#include "worlds/rooms/body.h"

enum { STAGE_STEPS = PLUMB_ROOM_STEPS, STAGE_BODIES = PLUMB_ROOM_OBJECTS };

#define STAGE_DT 0.06

/// Body i has id i + 1; one of kind PLUMB_ROOM_NOTHING is not there.
typedef struct stage {
    boxcast_floor floor;
    boxcast_camera camera[STAGE_STEPS];
    body body[STAGE_STEPS][STAGE_BODIES];
} stage;

/// An empty room: floor and the fixed camera of the probes.
void stage_init(stage *s, rng *r);
double stage_uniform(rng *r, double low, double high);
/// A colour that stands out from both of the floor's.
void stage_color(double color[3], const boxcast_floor *floor, rng *r);

/// The height of a curtain's lower edge, which is up until `down[0]`, down from `down[1]` to
/// `down[2]` and up again at `down[3]`; times in frames. `speed` may be NULL, in frames too.
double stage_curtain(double *speed, const double down[4], double t);

/// Draws frame t: (size, size, 3) and (size, size).
void stage_draw(uint8_t *frame, uint8_t *mask, boxcast_view *view, const stage *s, int64_t t);
/// Rows for a data file.
void stage_write(double *objects, float *camera, const stage *s, int64_t t);

/// One kind of probe. `pose` draws the possible clips A and B; false: draw again. `accept` looks at
/// their masks, (15, size, size) each, with pixels counted as if size were 64.
typedef struct stage_probe {
    bool (*pose)(stage *a, stage *b, rng *r);
    bool (*accept)(const uint8_t *a, const uint8_t *b, int64_t size);
    int64_t cut[PLUMB_ROOM_CUTS]; ///< -1: none
    bool search;                  ///< the cut is in the middle of the frames 6 to 8 that agree
    bool reversed;                ///< B is A backward: drawn once
} stage_probe;

extern const stage_probe probes_continuity, probes_solidity, probes_persistence,
    probes_unchangeableness, probes_inertia;

/// Pixels of an id in frame t of a mask, as if it were 64 x 64.
double stage_pixels(const uint8_t *mask, int64_t size, int64_t t, int id);

/// A free scene; `blocks` counts its events. False: draw again.
bool freeform_pose(stage *s, uint8_t blocks[PLUMB_ROOM_BLOCKS], rng *r);
/// Does anything that moves show?
bool freeform_accept(const stage *s, const uint8_t *mask, int64_t size);
const char *freeform_block(int64_t block);

#endif
