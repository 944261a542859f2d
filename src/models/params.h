// SPDX-License-Identifier: MIT
// The parameters of a model: names, shapes and offsets in one flat block. Gradients and the
// optimiser's moments are blocks of the same layout, so sums over replicas and updates are single
// loops. And the layers that networks are built of.
#ifndef MODELS_PARAMS_H
#define MODELS_PARAMS_H

#include "engine/op.h"

typedef enum param_init {
    PARAM_INIT_WEIGHTS, ///< normal, truncated at two deviations, divided by sqrt(inputs)
    PARAM_INIT_UNIFORM, ///< uniform in -1 .. 1, divided by sqrt(inputs), or sqrt(value) if given
    PARAM_INIT_VALUE,   ///< `value`
    PARAM_INIT_FIXED,   ///< `value`, and not trained
} param_init;

typedef struct param {
    const char *name; ///< "enc.block0.conv0.w"
    tensor_shape shape;
    int64_t offset; ///< in the block, in floats
    param_init init;
    double value; ///< see param_init
} param;

typedef struct params {
    arena mem;
    int count, capacity;
    param *at;
    int64_t size; ///< floats of a block
} params;

void params_clear(params *layout);
/// Index of the parameter of that name, which is added if it is new. -1 if out of memory.
int params_add(params *layout, const char *name, const tensor_shape *shape, param_init init,
               double value);
/// Index of the parameter of that name, or -1.
int params_find(const params *layout, const char *name);
/// Where the parameter of that name is in `block`; NULL if there is none.
float *params_value(const params *layout, float *block, const char *name);
/// Draws initial values, a function of (seed, index of the parameter).
void params_init_values(const params *layout, float *block, uint64_t seed);

/// The node that stands for a parameter in one graph.
typedef struct param_leaf {
    int param; ///< index in params
    graph_node *node;
} param_leaf;

/// A graph under construction and the parameters of its layers.
typedef struct network_builder {
    graph *g;
    params *params;
    param_leaf *leaves;
    int leaf_count, leaf_capacity;
} network_builder;

/// The node of a parameter in this graph, added if it is new.
graph_node *network_param(network_builder *net, const char *name, int rank, const int64_t *size,
                          param_init init, double value);
/// Appends d loss / d parameter to `output`, in the order of the leaves; zeros for fixed ones.
/// `seed` holds d loss / d y of the `count` nodes y. Returns the number of leaves.
int network_gradients(network_builder *net, graph_node **output, graph_node *const *y,
                      graph_node *const *seed, int count);

/// Activation after a layer, in the order of activation_names.
typedef enum activation {
    ACT_NONE,
    ACT_RELU,
    ACT_LEAKY,
    ACT_LEAKY2,
    ACT_SWISH,
    ACT_SOFTPLUS,
    ACT_TANH,
    ACT_SIGMOID,
    ACTIVATIONS
} activation;
extern const char *const activation_names[ACTIVATIONS];
graph_node *network_activate(network_builder *net, graph_node *x, activation a);

/// Layers with the parameters "NAME.w" and "NAME.b": x (.., in) -> (.., out).
graph_node *network_dense(network_builder *net, const char *name, graph_node *x, int64_t out);
graph_node *network_conv(network_builder *net, const char *name, graph_node *x, int64_t out,
                         int64_t kernel, int stride, op_padding padding);
/// Nearest-neighbour upsampling by 2, then a 3x3 convolution.
graph_node *network_upconv(network_builder *net, const char *name, graph_node *x, int64_t out);

#endif
