// SPDX-License-Identifier: MIT
// Integrators as graphs: from a state and the derivatives of an energy to the state one step on.
#ifndef MODELS_HGN_INTEGRATOR_H
#define MODELS_HGN_INTEGRATOR_H

#include "engine/op.h"

typedef struct phase {
    node *q, *p;
} phase;

/// dq/dt and dp/dt at a state. Either may be asked for alone: `want_q`, `want_p`.
typedef struct flow {
    void *self;
    node *(*velocity)(void *self, phase s); // dH/dp
    node *(*force)(void *self, phase s);    // -dH/dq
} flow;

typedef struct stepper stepper;
/// By name, e.g. "leap_frog"; NULL if there is none. stepper_name lists them from 0, NULL at the
/// end.
const stepper *stepper_find(const char *name);
const char *stepper_name(int i);

/// One step of size dt times `sign`, where sign is a node of the state's shape or NULL for 1; in
/// `parts` equal parts.
phase stepper_step(const stepper *s, graph *g, const flow *f, phase at, double dt, node *sign,
                   int parts);

#endif
