// SPDX-License-Identifier: MIT
// A learnt Lagrangian L(q, v) = v' M(q) v / 2 - V(q), M = U'U + 1, and its equations of motion. A
// state is (q, v): phase_state.p holds the velocity.
#ifndef MODELS_LATENT_DYNAMICS_LAGRANGIAN_H
#define MODELS_LATENT_DYNAMICS_LAGRANGIAN_H

#include "models/latent_dynamics/energy.h"

/// v' M(q) v / 2 of the items of a state, (items).
graph_node *lagrangian_kinetic(const energy *e, phase_state state);
/// Momenta dL/dv = M(q) v.
graph_node *lagrangian_momenta(const energy *e, phase_state state);
/// dq/dt = v, dv/dt = M^-1 (dL/dq - (d/dq dL/dv) v).
vector_field lagrangian_flow(energy *e);

#endif
