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
    shape shape;
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
int params_add(params *p, const char *name, const shape *s, param_init start, double value);
int params_find(const params *p, const char *name); ///< or -1
/// First values: a function of (seed, name's position).
void params_init_values(const params *p, float *block, uint64_t seed);

/// The leaves that one graph made of the parameters.
typedef struct param_leaf {
    int param;
    node *leaf;
} param_leaf;

/// A graph under construction, and what its layers are made of.
typedef struct net {
    graph *g;
    params *params;
    param_leaf *leaf;
    int leaves, room;
} net;

/// The leaf of a parameter in this graph; made if it is new.
node *net_param(net *n, const char *name, int rank, const int64_t *size, param_init start,
                double value);
/// d loss / d parameter for all leaves of the net: appended to `output`, in the order of the
/// leaves. Returns their number.
int net_gradients(net *n, node **output, node *const *y, node *const *seed, int ys);

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
node *net_activate(net *n, node *x, activation a);

/// "NAME.w" and "NAME.b": x (.., in) -> (.., out).
node *net_dense(net *n, const char *name, node *x, int64_t out);
node *net_conv(net *n, const char *name, node *x, int64_t out, int64_t kernel, int stride,
               op_padding padding);
/// Nearest x2, then 3x3.
node *net_upconv(net *n, const char *name, node *x, int64_t out);

#endif
