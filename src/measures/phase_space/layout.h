// SPDX-License-Identifier: MIT
// Arrays of states in other layouts than positions first.
#ifndef MEASURES_PHASE_SPACE_LAYOUT_H
#define MEASURES_PHASE_SPACE_LAYOUT_H

#include "base/arena.h"
#include "plumb/phase_space.h"

/// out = `array` (trajectories, steps, d) with positions first, in `mem`; `array` itself if it has
/// that layout. `name` is for messages. Velocities become momenta, fitted to the motion. Fails with
/// PLUMB_ESHAPE, PLUMB_ENUMERIC or PLUMB_EMEMORY.
plumb_status layout_apply(plumb_array *out, arena *mem, const plumb_array *array,
                          plumb_layout layout, const char *name);

/// The same for a variance (trajectories, 2m) or (trajectories, steps, 2m) of the latents, whose
/// columns only change places. Fails with PLUMB_EVALUE for PLUMB_LAYOUT_CIRCLE, where it has none.
plumb_status layout_apply_variance(plumb_array *out, arena *mem, const plumb_array *variance,
                                   plumb_layout layout);

#endif
