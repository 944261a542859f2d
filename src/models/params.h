// SPDX-License-Identifier: MIT
// The parameters of a model: names, shapes and places in one flat block. Gradients and the
// optimiser's moments are blocks of the same layout, so that sums over replicas and updates are
// single loops.
#ifndef MODELS_PARAMS_H
#define MODELS_PARAMS_H

#include "engine/op.h"

typedef enum param_init {
    PARAM_INIT_WEIGHTS, // normal cut at two deviations, over the root of the inputs
    PARAM_INIT_UNIFORM, // from -1 to 1 over the root of the inputs, or over that of `value` if
                        // given
    PARAM_INIT_VALUE,   // a number
    PARAM_INIT_FIXED,   // a number that is not trained
} param_init;

typedef struct param {
    const char *name; // "enc.block0.conv0.w"
    tensor_shape shape;
    int64_t offset; // in the block
    param_init start;
    double value;
} param;

typedef struct params {
    arena mem;
    int count, room;
    param *at;
    int64_t size; // floats of a block
} params;

void params_clear(params *p);
/// The parameter of that name, made if it is new. -1 if there is no memory.
int params_add(params *p, const char *name, const tensor_shape *s, param_init start, double value);
int params_find(const params *p, const char *name); ///< or -1
/// First values: a function of (seed, name's position).
void params_init_values(const params *p, float *block, uint64_t seed);

/// The leaves that one graph made of the parameters.
typedef struct param_leaf {
    int param;
    graph_node *leaf;
} param_leaf;

/// A graph under construction, and what its layers are made of.
typedef struct network_builder {
    graph *g;
    params *params;
    param_leaf *leaf;
    int leaves, room;
} network_builder;

/// The leaf of a parameter in this graph; made if it is new.
graph_node *network_param(network_builder *n, const char *name, int rank, const int64_t *size,
                          param_init start, double value);
/// d loss / d parameter for all leaves of the net: appended to `output`, in the order of the
/// leaves. Returns their number.
int network_gradients(network_builder *n, graph_node **output, graph_node *const *y,
                      graph_node *const *seed, int ys);

/// What follows a layer.
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
graph_node *network_activate(network_builder *n, graph_node *x, activation a);

/// "NAME.w" and "NAME.b": x (.., in) -> (.., out).
graph_node *network_dense(network_builder *n, const char *name, graph_node *x, int64_t out);
graph_node *network_conv(network_builder *n, const char *name, graph_node *x, int64_t out,
                         int64_t kernel, int stride, op_padding padding);
/// Nearest x2, then 3x3.
graph_node *network_upconv(network_builder *n, const char *name, graph_node *x, int64_t out);

#endif
