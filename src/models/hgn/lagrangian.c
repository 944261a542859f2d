// SPDX-License-Identifier: MIT
#include "models/hgn/lagrangian.h"

// U(q), upper triangular, from a network [Higgins21, code: matrix_dep_quad]. Columns of pairs that
// are not in use are zero, so that M is block diagonal and 1 there.
static graph_node *upper(const energy *e, graph_node *q)
{
    graph *g = e->net->g;
    int64_t n = q->shape.size[1];
    graph_node *U = op_fill_upper(g, energy_layers(e, "kin", q, n * (n + 1) / 2), n);
    return e->keep ? op_multiply(g, U, op_broadcast(g, e->keep, 1, 1, &n)) : U;
}

// U x, or U' x.
static graph_node *times(graph *g, graph_node *U, graph_node *x, bool transposed)
{
    int64_t items = x->shape.size[0], n = x->shape.size[1];
    graph_node *column = op_reshape(g, x, 3, (int64_t[]){items, n, 1});
    return op_reshape(g, op_batch_matmul(g, U, column, transposed, false), 2, x->shape.size);
}

static graph_node *half_square(graph *g, graph_node *x)
{
    return op_scale(g, op_sum_per_item(g, op_square(g, x)), 0.5);
}

graph_node *lagrangian_kinetic(const energy *e, phase_state at)
{
    graph *g = e->net->g;
    graph_node *Uv = times(g, upper(e, at.q), at.p, false);
    return op_add(g, half_square(g, Uv), half_square(g, at.p));
}

graph_node *lagrangian_momenta(const energy *e, phase_state at)
{
    graph *g = e->net->g;
    graph_node *U = upper(e, at.q);
    return op_add(g, times(g, U, times(g, U, at.p, false), true), at.p);
}

static graph_node *velocity(void *self, phase_state at)
{
    (void)self;
    return at.p;
}

// (d/dq dL/dv) v is a derivative along v, and gradients only run the other way. But with
// S = <dL/dq, v> the product rule gives dS/dv = dL/dq + (d/dq dL/dv) v, so what is wanted is
// 2 dL/dq - dS/dv. V has no v: its share of that is -dV/dq, and only K goes through S.
static graph_node *acceleration(void *self, phase_state at)
{
    const energy *e = self;
    graph *g = e->net->g;
    graph_node *const qv[] = {at.q, at.p};
    graph_node *K = lagrangian_kinetic(e, at), *V = energy_potential(e, at), *dK[2], *dV[2], *dS[2];
    graph_gradient(g, dK, qv, 2, &K, NULL, 1);
    graph_gradient(g, dV, qv, 2, &V, NULL, 1);
    graph_node *S = op_sum_per_item(g, op_multiply(g, dK[0], at.p));
    graph_gradient(g, dS, qv, 2, &S, NULL, 1);
    graph_node *force = op_subtract(g, op_subtract(g, op_scale(g, dK[0], 2.0), dS[1]), dV[0]);
    if (e->keep) force = op_multiply(g, force, e->keep);
    graph_node *U = upper(e, at.q);
    graph_node *one = op_identity(g, at.q->shape.size[0], at.q->shape.size[1]);
    return op_batch_solve(g, op_add(g, op_batch_matmul(g, U, U, true, false), one), force, false);
}

vector_field lagrangian_flow(energy *e)
{
    return (vector_field){.self = e, .velocity = velocity, .force = acceleration};
}
