// SPDX-License-Identifier: MIT
// The five kinds of probe: how to sample the two possible clips A and B of a tuple.
#ifndef WORLDS_ROOMS_PROBES_H
#define WORLDS_ROOMS_PROBES_H

#include "worlds/rooms/scene.h"

/// One kind of probe.
typedef struct room_probe {
    /// Samples the scenes of the possible clips A and B. False if they must be sampled again.
    bool (*pose)(room_scene *a, room_scene *b, rng *random);
    /// Checks the masks of A and B, (15, size, size) each. False if they must be sampled again.
    bool (*accept)(const uint8_t *a, const uint8_t *b, int64_t size);
    int64_t cut[PLUMB_ROOM_CUTS]; ///< Last frame before a cut; -1: no cut.
    bool search;                  ///< The cut is the middle one of frames 6 to 8 that agree.
    bool reversed;                ///< B is A played backward and is rendered once.
    bool hard;                    ///< The scenes are changed by hard_change_scenes().
} room_probe;

extern const room_probe probes_continuity, probes_solidity, probes_persistence,
    probes_unchangeableness, probes_inertia, probes_support, probes_collision;
/// The same in harder scenes.
extern const room_probe probes_hard_continuity, probes_hard_solidity, probes_hard_persistence,
    probes_hard_unchangeableness, probes_hard_inertia;

#endif
