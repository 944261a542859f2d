// SPDX-License-Identifier: MIT
// Simulates rigid bodies with contacts, friction and bounces.
#ifndef WORLDS_ROOMS_RIGID_H
#define WORLDS_ROOMS_RIGID_H

#include "worlds/rooms/contact.h"

enum { RIGID_SUBSTEPS = 30 }; ///< Steps per frame.

typedef struct rigid_world {
    int count; ///< Number of bodies.
    rigid_body bodies[PLUMB_ROOM_OBJECTS];
    double time;           ///< In seconds.
    contact_list contacts; ///< Of the last step.
    double max_overlap;    ///< Deepest overlap so far.
    bool hit_while_held;   ///< Some body was hit before its release.
} rigid_world;

/// Advances by `h` seconds.
void rigid_step(rigid_world *world, double h);

/// Energy of all bodies that can move.
double rigid_energy(const rigid_world *world);

/// Returns true if two bodies, or one and the floor, overlap by more than `depth`.
bool rigid_overlaps(const rigid_world *world, double depth);

#endif
