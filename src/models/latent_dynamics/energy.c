// SPDX-License-Identifier: MIT
// Learnt energies and Hamilton's equations of them. Forces and velocities are gradients of the
// energy's graph, so they are exact and can be differentiated again in training.
#include "models/latent_dynamics/energy.h"

#include <math.h>
#include <stdio.h>

const char *const energy_names[ENERGY_FORMS + 1] = {
    "separable_net",    "dep_net",     "embed_quad",           "pure_quad",
    "matrix_diag_quad", "matrix_quad", "matrix_dep_diag_quad", "matrix_dep_quad",
    "rest_quad",        "graded_quad", "graded_masses",        NULL};

bool energy_of_positions(energy_form form)
{
    return form == ENERGY_NET || form == ENERGY_DEP_NET || form == ENERGY_EMBED_QUAD ||
           form == ENERGY_REST_QUAD;
}

// Layers "PREFIX.ff0", .. or "PREFIX.conv0", ..; an activation after all but the last.
graph_node *energy_layers(const energy *e, const char *prefix, graph_node *x, int64_t out)
{
    const energy_net *net = &e->layers;
    for (int i = 0; i < net->layers; i++) {
        char name[64];
        bool last = i == net->layers - 1;
        int64_t width = last ? out : net->width[i];
        snprintf(name, sizeof name, "%s.%s%d", prefix, net->conv ? "conv" : "ff", i);
        x = net->conv ? network_conv(e->net, name, x, width, net->kernel[i], net->stride[i],
                                     net->padding[i])
                      : network_dense(e->net, name, x, width);
        if (!last) x = network_activate(e->net, x, net->act);
    }
    return x;
}

// |x|^2 / 2 per item, (items).
static graph_node *half_square(graph *g, graph_node *x)
{
    return op_scale(g, op_sum_per_item(g, op_square(g, x)), 0.5);
}

// (.., n) -> (.., 2 n): all cosines, then all sines.
graph_node *energy_embed_angles(graph *g, graph_node *q, graph_node *radius)
{
    graph_node *part[] = {op_cos(g, q), op_sin(g, q)};
    for (int i = 0; radius && i < 2; i++) part[i] = op_multiply(g, part[i], radius);
    return op_concat(g, part, 2, q->shape.rank - 1);
}

// (n): 0, -log(factor), -2 log(factor), ..
static graph_node *falling_logs(graph *g, int64_t n, double factor)
{
    graph_node *out = op_constant(g, 0.0, &(tensor_shape){1, {n}});
    for (int64_t i = 1; i < n; i++) {
        graph_node *less = op_constant(g, -log(factor) * (double)i, &(tensor_shape){1, {1}});
        out = op_add(g, out, op_pad_slice(g, less, 0, i, n));
    }
    return out;
}

// (n) -> (items, n).
static graph_node *repeat_per_item(graph *g, graph_node *one, const graph_node *like)
{
    return op_broadcast(g, one, 0, 1, like->shape.size);
}

// Positions as networks take them.
static graph_node *embed_positions(const energy *e, graph_node *q)
{
    return e->angular_positions ? energy_embed_angles(e->net->g, q, e->radius) : q;
}

// Worlds whose masses differ from video to video (ENERGY_GRADED_MASSES): each pair moves SLOWDOWN
// times slower than the one before; the log of a mass differs from its mean by at most
// MAX_LOG_MASS.
enum { SLOWDOWN = 100, MAX_LOG_MASS = 2 };

graph_node *energy_scales(graph *g, int64_t pairs)
{
    return op_exp(g, falling_logs(g, pairs, SLOWDOWN));
}

// Positions that forces depend on: with ENERGY_GRADED_MASSES only the moving ones.
static graph_node *moving_positions(const energy *e, graph_node *q)
{
    graph *g = e->net->g;
    graph_node *x = embed_positions(e, q);
    if (e->kinetic != ENERGY_GRADED_MASSES || q->shape.rank != 2) return x;
    // Multiply by how fast each pair moves: slow ones have next to no force.
    graph_node *share = energy_scales(g, q->shape.size[1]);
    if (e->angular_positions) share = op_concat(g, (graph_node *[]){share, share}, 2, 0);
    return op_multiply(g, x, repeat_per_item(g, share, x));
}

// |f(x) - f(rest)|^2 / 2: for any f the minimum is at rest, and the energy is convex there.
static graph_node *rest_quad(const energy *e, const char *prefix, graph_node *x, graph_node *rest)
{
    graph *g = e->net->g;
    int64_t width = e->layers.width[0];
    graph_node *at = energy_layers(e, prefix, x, width),
               *least = energy_layers(e, prefix, rest, width);
    return half_square(g, op_subtract(g, at, least));
}

// (q, p) side by side, for energies that depend on both.
static graph_node *phase_input(const energy *e, phase_state state)
{
    int last = state.q->shape.rank - 1;
    return op_concat(e->net->g, (graph_node *[]){moving_positions(e, state.q), state.p}, 2, last);
}

// U p. `upper` holds the upper triangle of U, row after row: (items, n (n + 1) / 2).
static graph_node *upper_times(graph *g, graph_node *upper, graph_node *p)
{
    int64_t n = p->shape.size[1], items = p->shape.size[0], start = 0;
    if (n < 1 || n > 64) return graph_error(g, fail(PLUMB_EVALUE, "%d momenta", (int)n));
    graph_node *row[64];
    for (int64_t i = 0; i < n; i++) {
        // Row i of U has n - i numbers; it meets the last n - i momenta.
        graph_node *u = op_slice(g, upper, 1, start, n - i);
        graph_node *tail = op_slice(g, p, 1, i, n - i);
        row[i] =
            op_reshape(g, op_sum_per_item(g, op_multiply(g, u, tail)), 2, (int64_t[]){items, 1});
        start += n - i;
    }
    return op_concat(g, row, (int)n, 1);
}

// A trained upper triangle that starts as the identity [Higgins21, code]: the parameters are the
// difference from it.
static graph_node *trained_upper(const energy *e, const char *prefix, const graph_node *p)
{
    int64_t n = p->shape.size[1], total = n * (n + 1) / 2;
    graph *g = e->net->g;
    char name[64];
    snprintf(name, sizeof name, "%s.upper", prefix);
    graph_node *u = network_param(e->net, name, 1, &total, PARAM_INIT_VALUE, 0.0);
    // 1 where a row of the triangle begins, which is its diagonal element.
    graph_node *diagonal = NULL;
    for (int64_t i = 0, start = 0; i < n; start += n - i, i++) {
        graph_node *one = op_constant(g, 1.0, &(tensor_shape){1, {1}});
        graph_node *at = op_pad_slice(g, one, 0, start, total);
        diagonal = diagonal ? op_add(g, diagonal, at) : at;
    }
    return op_add(g, u, diagonal);
}

// p' M p / 2 with M = U'U + 1, or diag(exp P) + 1.
static graph_node *matrix_quad(const energy *e, const char *prefix, phase_state state)
{
    graph *g = e->net->g;
    int64_t n = state.p->shape.size[1];
    char name[64];
    snprintf(name, sizeof name, "%s.diagonal", prefix);
    // The part of the identity: |p|^2 / 2.
    graph_node *base = half_square(g, state.p), *added;
    if (e->kinetic == ENERGY_DIAG_QUAD || e->kinetic == ENERGY_DEP_DIAG_QUAD) {
        graph_node *d =
            e->kinetic == ENERGY_DIAG_QUAD
                ? repeat_per_item(g, network_param(e->net, name, 1, &n, PARAM_INIT_VALUE, 0.0),
                                  state.p)
                : energy_layers(e, prefix, embed_positions(e, state.q), n);
        added = op_scale(g, op_sum_per_item(g, op_multiply(g, op_exp(g, d), op_square(g, state.p))),
                         0.5);
    } else {
        graph_node *u =
            e->kinetic == ENERGY_MATRIX_QUAD
                ? repeat_per_item(g, trained_upper(e, prefix, state.p), state.p)
                : energy_layers(e, prefix, embed_positions(e, state.q), n * (n + 1) / 2);
        added = half_square(g, upper_times(g, u, state.p));
    }
    return op_add(g, base, added);
}

// p' diag(exp P) p / 2, with exp P starting at 1, 1/10, 1/100, ..: what is constant within a video
// can be in pairs that hardly move. With ENERGY_GRADED_MASSES at 1, 1/100, .., and P has a function
// of the constant positions added.
static graph_node *graded_quad(const energy *e, const char *prefix, phase_state state)
{
    graph *g = e->net->g;
    const bool masses = e->kinetic == ENERGY_GRADED_MASSES;
    const int64_t n = state.p->shape.size[1];
    char name[64];
    if (state.p->shape.rank != 2)
        return graph_error(g, fail(PLUMB_EVALUE, "kinetic=%s needs state_layout=vector",
                                   energy_names[e->kinetic]));
    snprintf(name, sizeof name, "%s.log_inverse_mass", prefix);
    // log of the inverse masses: trained numbers plus a falling start.
    graph_node *trained = network_param(e->net, name, 1, &n, PARAM_INIT_VALUE, 0.0);
    graph_node *grades = repeat_per_item(
        g, op_add(g, trained, falling_logs(g, n, masses ? SLOWDOWN : 10.0)), state.p);
    if (masses) {
        // What does not move, q - moving part, may change the masses by at most e^MAX_LOG_MASS.
        graph_node *constant =
            op_subtract(g, embed_positions(e, state.q), moving_positions(e, state.q));
        graph_node *more =
            op_tanh(g, op_scale(g, energy_layers(e, prefix, constant, n), 1.0 / MAX_LOG_MASS));
        grades = op_add(g, grades, op_scale(g, more, MAX_LOG_MASS));
    }
    return op_scale(g, op_sum_per_item(g, op_multiply(g, op_exp(g, grades), op_square(g, state.p))),
                    0.5);
}

// V(q), or V(q, p) for ENERGY_DEP_NET; one value per item.
static graph_node *learnt_potential(const energy *e, phase_state state)
{
    graph *g = e->net->g;
    if (e->potential == ENERGY_DEP_NET)
        return op_sum_per_item(g, energy_layers(e, "pot", phase_input(e, state), 1));
    if (e->potential == ENERGY_EMBED_QUAD)
        return half_square(
            g, energy_layers(e, "pot", moving_positions(e, state.q), e->layers.width[0]));
    if (e->potential == ENERGY_REST_QUAD)
        return rest_quad(e, "pot", moving_positions(e, state.q),
                         moving_positions(e, op_zeros_like(g, state.q)));
    return op_sum_per_item(g, energy_layers(e, "pot", moving_positions(e, state.q), 1));
}

// K(p), or K(q, p) where the form depends on q.
static graph_node *learnt_kinetic(const energy *e, phase_state state)
{
    graph *g = e->net->g;
    switch (e->kinetic) {
    case ENERGY_NET: return op_sum_per_item(g, energy_layers(e, "kin", state.p, 1));
    case ENERGY_DEP_NET:
        return op_sum_per_item(g, energy_layers(e, "kin", phase_input(e, state), 1));
    case ENERGY_EMBED_QUAD:
        return half_square(g, energy_layers(e, "kin", state.p, e->layers.width[0]));
    case ENERGY_REST_QUAD: return rest_quad(e, "kin", state.p, op_zeros_like(g, state.p));
    case ENERGY_PURE_QUAD: return half_square(g, state.p);
    case ENERGY_GRADED_QUAD:
    case ENERGY_GRADED_MASSES: return graded_quad(e, "kin", state);
    default: return matrix_quad(e, "kin", state);
    }
}

graph_node *energy_potential(const energy *e, phase_state state)
{
    graph_node *learnt = learnt_potential(e, state);
    if (e->angular_positions) return learnt;
    if (e->add_spring_energy) return op_add(e->net->g, learnt, half_square(e->net->g, state.q));
    // Starts as a spring: with arbitrary initial forces one seed of two learnt nothing.
    if (e->kinetic == ENERGY_GRADED_MASSES)
        return op_add(e->net->g, learnt, half_square(e->net->g, moving_positions(e, state.q)));
    return learnt;
}

graph_node *energy_kinetic(const energy *e, phase_state state)
{
    graph_node *learnt = learnt_kinetic(e, state);
    return e->add_spring_energy ? op_add(e->net->g, learnt, half_square(e->net->g, state.p))
                                : learnt;
}

// Then the force has a part -dK/dq.
static bool kinetic_depends_on_q(const energy *e)
{
    return e->kinetic == ENERGY_DEP_NET || e->kinetic == ENERGY_DEP_DIAG_QUAD ||
           e->kinetic == ENERGY_DEP_MATRIX_QUAD || e->kinetic == ENERGY_GRADED_MASSES;
}

// dH/dq or dH/dp. p may have been computed from q; here both are independent variables. Only the
// parts of H that depend on the variable are built.
static graph_node *energy_slope(const energy *e, phase_state state, bool by_p, bool by_potential,
                                bool by_kinetic)
{
    graph *g = e->net->g;
    graph_node *y[2], *d[2];
    int parts = 0;
    if (by_potential) y[parts++] = energy_potential(e, state);
    if (by_kinetic) y[parts++] = energy_kinetic(e, state);
    graph_gradient(g, d, (graph_node *[]){state.q, state.p}, 2, y, NULL, parts);
    return e->used ? op_multiply(g, d[by_p], e->used) : d[by_p];
}

// dq/dt = dH/dp. A separable potential does not depend on p and is left out.
static graph_node *velocity(void *context, phase_state state)
{
    const energy *e = context;
    return energy_slope(e, state, true, e->potential == ENERGY_DEP_NET, true);
}

// dp/dt = -dH/dq.
static graph_node *force(void *context, phase_state state)
{
    const energy *e = context;
    return op_scale(e->net->g, energy_slope(e, state, false, true, kinetic_depends_on_q(e)), -1.0);
}

vector_field energy_flow(energy *e)
{
    return (vector_field){.context = e, .velocity = velocity, .force = force};
}
