// SPDX-License-Identifier: MIT
// Closed loops of states of a world. By Poincare, the integral of p dq around such a loop is the
// same in all canonical coordinates.
#ifndef WORLDS_LOOP_H
#define WORLDS_LOOP_H

#include "base/arena.h"
#include "worlds/world.h"

/// A loop: centre + cos(angle) first + sin(angle) second, all published states.
typedef struct world_loop {
    double *centre, *first, *second; // (2n)
    double *parameters;              // (parameter_total)
} world_loop;

/// Loop number `index` with `seed`. Its centre and its two directions come from three items of the
/// world, so that it keeps linear constraints of the states. It is small enough that the energy
/// along its `states` states stays near that of the items. Fails with PLUMB_EVALUE if there is no
/// such loop, PLUMB_EMEMORY.
plumb_status world_loop_make(world_loop *out, arena *mem, const plumb_world *world, uint64_t seed,
                             int64_t index, int64_t states);

/// state (2n): state number `at` of `states` that are equally spaced in the angle.
void world_loop_state(double *state, const world_loop *loop, const plumb_world *world, int64_t at,
                      int64_t states);

#endif
