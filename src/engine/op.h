// SPDX-License-Identifier: MIT
// The operations. A model is written in these; op_table.c has their table.
//
// Shapes are row-major, images (n, height, width, channels), weights of convolutions (height,
// width, in, out), of dense layers (in, out). Elementwise operations take equal shapes; whatever is
// smaller is broadcast first, which costs nothing when the program runs.
#ifndef ENGINE_OP_H
#define ENGINE_OP_H

#include "engine/graph.h"

// clang-format off
#define OP_LIST(OP)                                                                           \
    OP(LEAF) OP(CONSTANT)                                                                     \
    /* elementwise */                                                                         \
    OP(ADD) OP(SUBTRACT) OP(MULTIPLY) OP(DIVIDE) OP(SCALE) OP(ADD_SCALAR)                     \
    OP(EXP) OP(LOG) OP(SQRT) OP(RECIPROCAL) OP(SIN) OP(COS) OP(TANH) OP(SIGMOID) OP(SOFTPLUS) \
    OP(SWISH) OP(SWISH1) OP(SWISH2) OP(ERF) OP(ATAN2) OP(LEAKY_RELU) OP(LEAKY_RELU_GRAD)      \
    /* sums of many, products, convolutions and their transposes */                           \
    OP(ADD_N) OP(MATMUL)                                                                      \
    OP(CONV) OP(CONV_DATA) OP(CONV_WEIGHTS) OP(UPCONV) OP(UPCONV_DATA) OP(UPCONV_WEIGHTS)     \
    OP(UPSAMPLE) OP(SUM_POOL2)                                                                \
    /* small matrices, one an item */                                                         \
    OP(BATCH_MATMUL) OP(BATCH_SOLVE) OP(FILL_UPPER) OP(TAKE_UPPER)                            \
    /* moving numbers */                                                                      \
    OP(RESHAPE) OP(SLICE) OP(PAD_SLICE) OP(CONCAT) OP(BROADCAST) OP(SUM) OP(TRANSPOSE)
// clang-format on

#define OP_ENUM(name) OP_##name,
typedef enum op_kind { OP_LIST(OP_ENUM) OP_KINDS } op_kind;
#undef OP_ENUM

/// What the table knows of an operation.
typedef struct op_row {
    const char *name;
    int inputs; // -1: one or more
    plumb_status (*shape)(shape *out, op_attr *attr, node *const *in, int inputs);
    /// d[i] = contribution to the cotangent of input i, NULL where there is none. `y` is the node,
    /// `dy` its cotangent.
    void (*gradient)(graph *g, node **d, node *y, node *dy);
    /// Elementwise operations: the value at one place, in double.
    double (*scalar)(const op_attr *attr, const double *x);
    /// The others: the judge, in double, and the fast kernel. Those that accumulate can add to what
    /// is there.
    void (*reference)(double *out, const node *n, const double *const *in);
    void (*fast)(float *out, const node *n, const float *const *in, bool accumulate,
                 float *scratch);
    int64_t (*scratch)(const node *n); // floats
    bool accumulates;
    double (*flops)(const node *n);
} op_row;

const op_row *op_table(int op);
bool op_elementwise(int op);
/// Checks the inputs and completes shape and attributes.
plumb_status op_shape(shape *out, op_attr *attr, int op, int inputs, node *const *in);

// Leaves: values given before a stage of the program runs, parameters, which are read where they
// are kept, and numbers known now.
node *op_input(graph *g, const char *name, int stage, int rank, const int64_t *size);
node *op_parameter(graph *g, const char *name, int rank, const int64_t *size);
node *op_constant(graph *g, double value, const shape *s);
node *op_zeros_like(graph *g, const node *x);

node *op_add(graph *g, node *a, node *b);
node *op_subtract(graph *g, node *a, node *b);
node *op_multiply(graph *g, node *a, node *b);
node *op_divide(graph *g, node *a, node *b);
node *op_scale(graph *g, node *x, double factor);
node *op_add_scalar(graph *g, node *x, double by);
node *op_square(graph *g, node *x);
node *op_exp(graph *g, node *x);
node *op_log(graph *g, node *x);
node *op_sqrt(graph *g, node *x);
node *op_reciprocal(graph *g, node *x);
node *op_sin(graph *g, node *x);
node *op_cos(graph *g, node *x);
node *op_tanh(graph *g, node *x);
node *op_sigmoid(graph *g, node *x);
node *op_softplus(graph *g, node *x);
node *op_swish(graph *g, node *x); /// x sigmoid(x)
node *op_erf(graph *g, node *x);
node *op_atan2(graph *g, node *y, node *x); /// the angle of (x, y), from -pi to pi
node *op_gelu(graph *g, node *x);           /// x (1 + erf(x / sqrt 2)) / 2
node *op_elu(graph *g, node *x);            /// x, or exp(x) - 1 below 0
node *op_maximum(graph *g, node *a, node *b);
node *op_leaky_relu(graph *g, node *x, double slope);      /// slope 0 is ReLU
node *op_leaky_relu_grad(graph *g, node *x, double slope); /// its derivative: 1 above, slope below

/// The sum of many arrays of one shape: what products add to it goes straight into its memory.
node *op_add_n(graph *g, node *const *x, int count);

/// op(a) op(b), each a matrix or its transpose.
node *op_matmul(graph *g, node *a, node *b, bool ta, bool tb);
node *op_transpose(graph *g, node *x); /// of a matrix
/// op(a) op(b) of each item: (items, n, k) times (items, k, m).
node *op_batch_matmul(graph *g, node *a, node *b, bool ta, bool tb);
/// x (items, n) with op(a) x = b, a (items, n, n), n up to 64.
node *op_batch_solve(graph *g, node *a, node *b, bool ta);
/// The upper triangle (items, n (n + 1) / 2), row after row, as a matrix (items, n, n); and back.
node *op_fill_upper(graph *g, node *x, int64_t n);
node *op_take_upper(graph *g, node *x);
/// (items, n, n), 1 on the diagonal.
node *op_identity(graph *g, int64_t items, int64_t n);
/// x (.., in) times w (in, out) plus bias (out).
node *op_dense(graph *g, node *x, node *w, node *bias);

typedef enum op_padding { OP_SAME, OP_VALID, OP_CENTRED } op_padding;
/// Cross-correlation. SAME pads as TensorFlow and XLA do: the odd zero goes after. CENTRED pads
/// kernel / 2 zeros on every side, as is usual in PyTorch.
node *op_conv(graph *g, node *x, node *w, int stride, op_padding padding);
/// Nearest x2 upsampling, then 3x3 SAME, without ever making the large map.
node *op_upconv(graph *g, node *x, node *w);
node *op_upsample(graph *g, node *x);  /// nearest, x2
node *op_sum_pool2(graph *g, node *x); /// its transpose: sums of 2x2
/// x plus bias (channels) at every place.
node *op_bias(graph *g, node *x, node *bias);

node *op_reshape(graph *g, node *x, int rank, const int64_t *size);
node *op_slice(graph *g, node *x, int axis, int64_t start, int64_t count);
/// Zeros of `size` along `axis`, with x at `start`: the transpose of a slice.
node *op_pad_slice(graph *g, node *x, int axis, int64_t start, int64_t size);
node *op_concat(graph *g, node *const *x, int count, int axis);
/// New axes of the given sizes before `axis`, x repeated along them.
node *op_broadcast(graph *g, node *x, int axis, int axes, const int64_t *size);
/// The sum over `axes` axes from `axis` on, which disappear.
node *op_sum(graph *g, node *x, int axis, int axes);
/// Scalar or smaller x spread over the shape of `like`: its axes are the last ones of `like`.
node *op_broadcast_like(graph *g, node *x, const node *like);
/// Sum over all axes but the first.
node *op_sum_per_item(graph *g, node *x);
/// (x - mean) / sqrt(variance + epsilon) over all axes but the first, times gain plus bias.
node *op_layer_norm(graph *g, node *x, node *gain, node *bias, double epsilon);

#endif
