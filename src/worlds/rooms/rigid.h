// SPDX-License-Identifier: MIT
// Rigid bodies that fall, touch, rub and bounce.
#ifndef WORLDS_ROOMS_RIGID_H
#define WORLDS_ROOMS_RIGID_H

#include "worlds/rooms/contact.h"

enum { RIGID_SUBSTEPS = 30 }; ///< of a frame

typedef struct rigid {
    int count;
    body body[PLUMB_ROOM_OBJECTS];
    double time;
    contact_list touching; ///< of the last step
    double deepest;        ///< the deepest overlap seen so far
    bool knocked;          ///< something hit a body while it was held
} rigid;

/// Goes on by `h` seconds.
void rigid_step(rigid *r, double h);

/// Energy of all bodies that can move.
double rigid_energy(const rigid *r);

/// Do two bodies overlap, or one and the floor, by more than `depth`?
bool rigid_overlaps(const rigid *r, double depth);

#endif
