// SPDX-License-Identifier: MIT
// Checks the shapes of latents and truth, for all measures that compare the two.
#ifndef MEASURES_FIT_PHASE_SPACE_CHECK_H
#define MEASURES_FIT_PHASE_SPACE_CHECK_H

#include "plumb/array.h"

/// (trajectories, steps, 2m) beside (trajectories, steps, 2n), as many trajectories, latents for
/// every step of the truth, and two steps of it.
plumb_status phase_space_check(const plumb_array *latent, const plumb_array *truth);

#endif
