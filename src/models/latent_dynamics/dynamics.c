// SPDX-License-Identifier: MIT
// Advances a state by one frame, and its energy.
#include "models/latent_dynamics/dynamics.h"

#include "models/latent_dynamics/lagrangian.h"

// The energy that the configuration asks for. `used` and `radius` may be NULL.
state_dynamics dynamics_make(const hgn_config *config, network_builder *net, graph_node *used,
                             graph_node *radius)
{
    return (state_dynamics){.config = config,
                            .energy = {.net = net,
                                       .potential = config->potential,
                                       .kinetic = config->kinetic,
                                       .layers = config->energy,
                                       .add_spring_energy = config->add_spring_energy,
                                       .angular_positions = config->angular_positions,
                                       .radius = radius,
                                       .used = used}};
}

// f(z) of the whole state z = (q, p), in its two halves; zero for unused pairs.
static phase_state evaluate_field(const energy *e, const char *name, phase_state state)
{
    graph *g = e->net->g;
    int64_t n = state.q->shape.size[1];
    graph_node *z = op_concat(g, (graph_node *[]){state.q, state.p}, 2, 1);
    graph_node *f = energy_layers(e, name, z, 2 * n);
    phase_state out = {op_slice(g, f, 1, 0, n), op_slice(g, f, 1, n, n)};
    if (e->used)
        out = (phase_state){op_multiply(g, out.q, e->used), op_multiply(g, out.p, e->used)};
    return out;
}

// dz/dt = f(z) in two halves. Both calls build the same nodes, which the engine merges.
static graph_node *field_q(void *context, phase_state state)
{
    return evaluate_field(context, "ode", state).q;
}

static graph_node *field_p(void *context, phase_state state)
{
    return evaluate_field(context, "ode", state).p;
}

// What integrators call: Hamilton, Euler-Lagrange, or a network without a conserved energy.
static vector_field choose_field(state_dynamics *dynamics)
{
    switch (dynamics->config->dynamics) {
    case HGN_LAGRANGIAN: return lagrangian_flow(&dynamics->energy);
    case HGN_FIELD:
        return (vector_field){.context = &dynamics->energy, .velocity = field_q, .force = field_p};
    default: return energy_flow(&dynamics->energy);
    }
}

phase_state dynamics_step(state_dynamics *dynamics, phase_state state, double dt, graph_node *sign)
{
    const hgn_config *config = dynamics->config;
    graph *g = dynamics->energy.net->g;
    // A flow: one frame is dt of model time in `substeps` integrator steps.
    if (config->dynamics != HGN_MAP) {
        vector_field f = choose_field(dynamics);
        return integrator_step(integrator_find(config->integrator), g, &f, state, dt, sign,
                               config->substeps);
    }
    // A map: one evaluation per frame, z -> f(z) or z + f(z).
    phase_state next = evaluate_field(&dynamics->energy, "map", state);
    if (!config->residual) return next;
    return (phase_state){op_add(g, state.q, next.q), op_add(g, state.p, next.p)};
}

// Energy per item, (items). Fields and maps have none: 0.
graph_node *dynamics_energy(state_dynamics *dynamics, phase_state state)
{
    graph *g = dynamics->energy.net->g;
    if (dynamics->config->dynamics == HGN_LAGRANGIAN)
        return op_add(g, energy_potential(&dynamics->energy, state),
                      lagrangian_kinetic(&dynamics->energy, state));
    if (dynamics->config->dynamics != HGN_HAMILTONIAN)
        return op_constant(g, 0.0, &(tensor_shape){1, {state.q->shape.size[0]}});
    return op_add(g, energy_potential(&dynamics->energy, state),
                  energy_kinetic(&dynamics->energy, state));
}
