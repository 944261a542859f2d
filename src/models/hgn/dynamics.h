// SPDX-License-Identifier: MIT
// What moves a state from frame to frame: a Hamiltonian, a Lagrangian, a field dz/dt = f(z), or a
// map z -> f(z).
#ifndef MODELS_HGN_DYNAMICS_H
#define MODELS_HGN_DYNAMICS_H

#include "models/hgn/hgn.h"

/// `keep` is 0 where a pair of latents is not in use, of the state's shape; NULL: all are.
/// `radius` is the length of cosines and sines of angles; NULL: 1.
typedef struct motion {
    const hgn_config *c;
    energy e;
} motion;

motion motion_of(const hgn_config *c, net *n, node *keep, node *radius);
/// The state one frame on, after dt times sign (NULL: 1).
phase motion_step(motion *m, phase at, double dt, node *sign);
/// Energies of the items of a state, (items); zeros where there is no energy.
node *motion_energy(motion *m, phase at);

#endif
