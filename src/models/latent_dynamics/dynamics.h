// SPDX-License-Identifier: MIT
// What advances a state from frame to frame: a Hamiltonian, a Lagrangian, a field dz/dt = f(z), or
// a map z -> f(z).
#ifndef MODELS_LATENT_DYNAMICS_DYNAMICS_H
#define MODELS_LATENT_DYNAMICS_DYNAMICS_H

#include "models/latent_dynamics/config.h"

typedef struct state_dynamics {
    const hgn_config *config;
    energy energy; ///< its networks, also where there is no energy
} state_dynamics;

/// `used`, of the state's shape, is 0 where a pair of latents is not in use; NULL: all are.
/// `radius` is the length of the (cosine, sine) vectors of angles; NULL: 1.
state_dynamics dynamics_make(const hgn_config *config, network_builder *net, graph_node *used,
                             graph_node *radius);
/// The state one frame later, after dt times `sign`; NULL: 1.
phase_state dynamics_step(state_dynamics *dynamics, phase_state state, double dt, graph_node *sign);
/// Energies of the items of a state, (items); zeros where there is no energy.
graph_node *dynamics_energy(state_dynamics *dynamics, phase_state state);

#endif
