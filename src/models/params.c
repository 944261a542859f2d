// SPDX-License-Identifier: MIT
// Named parameters in one block, their initial values, and the layers that use them.
#include "models/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "math/rng.h"

const char *const activation_names[ACTIVATIONS] = {
    "none", "relu", "leaky_relu", "tf_leaky_relu", "swish", "softplus", "tanh", "sigmoid"};

void params_clear(params *layout)
{
    arena_clear(&layout->mem);
    memset(layout, 0, sizeof *layout);
}

int params_find(const params *layout, const char *name)
{
    for (int i = 0; i < layout->count; i++)
        if (!strcmp(layout->at[i].name, name)) return i;
    return -1;
}

float *params_value(const params *layout, float *block, const char *name)
{
    const int i = params_find(layout, name);
    return i < 0 ? NULL : block + layout->at[i].offset;
}

// A parameter of this name may exist: graphs of one model share parameters by name.
int params_add(params *layout, const char *name, const tensor_shape *shape, param_init init,
               double value)
{
    int i = params_find(layout, name);
    if (i >= 0) return i;
    // The list grows in the arena; the old one is left behind.
    if (layout->count == layout->capacity) {
        int capacity = layout->capacity ? 2 * layout->capacity : 64;
        param *at = ARENA_ALLOC(&layout->mem, param, capacity);
        if (!at) return -1;
        if (layout->count) memcpy(at, layout->at, (size_t)layout->count * sizeof *at);
        layout->at = at;
        layout->capacity = capacity;
    }
    char *copy = arena_strdup(&layout->mem, name);
    if (!copy) return -1;
    // Its place is behind all others; offsets never change.
    layout->at[layout->count] = (param){
        .name = copy, .shape = *shape, .offset = layout->size, .init = init, .value = value};
    layout->size += shape_count(shape);
    return layout->count++;
}

// ---- initial values ----

// Inputs of one output: all elements over the last axis.
static int64_t fan_in(const param *p)
{
    int64_t outputs = p->shape.size[p->shape.rank - 1];
    return shape_count(&p->shape) / (outputs ? outputs : 1);
}

// Truncated normal: values beyond two deviations are drawn again. The smaller variance that
// results is not corrected, as in the code of [Higgins21].
static void draw_normal(const param *p, float *x, rng *r)
{
    double scale = 1.0 / sqrt((double)fan_in(p));
    for (int64_t i = 0; i < shape_count(&p->shape); i++) {
        double z;
        do z = rng_normal(r);
        while (fabs(z) > 2.0);
        x[i] = (float)(z * scale);
    }
}

// Uniform in -1 .. 1 over sqrt(inputs), as PyTorch starts its layers.
static void draw_uniform(const param *p, float *x, rng *r)
{
    double inputs = p->value > 0 ? p->value : (double)fan_in(p);
    for (int64_t i = 0; i < shape_count(&p->shape); i++)
        x[i] = (float)((2.0 * rng_uniform(r) - 1.0) / sqrt(inputs));
}

// One random stream per parameter, by its index.
void params_init_values(const params *layout, float *block, uint64_t seed)
{
    memset(block, 0, (size_t)layout->size * sizeof *block);
    for (int i = 0; i < layout->count; i++) {
        const param *p = &layout->at[i];
        rng r = rng_at(seed, (uint64_t)i);
        if (p->init == PARAM_INIT_WEIGHTS) draw_normal(p, block + p->offset, &r);
        else if (p->init == PARAM_INIT_UNIFORM) draw_uniform(p, block + p->offset, &r);
        else
            for (int64_t k = 0; k < shape_count(&p->shape); k++)
                block[p->offset + k] = (float)p->value;
    }
}

// ---- parameters in a graph ----

graph_node *network_param(network_builder *net, const char *name, int rank, const int64_t *size,
                          param_init init, double value)
{
    tensor_shape shape = {.rank = rank};
    if (rank) memcpy(shape.size, size, (size_t)rank * sizeof *size);
    int i = params_add(net->params, name, &shape, init, value);
    if (i < 0) return graph_error(net->g, PLUMB_EMEMORY);
    for (int k = 0; k < net->leaf_count; k++)
        // Used before in this graph: the same node.
        if (net->leaves[k].param == i) return net->leaves[k].node;
    if (net->leaf_count == net->leaf_capacity) {
        int capacity = net->leaf_capacity ? 2 * net->leaf_capacity : 64;
        param_leaf *leaves = ARENA_ALLOC(graph_memory(net->g), param_leaf, capacity);
        if (!leaves) return graph_error(net->g, PLUMB_EMEMORY);
        if (net->leaf_count) memcpy(leaves, net->leaves, (size_t)net->leaf_count * sizeof *leaves);
        net->leaves = leaves;
        net->leaf_capacity = capacity;
    }
    graph_node *node = op_parameter(net->g, name, rank, size);
    net->leaves[net->leaf_count++] = (param_leaf){.param = i, .node = node};
    return node;
}

static bool is_fixed(const network_builder *net, int leaf)
{
    return net->params->at[net->leaves[leaf].param].init == PARAM_INIT_FIXED;
}

// Fixed parameters have gradient zero, so that outputs and leaves have the same order.
int network_gradients(network_builder *net, graph_node **output, graph_node *const *y,
                      graph_node *const *seed, int count)
{
    graph_node **trained = ARENA_ALLOC(graph_memory(net->g), graph_node *, net->leaf_count);
    graph_node **gradients = ARENA_ALLOC(graph_memory(net->g), graph_node *, net->leaf_count);
    if (!trained || !gradients) {
        graph_error(net->g, PLUMB_EMEMORY);
        return 0;
    }
    int trained_count = 0;
    for (int k = 0; k < net->leaf_count; k++)
        if (!is_fixed(net, k)) trained[trained_count++] = net->leaves[k].node;
    graph_gradient(net->g, gradients, trained, trained_count, y, seed, count);
    for (int k = 0, i = 0; k < net->leaf_count; k++)
        output[k] = is_fixed(net, k) ? op_zeros_like(net->g, net->leaves[k].node) : gradients[i++];
    return net->leaf_count;
}

// ---- layers ----

graph_node *network_activate(network_builder *net, graph_node *x, activation a)
{
    switch (a) {
    case ACT_RELU: return op_leaky_relu(net->g, x, 0.0);
    case ACT_LEAKY: return op_leaky_relu(net->g, x, 0.01);
    case ACT_LEAKY2: return op_leaky_relu(net->g, x, 0.2);
    case ACT_SWISH: return op_swish(net->g, x);
    case ACT_SOFTPLUS: return op_softplus(net->g, x);
    case ACT_TANH: return op_tanh(net->g, x);
    case ACT_SIGMOID: return op_sigmoid(net->g, x);
    default: return x;
    }
}

// "NAME.w".
static graph_node *add_weights(network_builder *net, const char *name, int rank,
                               const int64_t *size)
{
    char full[128];
    snprintf(full, sizeof full, "%s.w", name);
    return network_param(net, full, rank, size, PARAM_INIT_WEIGHTS, 0.0);
}

// "NAME.b" (out), zero at the start.
static graph_node *add_bias(network_builder *net, const char *name, int64_t out)
{
    char full[128];
    snprintf(full, sizeof full, "%s.b", name);
    return network_param(net, full, 1, &out, PARAM_INIT_VALUE, 0.0);
}

graph_node *network_dense(network_builder *net, const char *name, graph_node *x, int64_t out)
{
    graph_node *w = add_weights(net, name, 2, (int64_t[]){x->shape.size[1], out});
    return op_dense(net->g, x, w, add_bias(net, name, out));
}

graph_node *network_conv(network_builder *net, const char *name, graph_node *x, int64_t out,
                         int64_t kernel, int stride, op_padding padding)
{
    graph_node *w = add_weights(net, name, 4, (int64_t[]){kernel, kernel, x->shape.size[3], out});
    return op_bias(net->g, op_conv(net->g, x, w, stride, padding), add_bias(net, name, out));
}

graph_node *network_upconv(network_builder *net, const char *name, graph_node *x, int64_t out)
{
    graph_node *w = add_weights(net, name, 4, (int64_t[]){3, 3, x->shape.size[3], out});
    return op_bias(net->g, op_upconv(net->g, x, w), add_bias(net, name, out));
}
