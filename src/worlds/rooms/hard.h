// SPDX-License-Identifier: MIT
// What makes a probe harder to see and not harder to decide: a moving camera, a pole in front, more
// bodies that stand around, and bodies with squares of two colours. All of it is the same in both
// possible clips, so the splice holds as before.
#ifndef WORLDS_ROOMS_HARD_H
#define WORLDS_ROOMS_HARD_H

#include "worlds/rooms/scene.h"

/// Changes the scenes of the possible clips A and B.
void hard_change_scenes(room_scene *a, room_scene *b, rng *random);

#endif
