// SPDX-License-Identifier: MIT
// What moves a state from frame to frame: a Hamiltonian, a Lagrangian, a field dz/dt = f(z), or a
// map z -> f(z).
#ifndef MODELS_HGN_DYNAMICS_H
#define MODELS_HGN_DYNAMICS_H

#include "models/hgn/hgn.h"

/// `keep` is 0 where a pair of latents is not in use, of the state's shape; NULL: all are.
/// `radius` is the length of cosines and sines of angles; NULL: 1.
typedef struct state_dynamics {
    const hgn_config *c;
    energy e;
} state_dynamics;

state_dynamics dynamics_make(const hgn_config *c, network_builder *n, graph_node *keep,
                             graph_node *radius);
/// The state one frame on, after dt times sign (NULL: 1).
phase_state dynamics_step(state_dynamics *m, phase_state at, double dt, graph_node *sign);
/// Energies of the items of a state, (items); zeros where there is no energy.
graph_node *dynamics_energy(state_dynamics *m, phase_state at);

#endif
