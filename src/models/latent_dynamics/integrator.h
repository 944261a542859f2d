// SPDX-License-Identifier: MIT
// Integrators as graphs: from a state and its time derivatives to the state one step later.
#ifndef MODELS_LATENT_DYNAMICS_INTEGRATOR_H
#define MODELS_LATENT_DYNAMICS_INTEGRATOR_H

#include "engine/op.h"

/// Positions and momenta (or velocities) of some items.
typedef struct phase_state {
    graph_node *q, *p;
} phase_state;

/// Time derivatives of a state; either can be asked for alone.
typedef struct vector_field {
    void *context;
    graph_node *(*velocity)(void *context, phase_state state); ///< dq/dt, dH/dp
    graph_node *(*force)(void *context, phase_state state);    ///< dp/dt, -dH/dq
} vector_field;

typedef struct integrator_method integrator_method;
/// By name, e.g. "leap_frog"; NULL if there is none.
const integrator_method *integrator_find(const char *name);
/// Names from index 0 on, synonyms last; NULL past the end.
const char *integrator_name(int index);

/// One step of dt times `sign`, a node of the state's shape or NULL for 1, in `substeps` equal
/// steps of the method.
phase_state integrator_step(const integrator_method *method, graph *g, const vector_field *field,
                            phase_state state, double dt, graph_node *sign, int substeps);

#endif
