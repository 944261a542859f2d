// SPDX-License-Identifier: MIT
#include "models/hgn/dynamics.h"

#include "models/hgn/lagrangian.h"

state_dynamics dynamics_make(const hgn_config *c, network_builder *n, graph_node *keep,
                             graph_node *radius)
{
    return (state_dynamics){.c = c,
                            .e = {.net = n,
                                  .potential = c->potential,
                                  .kinetic = c->kinetic,
                                  .shape = c->energy,
                                  .base = c->base,
                                  .angles = c->angles,
                                  .radius = radius,
                                  .keep = keep}};
}

// f(z) of the whole state z = (q, p), in its two halves.
static phase_state field(const energy *e, const char *name, phase_state at)
{
    graph *g = e->net->g;
    int64_t n = at.q->shape.size[1];
    graph_node *z = op_concat(g, (graph_node *[]){at.q, at.p}, 2, 1);
    graph_node *f = energy_layers(e, name, z, 2 * n);
    phase_state out = {op_slice(g, f, 1, 0, n), op_slice(g, f, 1, n, n)};
    if (e->keep)
        out = (phase_state){op_multiply(g, out.q, e->keep), op_multiply(g, out.p, e->keep)};
    return out;
}

static graph_node *field_q(void *self, phase_state at)
{
    return field(self, "ode", at).q;
}

static graph_node *field_p(void *self, phase_state at)
{
    return field(self, "ode", at).p;
}

static vector_field flow_of(state_dynamics *m)
{
    switch (m->c->dynamics) {
    case HGN_LAGRANGIAN: return lagrangian_flow(&m->e);
    case HGN_FIELD: return (vector_field){.self = &m->e, .velocity = field_q, .force = field_p};
    default: return energy_flow(&m->e);
    }
}

phase_state dynamics_step(state_dynamics *m, phase_state at, double dt, graph_node *sign)
{
    const hgn_config *c = m->c;
    graph *g = m->e.net->g;
    if (c->dynamics != HGN_MAP) {
        vector_field f = flow_of(m);
        return integrator_step(integrator_find(c->integrator), g, &f, at, dt, sign, c->parts);
    }
    phase_state next = field(&m->e, "map", at);
    if (!c->residual) return next;
    return (phase_state){op_add(g, at.q, next.q), op_add(g, at.p, next.p)};
}

graph_node *dynamics_energy(state_dynamics *m, phase_state at)
{
    graph *g = m->e.net->g;
    if (m->c->dynamics == HGN_LAGRANGIAN)
        return op_add(g, energy_potential(&m->e, at), lagrangian_kinetic(&m->e, at));
    if (m->c->dynamics != HGN_HAMILTONIAN)
        return op_constant(g, 0.0, &(tensor_shape){1, {at.q->shape.size[0]}});
    return op_add(g, energy_potential(&m->e, at), energy_kinetic(&m->e, at));
}
