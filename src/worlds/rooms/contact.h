// SPDX-License-Identifier: MIT
// Finds the points where two bodies touch or are about to touch.
#ifndef WORLDS_ROOMS_CONTACT_H
#define WORLDS_ROOMS_CONTACT_H

#include "worlds/rooms/body.h"

enum { CONTACT_MAX = 128, CONTACT_FLOOR = -1 };

typedef struct contact_point {
    int a, b;         ///< Indices of the bodies; b may be CONTACT_FLOOR.
    int part;         ///< Indices of both parts as one number.
    double point[3];  ///< Middle between the two surfaces.
    double normal[3]; ///< Unit vector from b (or the floor) to a.
    double gap;       ///< Distance along the normal; negative if they overlap.
    double normal_impulse, tangent_impulse[2]; ///< Impulses of the solver.
} contact_point;

typedef struct contact_list {
    int count;
    contact_point contacts[CONTACT_MAX];
} contact_list;

/// Adds the contacts of bodies a and b, or of a and the floor, with gaps below `margin`.
void contact_find(contact_list *out, const rigid_body *bodies, int a, int b, double margin);
void contact_find_floor(contact_list *out, const rigid_body *bodies, int a, double margin);

#endif
