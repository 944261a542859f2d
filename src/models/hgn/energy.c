// SPDX-License-Identifier: MIT
#include "models/hgn/energy.h"

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

graph_node *energy_layers(const energy *e, const char *prefix, graph_node *x, int64_t out)
{
    const energy_net *s = &e->shape;
    for (int i = 0; i < s->layers; i++) {
        char name[64];
        bool last = i == s->layers - 1;
        int64_t width = last ? out : s->width[i];
        snprintf(name, sizeof name, "%s.%s%d", prefix, s->conv ? "conv" : "ff", i);
        x = s->conv
                ? network_conv(e->net, name, x, width, s->kernel[i], s->stride[i], s->padding[i])
                : network_dense(e->net, name, x, width);
        if (!last) x = network_activate(e->net, x, s->act);
    }
    return x;
}

static graph_node *half_square(graph *g, graph_node *x)
{
    return op_scale(g, op_sum_per_item(g, op_square(g, x)), 0.5);
}

graph_node *energy_embed_angles(graph *g, graph_node *q, graph_node *radius)
{
    graph_node *part[] = {op_cos(g, q), op_sin(g, q)};
    for (int i = 0; radius && i < 2; i++) part[i] = op_multiply(g, part[i], radius);
    return op_concat(g, part, 2, q->shape.rank - 1);
}

// (n): 0, -log(factor), -2 log(factor), ..
static graph_node *falling(graph *g, int64_t n, double factor)
{
    graph_node *out = op_constant(g, 0.0, &(tensor_shape){1, {n}});
    for (int64_t i = 1; i < n; i++) {
        graph_node *less = op_constant(g, -log(factor) * (double)i, &(tensor_shape){1, {1}});
        out = op_add(g, out, op_pad_slice(g, less, 0, i, n));
    }
    return out;
}

static graph_node *for_all(graph *g, graph_node *one, const graph_node *like)
{
    return op_broadcast(g, one, 0, 1, like->shape.size);
}

static graph_node *place(const energy *e, graph_node *q)
{
    return e->angles ? energy_embed_angles(e->net->g, q, e->radius) : q;
}

// Where films differ in their masses: by how much a pair is slower than the one before, and the
// logarithm of how far a mass may be from its mean.
enum { SLOWER = 100, FARTHEST = 2 };

graph_node *energy_scales(graph *g, int64_t pairs)
{
    return op_exp(g, falling(g, pairs, SLOWER));
}

// What forces see of a position: where films differ in their masses, only what moves.
static graph_node *moving(const energy *e, graph_node *q)
{
    graph *g = e->net->g;
    graph_node *x = place(e, q);
    if (e->kinetic != ENERGY_GRADED_MASSES || q->shape.rank != 2) return x;
    graph_node *share = energy_scales(g, q->shape.size[1]);
    if (e->angles) share = op_concat(g, (graph_node *[]){share, share}, 2, 0);
    return op_multiply(g, x, for_all(g, share, x));
}

// |f(x) - f(rest)|^2 / 2: whatever f is, nothing is lower than rest, and it curves upwards there.
static graph_node *rest_quad(const energy *e, const char *prefix, graph_node *x, graph_node *rest)
{
    graph *g = e->net->g;
    int64_t width = e->shape.width[0];
    graph_node *at = energy_layers(e, prefix, x, width),
               *least = energy_layers(e, prefix, rest, width);
    return half_square(g, op_subtract(g, at, least));
}

static graph_node *both(const energy *e, phase_state at)
{
    int last = at.q->shape.rank - 1;
    return op_concat(e->net->g, (graph_node *[]){moving(e, at.q), at.p}, 2, last);
}

// U p, row by row: U holds the upper triangle, row after row, one set per item or one for all.
static graph_node *upper_times(graph *g, graph_node *upper, graph_node *p)
{
    int64_t n = p->shape.size[1], items = p->shape.size[0], start = 0;
    if (n < 1 || n > 64) return graph_error(g, fail(PLUMB_EVALUE, "%d momenta", (int)n));
    graph_node *row[64];
    for (int64_t i = 0; i < n; i++) {
        graph_node *u = op_slice(g, upper, 1, start, n - i);
        graph_node *tail = op_slice(g, p, 1, i, n - i);
        row[i] =
            op_reshape(g, op_sum_per_item(g, op_multiply(g, u, tail)), 2, (int64_t[]){items, 1});
        start += n - i;
    }
    return op_concat(g, row, (int)n, 1);
}

// Starts as the upper triangle of the identity: ones where rows begin. Kept as 1 + free numbers on
// the diagonal is the same function; the published start is U = 1.
static graph_node *free_upper(const energy *e, const char *prefix, const graph_node *p)
{
    int64_t n = p->shape.size[1], total = n * (n + 1) / 2;
    graph *g = e->net->g;
    char name[64];
    snprintf(name, sizeof name, "%s.upper", prefix);
    graph_node *u = network_param(e->net, name, 1, &total, PARAM_INIT_VALUE, 0.0);
    graph_node *diagonal = NULL;
    for (int64_t i = 0, start = 0; i < n; start += n - i, i++) {
        graph_node *one = op_constant(g, 1.0, &(tensor_shape){1, {1}});
        graph_node *at = op_pad_slice(g, one, 0, start, total);
        diagonal = diagonal ? op_add(g, diagonal, at) : at;
    }
    return op_add(g, u, diagonal);
}

// p' M p / 2 with M = U'U + 1, or diag(exp P) + 1.
static graph_node *matrix_quad(const energy *e, const char *prefix, phase_state at)
{
    graph *g = e->net->g;
    int64_t n = at.p->shape.size[1];
    char name[64];
    snprintf(name, sizeof name, "%s.diagonal", prefix);
    graph_node *base = half_square(g, at.p), *more;
    if (e->kinetic == ENERGY_DIAG_QUAD || e->kinetic == ENERGY_DEP_DIAG_QUAD) {
        graph_node *d =
            e->kinetic == ENERGY_DIAG_QUAD
                ? for_all(g, network_param(e->net, name, 1, &n, PARAM_INIT_VALUE, 0.0), at.p)
                : energy_layers(e, prefix, place(e, at.q), n);
        more =
            op_scale(g, op_sum_per_item(g, op_multiply(g, op_exp(g, d), op_square(g, at.p))), 0.5);
    } else {
        graph_node *u = e->kinetic == ENERGY_MATRIX_QUAD
                            ? for_all(g, free_upper(e, prefix, at.p), at.p)
                            : energy_layers(e, prefix, place(e, at.q), n * (n + 1) / 2);
        more = half_square(g, upper_times(g, u, at.p));
    }
    return op_add(g, base, more);
}

// p' diag(exp P) p / 2, with exp P from 1, 1/10, 1/100, .. on: what a film keeps for itself has a
// place to be where nothing moves it. With masses each pair is a hundred times slower than the one
// before, and P is more by a function of those that hardly move.
static graph_node *graded_quad(const energy *e, const char *prefix, phase_state at)
{
    graph *g = e->net->g;
    const bool masses = e->kinetic == ENERGY_GRADED_MASSES;
    const int64_t n = at.p->shape.size[1];
    char name[64];
    if (at.p->shape.rank != 2)
        return graph_error(g, fail(PLUMB_EVALUE,
                                   "kinetic=%s wants states that are vectors, "
                                   "not maps",
                                   energy_names[e->kinetic]));
    snprintf(name, sizeof name, "%s.grades", prefix);
    graph_node *free = network_param(e->net, name, 1, &n, PARAM_INIT_VALUE, 0.0);
    graph_node *grades = for_all(g, op_add(g, free, falling(g, n, masses ? SLOWER : 10.0)), at.p);
    if (masses) {
        graph_node *still = op_subtract(g, place(e, at.q), moving(e, at.q));
        graph_node *more =
            op_tanh(g, op_scale(g, energy_layers(e, prefix, still, n), 1.0 / FARTHEST));
        grades = op_add(g, grades, op_scale(g, more, FARTHEST));
    }
    return op_scale(g, op_sum_per_item(g, op_multiply(g, op_exp(g, grades), op_square(g, at.p))),
                    0.5);
}

static graph_node *potential(const energy *e, phase_state at)
{
    graph *g = e->net->g;
    if (e->potential == ENERGY_DEP_NET)
        return op_sum_per_item(g, energy_layers(e, "pot", both(e, at), 1));
    if (e->potential == ENERGY_EMBED_QUAD)
        return half_square(g, energy_layers(e, "pot", moving(e, at.q), e->shape.width[0]));
    if (e->potential == ENERGY_REST_QUAD)
        return rest_quad(e, "pot", moving(e, at.q), moving(e, op_zeros_like(g, at.q)));
    return op_sum_per_item(g, energy_layers(e, "pot", moving(e, at.q), 1));
}

static graph_node *kinetic(const energy *e, phase_state at)
{
    graph *g = e->net->g;
    switch (e->kinetic) {
    case ENERGY_NET: return op_sum_per_item(g, energy_layers(e, "kin", at.p, 1));
    case ENERGY_DEP_NET: return op_sum_per_item(g, energy_layers(e, "kin", both(e, at), 1));
    case ENERGY_EMBED_QUAD: return half_square(g, energy_layers(e, "kin", at.p, e->shape.width[0]));
    case ENERGY_REST_QUAD: return rest_quad(e, "kin", at.p, op_zeros_like(g, at.p));
    case ENERGY_PURE_QUAD: return half_square(g, at.p);
    case ENERGY_GRADED_QUAD:
    case ENERGY_GRADED_MASSES: return graded_quad(e, "kin", at);
    default: return matrix_quad(e, "kin", at);
    }
}

graph_node *energy_potential(const energy *e, phase_state at)
{
    graph_node *own = potential(e, at);
    if (e->angles) return own;
    if (e->base) return op_add(e->net->g, own, half_square(e->net->g, at.q));
    // A spring to begin with: with forces that are anything, one seed of two learnt nothing.
    if (e->kinetic == ENERGY_GRADED_MASSES)
        return op_add(e->net->g, own, half_square(e->net->g, moving(e, at.q)));
    return own;
}

graph_node *energy_kinetic(const energy *e, phase_state at)
{
    graph_node *own = kinetic(e, at);
    return e->base ? op_add(e->net->g, own, half_square(e->net->g, at.p)) : own;
}

static bool kinetic_sees_q(const energy *e)
{
    return e->kinetic == ENERGY_DEP_NET || e->kinetic == ENERGY_DEP_DIAG_QUAD ||
           e->kinetic == ENERGY_DEP_MATRIX_QUAD || e->kinetic == ENERGY_GRADED_MASSES;
}

// dH/dq or dH/dp. A state's p may have been made from its q: both are variables here, so that one
// is held while the other moves. Only the parts of H that depend on it are made at all.
static graph_node *slope(const energy *e, phase_state at, bool by_p, bool by_potential,
                         bool by_kinetic)
{
    graph *g = e->net->g;
    graph_node *y[2], *d[2];
    int parts = 0;
    if (by_potential) y[parts++] = energy_potential(e, at);
    if (by_kinetic) y[parts++] = energy_kinetic(e, at);
    graph_gradient(g, d, (graph_node *[]){at.q, at.p}, 2, y, NULL, parts);
    return e->keep ? op_multiply(g, d[by_p], e->keep) : d[by_p];
}

static graph_node *velocity(void *self, phase_state at)
{
    const energy *e = self;
    return slope(e, at, true, e->potential == ENERGY_DEP_NET, true);
}

static graph_node *force(void *self, phase_state at)
{
    const energy *e = self;
    return op_scale(e->net->g, slope(e, at, false, true, kinetic_sees_q(e)), -1.0);
}

vector_field energy_flow(energy *e)
{
    return (vector_field){.self = e, .velocity = velocity, .force = force};
}
