// SPDX-License-Identifier: MIT
// Momenta of a system that is known by positions and velocities.
#ifndef MEASURES_KAPPA_LAGRANGIAN_MOMENTA_H
#define MEASURES_KAPPA_LAGRANGIAN_MOMENTA_H

#include "plumb/kappa.h"

/// Fits a Lagrangian L(q, v), quadratic in v, to the motion in `latent` and writes the momenta
/// dL/dv, up to one factor. latent: (trajectories, steps, 2m) positions, then velocities per unit
/// of time, at most four pairs. momenta: (trajectories, steps, m). Fails with PLUMB_ESHAPE, and
/// with PLUMB_ENUMERIC if the second half is not the velocity of the first.
plumb_status kappa_fit_momenta(double *momenta, const plumb_array *latent);

#endif
