// SPDX-License-Identifier: MIT
// A learnt Lagrangian L(q, v) = v' M(q) v / 2 - V(q), M = U'U + 1, and the flow it makes. A state
// is (q, v); `phase.p` holds the velocity.
#ifndef MODELS_HGN_LAGRANGIAN_H
#define MODELS_HGN_LAGRANGIAN_H

#include "models/hgn/energy.h"

/// v' M(q) v / 2 of the items of a state, (items).
graph_node *lagrangian_kinetic(const energy *e, phase_state at);
/// dL/dv = M(q) v: what takes the place of p where a phase space is asked for.
graph_node *lagrangian_momenta(const energy *e, phase_state at);
/// dq/dt = v, dv/dt = M^-1 (dL/dq - (d/dq dL/dv) v).
vector_field lagrangian_flow(energy *e);

#endif
