// SPDX-License-Identifier: MIT
// LGN [Higgins21, code]: Euler-Lagrange equations of a learnt Lagrangian.
#include "models/latent_dynamics/lagrangian.h"

// U(q), upper triangular, from a network [Higgins21, code: matrix_dep_quad]. Columns of unused
// pairs are zero, so M is block diagonal and 1 there.
static graph_node *upper_matrix(const energy *e, graph_node *q)
{
    graph *g = e->net->g;
    int64_t n = q->shape.size[1];
    graph_node *U = op_fill_upper(g, energy_layers(e, "kin", q, n * (n + 1) / 2), n);
    return e->used ? op_multiply(g, U, op_broadcast(g, e->used, 1, 1, &n)) : U;
}

// U x, or U' x.
static graph_node *multiply_vector(graph *g, graph_node *U, graph_node *x, bool transposed)
{
    int64_t items = x->shape.size[0], n = x->shape.size[1];
    graph_node *column = op_reshape(g, x, 3, (int64_t[]){items, n, 1});
    return op_reshape(g, op_batch_matmul(g, U, column, transposed, false), 2, x->shape.size);
}

static graph_node *half_square(graph *g, graph_node *x)
{
    return op_scale(g, op_sum_per_item(g, op_square(g, x)), 0.5);
}

graph_node *lagrangian_kinetic(const energy *e, phase_state state)
{
    graph *g = e->net->g;
    graph_node *Uv = multiply_vector(g, upper_matrix(e, state.q), state.p, false);
    return op_add(g, half_square(g, Uv), half_square(g, state.p));
}

graph_node *lagrangian_momenta(const energy *e, phase_state state)
{
    graph *g = e->net->g;
    graph_node *U = upper_matrix(e, state.q);
    return op_add(g, multiply_vector(g, U, multiply_vector(g, U, state.p, false), true), state.p);
}

static graph_node *velocity(void *context, phase_state state)
{
    (void)context;
    return state.p;
}

// M^-1 (dL/dq - (d/dq dL/dv) v). The second term is a derivative along v (forward mode), and the
// engine has gradients only (reverse mode). But with S = <dL/dq, v> the product rule gives dS/dv =
// dL/dq + (d/dq dL/dv) v, so the bracket is 2 dL/dq - dS/dv. V does not depend on v: it contributes
// -dV/dq, and only K is needed in S.
static graph_node *acceleration(void *context, phase_state state)
{
    const energy *e = context;
    graph *g = e->net->g;
    graph_node *const qv[] = {state.q, state.p};
    graph_node *K = lagrangian_kinetic(e, state), *V = energy_potential(e, state), *dK[2], *dV[2],
               *dS[2];
    graph_gradient(g, dK, qv, 2, &K, NULL, 1);
    graph_gradient(g, dV, qv, 2, &V, NULL, 1);
    graph_node *S = op_sum_per_item(g, op_multiply(g, dK[0], state.p));
    graph_gradient(g, dS, qv, 2, &S, NULL, 1);
    graph_node *force = op_subtract(g, op_subtract(g, op_scale(g, dK[0], 2.0), dS[1]), dV[0]);
    if (e->used) force = op_multiply(g, force, e->used);
    graph_node *U = upper_matrix(e, state.q);
    graph_node *one = op_identity(g, state.q->shape.size[0], state.q->shape.size[1]);
    return op_batch_solve(g, op_add(g, op_batch_matmul(g, U, U, true, false), one), force, false);
}

vector_field lagrangian_flow(energy *e)
{
    return (vector_field){.context = e, .velocity = velocity, .force = acceleration};
}
