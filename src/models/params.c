// SPDX-License-Identifier: MIT
#include "models/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "math/rng.h"

const char *const activation_names[ACTIVATIONS] = {
    "none", "relu", "leaky_relu", "tf_leaky_relu", "swish", "softplus", "tanh", "sigmoid"};

void params_clear(params *p)
{
    arena_clear(&p->mem);
    *p = (params){0};
}

int params_find(const params *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (!strcmp(p->at[i].name, name)) return i;
    return -1;
}

int params_add(params *p, const char *name, const tensor_shape *s, param_init start, double value)
{
    int i = params_find(p, name);
    if (i >= 0) return i;
    if (p->count == p->room) {
        int room = p->room ? 2 * p->room : 64;
        param *at = ARENA_ALLOC(&p->mem, param, room);
        if (!at) return -1;
        if (p->count) memcpy(at, p->at, (size_t)p->count * sizeof *at);
        p->at = at;
        p->room = room;
    }
    char *copy = arena_strdup(&p->mem, name);
    if (!copy) return -1;
    p->at[p->count] =
        (param){.name = copy, .shape = *s, .offset = p->size, .start = start, .value = value};
    p->size += shape_count(s);
    return p->count++;
}

// Normal numbers beyond two deviations are drawn again; the spread that is lost is not made up for,
// as in the published code.
static void draw_weights(const param *p, float *x, rng *r)
{
    int64_t n = shape_count(&p->shape), out = p->shape.size[p->shape.rank - 1];
    double scale = 1.0 / sqrt((double)(n / (out ? out : 1)));
    for (int64_t i = 0; i < n; i++) {
        double z;
        do z = rng_normal(r);
        while (fabs(z) > 2.0);
        x[i] = (float)(z * scale);
    }
}

static void draw_uniform(const param *p, float *x, rng *r)
{
    int64_t n = shape_count(&p->shape), out = p->shape.size[p->shape.rank - 1];
    double inputs = p->value > 0 ? p->value : (double)(n / (out ? out : 1));
    for (int64_t i = 0; i < n; i++) x[i] = (float)((2.0 * rng_uniform(r) - 1.0) / sqrt(inputs));
}

void params_init_values(const params *p, float *block, uint64_t seed)
{
    memset(block, 0, (size_t)p->size * sizeof *block);
    for (int i = 0; i < p->count; i++) {
        const param *q = &p->at[i];
        rng r = rng_at(seed, (uint64_t)i);
        if (q->start == PARAM_INIT_WEIGHTS) draw_weights(q, block + q->offset, &r);
        else if (q->start == PARAM_INIT_UNIFORM) draw_uniform(q, block + q->offset, &r);
        else
            for (int64_t k = 0; k < shape_count(&q->shape); k++)
                block[q->offset + k] = (float)q->value;
    }
}

graph_node *network_param(network_builder *n, const char *name, int rank, const int64_t *size,
                          param_init start, double value)
{
    tensor_shape s = {.rank = rank};
    if (rank) memcpy(s.size, size, (size_t)rank * sizeof *size);
    int i = params_add(n->params, name, &s, start, value);
    if (i < 0) return graph_error(n->g, PLUMB_EMEMORY);
    for (int k = 0; k < n->leaves; k++)
        if (n->leaf[k].param == i) return n->leaf[k].leaf;
    if (n->leaves == n->room) {
        int room = n->room ? 2 * n->room : 64;
        param_leaf *leaf = ARENA_ALLOC(graph_memory(n->g), param_leaf, room);
        if (!leaf) return graph_error(n->g, PLUMB_EMEMORY);
        if (n->leaves) memcpy(leaf, n->leaf, (size_t)n->leaves * sizeof *leaf);
        n->leaf = leaf;
        n->room = room;
    }
    graph_node *leaf = op_parameter(n->g, name, rank, size);
    n->leaf[n->leaves++] = (param_leaf){.param = i, .leaf = leaf};
    return leaf;
}

static bool fixed(const network_builder *n, int leaf)
{
    return n->params->at[n->leaf[leaf].param].start == PARAM_INIT_FIXED;
}

int network_gradients(network_builder *n, graph_node **output, graph_node *const *y,
                      graph_node *const *seed, int ys)
{
    graph_node **leaf = ARENA_ALLOC(graph_memory(n->g), graph_node *, n->leaves);
    graph_node **d = ARENA_ALLOC(graph_memory(n->g), graph_node *, n->leaves);
    if (!leaf || !d) {
        graph_error(n->g, PLUMB_EMEMORY);
        return 0;
    }
    int trained = 0;
    for (int k = 0; k < n->leaves; k++)
        if (!fixed(n, k)) leaf[trained++] = n->leaf[k].leaf;
    graph_gradient(n->g, d, leaf, trained, y, seed, ys);
    for (int k = 0, i = 0; k < n->leaves; k++)
        output[k] = fixed(n, k) ? op_zeros_like(n->g, n->leaf[k].leaf) : d[i++];
    return n->leaves;
}

graph_node *network_activate(network_builder *n, graph_node *x, activation a)
{
    switch (a) {
    case ACT_RELU: return op_leaky_relu(n->g, x, 0.0);
    case ACT_LEAKY: return op_leaky_relu(n->g, x, 0.01);
    case ACT_LEAKY2: return op_leaky_relu(n->g, x, 0.2);
    case ACT_SWISH: return op_swish(n->g, x);
    case ACT_SOFTPLUS: return op_softplus(n->g, x);
    case ACT_TANH: return op_tanh(n->g, x);
    case ACT_SIGMOID: return op_sigmoid(n->g, x);
    default: return x;
    }
}

static graph_node *weights(network_builder *n, const char *name, int rank, const int64_t *size)
{
    char full[128];
    snprintf(full, sizeof full, "%s.w", name);
    return network_param(n, full, rank, size, PARAM_INIT_WEIGHTS, 0.0);
}

static graph_node *bias(network_builder *n, const char *name, int64_t out)
{
    char full[128];
    snprintf(full, sizeof full, "%s.b", name);
    return network_param(n, full, 1, &out, PARAM_INIT_VALUE, 0.0);
}

graph_node *network_dense(network_builder *n, const char *name, graph_node *x, int64_t out)
{
    graph_node *w = weights(n, name, 2, (int64_t[]){x->shape.size[1], out});
    return op_dense(n->g, x, w, bias(n, name, out));
}

graph_node *network_conv(network_builder *n, const char *name, graph_node *x, int64_t out,
                         int64_t kernel, int stride, op_padding padding)
{
    graph_node *w = weights(n, name, 4, (int64_t[]){kernel, kernel, x->shape.size[3], out});
    return op_bias(n->g, op_conv(n->g, x, w, stride, padding), bias(n, name, out));
}

graph_node *network_upconv(network_builder *n, const char *name, graph_node *x, int64_t out)
{
    graph_node *w = weights(n, name, 4, (int64_t[]){3, 3, x->shape.size[3], out});
    return op_bias(n->g, op_upconv(n->g, x, w), bias(n, name, out));
}
