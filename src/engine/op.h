// SPDX-License-Identifier: MIT
// Functions that make the nodes of a graph: models are written in these.
//
// Arrays are row-major; images are (n, height, width, channels), weights of convolutions (height,
// width, in, out), weights of dense layers (in, out). Elementwise operations take equal shapes.
// What is smaller is broadcast first, which costs nothing when the program runs. A wrong shape is
// an error of the graph, see graph_status().
#ifndef ENGINE_OP_H
#define ENGINE_OP_H

#include "engine/graph.h"

// ---- leaves and constants ----

/// A value that is written before `stage` of the program runs.
/// A value that is read where the caller keeps it (instance_bind).
graph_node *op_input(graph *g, const char *name, int stage, int rank, const int64_t *size);
/// The same number for every element.
graph_node *op_parameter(graph *g, const char *name, int rank, const int64_t *size);
graph_node *op_constant(graph *g, double value, const tensor_shape *shape);
graph_node *op_zeros_like(graph *g, const graph_node *x);

// ---- elementwise ----

graph_node *op_add(graph *g, graph_node *a, graph_node *b);
graph_node *op_subtract(graph *g, graph_node *a, graph_node *b);
graph_node *op_multiply(graph *g, graph_node *a, graph_node *b);
graph_node *op_divide(graph *g, graph_node *a, graph_node *b);
graph_node *op_scale(graph *g, graph_node *x, double factor);
graph_node *op_add_scalar(graph *g, graph_node *x, double summand);
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
/// x sigmoid(x)
graph_node *op_swish(graph *g, graph_node *x);
graph_node *op_erf(graph *g, graph_node *x);
/// Angle of the point (x, y), from -pi to pi.
graph_node *op_atan2(graph *g, graph_node *y, graph_node *x);
/// x (1 + erf(x / sqrt 2)) / 2
graph_node *op_gelu(graph *g, graph_node *x);
/// x above 0, exp(x) - 1 below.
graph_node *op_elu(graph *g, graph_node *x);
graph_node *op_maximum(graph *g, graph_node *a, graph_node *b);
/// x above 0, slope * x below. Slope 0 is a ReLU.
graph_node *op_leaky_relu(graph *g, graph_node *x, double slope);
/// The derivative of op_leaky_relu(): 1 above 0, slope below.
graph_node *op_leaky_relu_grad(graph *g, graph_node *x, double slope);

// ---- sums and matrices ----

/// The sum of many arrays of one shape. Products that are added to it write to its memory directly.
graph_node *op_add_n(graph *g, graph_node *const *x, int count);
/// op(a) op(b), where op() transposes if ta, tb.
graph_node *op_matmul(graph *g, graph_node *a, graph_node *b, bool ta, bool tb);
/// Products of each item: (items, n, k) times (items, k, m).
graph_node *op_batch_matmul(graph *g, graph_node *a, graph_node *b, bool ta, bool tb);
/// x (items, n) with op(a) x = b for a (items, n, n); n at most OP_MAX_SOLVE_SIZE, 64.
graph_node *op_batch_solve(graph *g, graph_node *a, graph_node *b, bool ta);
/// Upper triangles (items, n (n + 1) / 2), row by row, to matrices (items, n, n).
graph_node *op_fill_upper(graph *g, graph_node *x, int64_t n);
/// Matrices (items, n, n) to their upper triangles (items, n (n + 1) / 2).
graph_node *op_take_upper(graph *g, graph_node *x);
/// Identity matrices (items, n, n).
graph_node *op_identity(graph *g, int64_t items, int64_t n);
/// x (.., in) times w (in, out) plus bias (out).
graph_node *op_dense(graph *g, graph_node *x, graph_node *w, graph_node *bias);

// ---- images ----

/// Zeros around an image before a convolution.
typedef enum op_padding {
    OP_SAME,    ///< As TensorFlow and XLA: an odd number of zeros has one more after the image.
    OP_VALID,   ///< None.
    OP_CENTRED, ///< kernel / 2 on every side, as is usual in PyTorch.
} op_padding;
/// Cross-correlation (no flip) of x (n, h, w, in) with w (kh, kw, in, out).
graph_node *op_conv(graph *g, graph_node *x, graph_node *w, int stride, op_padding padding);
/// Nearest-neighbour upsampling by 2, then a 3x3 convolution with OP_SAME, without making the
/// upsampled image.
graph_node *op_upconv(graph *g, graph_node *x, graph_node *w);
/// Nearest-neighbour upsampling by 2.
graph_node *op_upsample(graph *g, graph_node *x);
/// Sums of 2x2 pixels: the transpose of op_upsample().
graph_node *op_sum_pool2(graph *g, graph_node *x);
/// x plus bias (channels) at every pixel.
graph_node *op_bias(graph *g, graph_node *x, graph_node *bias);

// ---- axes ----

graph_node *op_reshape(graph *g, graph_node *x, int rank, const int64_t *size);
/// Indices start .. start+count-1 along `axis`.
graph_node *op_slice(graph *g, graph_node *x, int axis, int64_t start, int64_t count);
/// Zeros with `size` indices along `axis`, and x from `start` on: the transpose of a slice.
graph_node *op_pad_slice(graph *g, graph_node *x, int axis, int64_t start, int64_t size);
graph_node *op_concat(graph *g, graph_node *const *x, int count, int axis);
/// Repeats x along `axes` new axes of the given sizes, inserted before `axis`.
graph_node *op_broadcast(graph *g, graph_node *x, int axis, int axes, const int64_t *size);
/// Broadcasts x to the shape of `like`; the axes of x are the last ones of `like`.
graph_node *op_broadcast_like(graph *g, graph_node *x, const graph_node *like);
/// Sums over the axes axis .. axis+axes-1, which disappear.
graph_node *op_sum(graph *g, graph_node *x, int axis, int axes);
/// Sums over all axes but the first.
graph_node *op_sum_per_item(graph *g, graph_node *x);
/// (x - mean) / sqrt(variance + epsilon) over all axes but the first, times gain, plus bias.
graph_node *op_layer_norm(graph *g, graph_node *x, graph_node *gain, graph_node *bias,
                          double epsilon);

#endif
