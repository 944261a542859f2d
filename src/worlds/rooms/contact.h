// SPDX-License-Identifier: MIT
// Where two bodies touch, or are about to.
#ifndef WORLDS_ROOMS_CONTACT_H
#define WORLDS_ROOMS_CONTACT_H

#include "worlds/rooms/body.h"

enum { CONTACT_MAX = 128, CONTACT_FLOOR = -1 };

/// `normal` points from b (or the floor) to a; `gap` is negative where they overlap.
typedef struct contact {
    int a, b;        ///< bodies; b may be CONTACT_FLOOR
    int part;        ///< which parts, as one number
    double point[3]; ///< halfway between the two surfaces
    double normal[3], gap;
    double normal_impulse,
        tangent_impulse[2]; ///< impulses along the normal and across it: the solver's
} contact;

typedef struct contact_list {
    int count;
    contact at[CONTACT_MAX];
} contact_list;

/// Adds the contacts of bodies a and b, or of a and the floor, with gaps below `margin`.
void contact_find(contact_list *out, const body *bodies, int a, int b, double margin);
void contact_find_floor(contact_list *out, const body *bodies, int a, double margin);

#endif
