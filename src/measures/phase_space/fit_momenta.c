// SPDX-License-Identifier: MIT
// The momenta of a Lagrangian model that is known by positions and velocities, as a public
// function.
#include "base/argument.h"
#include "measures/kappa/lagrangian_momenta.h"
#include "plumb/phase_space.h"

plumb_status plumb_phase_space_fit_momenta(double *momenta, const plumb_array *latent)
{
    REQUIRE_ARGUMENT(momenta);
    REQUIRE_ARGUMENT(latent);
    return kappa_fit_momenta(momenta, latent);
}
