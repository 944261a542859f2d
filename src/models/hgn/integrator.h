// SPDX-License-Identifier: MIT
// Integrators as graphs: from a state and the derivatives of an energy to the state one step on.
#ifndef MODELS_HGN_INTEGRATOR_H
#define MODELS_HGN_INTEGRATOR_H

#include "engine/op.h"

typedef struct phase_state {
    graph_node *q, *p;
} phase_state;

/// dq/dt and dp/dt at a state. Either may be asked for alone: `want_q`, `want_p`.
typedef struct vector_field {
    void *self;
    graph_node *(*velocity)(void *self, phase_state s); // dH/dp
    graph_node *(*force)(void *self, phase_state s);    // -dH/dq
} vector_field;

typedef struct integrator_method integrator_method;
/// By name, e.g. "leap_frog"; NULL if there is none. integrator_name lists them from 0, NULL at the
/// end.
const integrator_method *integrator_find(const char *name);
const char *integrator_name(int i);

/// One step of size dt times `sign`, where sign is a node of the state's shape or NULL for 1; in
/// `parts` equal parts.
phase_state integrator_step(const integrator_method *s, graph *g, const vector_field *f,
                            phase_state at, double dt, graph_node *sign, int parts);

#endif
