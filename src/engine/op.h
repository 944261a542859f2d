// SPDX-License-Identifier: MIT
// The operations. A model is written in these; op_info.c has their table.
//
// Shapes are row-major, images (n, height, width, channels), weights of convolutions (height,
// width, in, out), of dense layers (in, out). Elementwise operations take equal shapes; whatever is
// smaller is broadcast first, which costs nothing when the program runs.
#ifndef ENGINE_OP_H
#define ENGINE_OP_H

#include "engine/graph.h"

// clang-format off
#define OP_LIST(OP)                                                                               \
    OP(LEAF) OP(CONSTANT)                                                                         \
    /* elementwise */                                                                             \
    OP(ADD) OP(SUBTRACT) OP(MULTIPLY) OP(DIVIDE) OP(SCALE) OP(ADD_SCALAR)                         \
    OP(EXP) OP(LOG) OP(SQRT) OP(RECIPROCAL) OP(SIN) OP(COS) OP(TANH) OP(SIGMOID) OP(SOFTPLUS)     \
    OP(SWISH) OP(SWISH_GRAD) OP(SWISH_GRAD2) OP(ERF) OP(ATAN2) OP(LEAKY_RELU) OP(LEAKY_RELU_GRAD) \
    /* sum of many arrays, matrix product, convolutions and their gradients */                    \
    OP(ADD_N) OP(MATMUL)                                                                          \
    OP(CONV) OP(CONV_GRAD_INPUT) OP(CONV_GRAD_WEIGHTS)                                            \
    OP(UPCONV) OP(UPCONV_GRAD_INPUT) OP(UPCONV_GRAD_WEIGHTS)                                      \
    OP(UPSAMPLE) OP(SUM_POOL2)                                                                    \
    /* batches of small matrices, one per item */                                                 \
    OP(BATCH_MATMUL) OP(BATCH_SOLVE) OP(FILL_UPPER) OP(TAKE_UPPER)                                \
    /* copies */                                                                                  \
    OP(RESHAPE) OP(SLICE) OP(PAD_SLICE) OP(CONCAT) OP(BROADCAST) OP(SUM) OP(TRANSPOSE)
// clang-format on

#define OP_ENUM(name) OP_##name,
typedef enum op_kind { OP_LIST(OP_ENUM) OP_KIND_COUNT } op_kind;
#undef OP_ENUM

/// What the table knows of an operation.
typedef struct op_kind_info {
    const char *name;
    int inputs; // -1: one or more
    plumb_status (*infer_shape)(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                 int inputs);
    /// d[i] = contribution to the cotangent of input i, NULL where there is none. `y` is the node,
    /// `dy` its cotangent.
    void (*gradient)(graph *g, graph_node **d, graph_node *y, graph_node *dy);
    /// Elementwise operations: the value at one place, in double.
    double (*scalar)(const op_attr *attr, const double *x);
    /// The others: the judge, in double, and the fast kernel. Those that accumulate can add to what
    /// is there.
    void (*reference)(double *out, const graph_node *n, const double *const *in);
    void (*fast)(float *out, const graph_node *n, const float *const *in, bool accumulate,
                 float *scratch);
    int64_t (*scratch)(const graph_node *n); // floats
    bool accumulates;
    double (*flops)(const graph_node *n);
} op_kind_info;

const op_kind_info *op_info(int op);
bool op_elementwise(int op);
/// Checks the inputs and completes shape and attributes.
plumb_status op_shape(tensor_shape *out, op_attr *attr, int op, int inputs, graph_node *const *in);

// Leaves: values given before a stage of the program runs, parameters, which are read where they
// are kept, and numbers known now.
graph_node *op_input(graph *g, const char *name, int stage, int rank, const int64_t *size);
graph_node *op_parameter(graph *g, const char *name, int rank, const int64_t *size);
graph_node *op_constant(graph *g, double value, const tensor_shape *s);
graph_node *op_zeros_like(graph *g, const graph_node *x);

graph_node *op_add(graph *g, graph_node *a, graph_node *b);
graph_node *op_subtract(graph *g, graph_node *a, graph_node *b);
graph_node *op_multiply(graph *g, graph_node *a, graph_node *b);
graph_node *op_divide(graph *g, graph_node *a, graph_node *b);
graph_node *op_scale(graph *g, graph_node *x, double factor);
graph_node *op_add_scalar(graph *g, graph_node *x, double by);
graph_node *op_square(graph *g, graph_node *x);
graph_node *op_exp(graph *g, graph_node *x);
graph_node *op_log(graph *g, graph_node *x);
graph_node *op_sqrt(graph *g, graph_node *x);
graph_node *op_reciprocal(graph *g, graph_node *x);
graph_node *op_sin(graph *g, graph_node *x);
graph_node *op_cos(graph *g, graph_node *x);
graph_node *op_tanh(graph *g, graph_node *x);
graph_node *op_sigmoid(graph *g, graph_node *x);
graph_node *op_softplus(graph *g, graph_node *x);
graph_node *op_swish(graph *g, graph_node *x); /// x sigmoid(x)
graph_node *op_erf(graph *g, graph_node *x);
graph_node *op_atan2(graph *g, graph_node *y,
                     graph_node *x);          /// the angle of (x, y), from -pi to pi
graph_node *op_gelu(graph *g, graph_node *x); /// x (1 + erf(x / sqrt 2)) / 2
graph_node *op_elu(graph *g, graph_node *x);  /// x, or exp(x) - 1 below 0
graph_node *op_maximum(graph *g, graph_node *a, graph_node *b);
graph_node *op_leaky_relu(graph *g, graph_node *x, double slope); /// slope 0 is ReLU
graph_node *op_leaky_relu_grad(graph *g, graph_node *x,
                               double slope); /// its derivative: 1 above, slope below

/// The sum of many arrays of one shape: what products add to it goes straight into its memory.
graph_node *op_add_n(graph *g, graph_node *const *x, int count);

/// op(a) op(b), each a matrix or its transpose.
graph_node *op_matmul(graph *g, graph_node *a, graph_node *b, bool ta, bool tb);
graph_node *op_transpose(graph *g, graph_node *x); /// of a matrix
/// op(a) op(b) of each item: (items, n, k) times (items, k, m).
graph_node *op_batch_matmul(graph *g, graph_node *a, graph_node *b, bool ta, bool tb);
/// x (items, n) with op(a) x = b, a (items, n, n), n up to 64.
graph_node *op_batch_solve(graph *g, graph_node *a, graph_node *b, bool ta);
/// The upper triangle (items, n (n + 1) / 2), row after row, as a matrix (items, n, n); and back.
graph_node *op_fill_upper(graph *g, graph_node *x, int64_t n);
graph_node *op_take_upper(graph *g, graph_node *x);
/// (items, n, n), 1 on the diagonal.
graph_node *op_identity(graph *g, int64_t items, int64_t n);
/// x (.., in) times w (in, out) plus bias (out).
graph_node *op_dense(graph *g, graph_node *x, graph_node *w, graph_node *bias);

typedef enum op_padding { OP_SAME, OP_VALID, OP_CENTRED } op_padding;
/// Cross-correlation. SAME pads as TensorFlow and XLA do: the odd zero goes after. CENTRED pads
/// kernel / 2 zeros on every side, as is usual in PyTorch.
graph_node *op_conv(graph *g, graph_node *x, graph_node *w, int stride, op_padding padding);
/// Nearest x2 upsampling, then 3x3 SAME, without ever making the large map.
graph_node *op_upconv(graph *g, graph_node *x, graph_node *w);
graph_node *op_upsample(graph *g, graph_node *x);  /// nearest, x2
graph_node *op_sum_pool2(graph *g, graph_node *x); /// its transpose: sums of 2x2
/// x plus bias (channels) at every place.
graph_node *op_bias(graph *g, graph_node *x, graph_node *bias);

graph_node *op_reshape(graph *g, graph_node *x, int rank, const int64_t *size);
graph_node *op_slice(graph *g, graph_node *x, int axis, int64_t start, int64_t count);
/// Zeros of `size` along `axis`, with x at `start`: the transpose of a slice.
graph_node *op_pad_slice(graph *g, graph_node *x, int axis, int64_t start, int64_t size);
graph_node *op_concat(graph *g, graph_node *const *x, int count, int axis);
/// New axes of the given sizes before `axis`, x repeated along them.
graph_node *op_broadcast(graph *g, graph_node *x, int axis, int axes, const int64_t *size);
/// The sum over `axes` axes from `axis` on, which disappear.
graph_node *op_sum(graph *g, graph_node *x, int axis, int axes);
/// Scalar or smaller x spread over the shape of `like`: its axes are the last ones of `like`.
graph_node *op_broadcast_like(graph *g, graph_node *x, const graph_node *like);
/// Sum over all axes but the first.
graph_node *op_sum_per_item(graph *g, graph_node *x);
/// (x - mean) / sqrt(variance + epsilon) over all axes but the first, times gain plus bias.
graph_node *op_layer_norm(graph *g, graph_node *x, graph_node *gain, graph_node *bias,
                          double epsilon);

#endif
