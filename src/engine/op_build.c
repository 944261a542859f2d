// SPDX-License-Identifier: MIT
// Makes nodes: one function per operation, and a few that combine others. Simple cases are folded
// here (x + 0, x * constant, reshape of reshape), so that gradients stay small.
#include "engine/op.h"

#include <string.h>

#include "engine/op_table.h"

static graph_node *make_unary(graph *g, op_kind op, graph_node *x, double value)
{
    return graph_make_node(g, op, 1, &x, &(op_attr){.value = value}, NULL);
}

static graph_node *make_binary(graph *g, op_kind op, graph_node *a, graph_node *b)
{
    return graph_make_node(g, op, 2, (graph_node *[]){a, b}, &(op_attr){0}, NULL);
}

static bool is_constant(const graph_node *x, double value)
{
    return x->op == OP_CONSTANT && x->attr.value == value;
}

static tensor_shape make_shape(int rank, const int64_t *size)
{
    tensor_shape shape = {.rank = rank};
    if (rank) memcpy(shape.size, size, (size_t)rank * sizeof *size); // a scalar has no sizes
    return shape;
}

// ---- leaves and constants ----

graph_node *op_input(graph *g, const char *name, int stage, int rank, const int64_t *size)
{
    tensor_shape shape = make_shape(rank, size);
    return graph_make_leaf(g, name, &shape, stage, false);
}

graph_node *op_parameter(graph *g, const char *name, int rank, const int64_t *size)
{
    tensor_shape shape = make_shape(rank, size);
    return graph_make_leaf(g, name, &shape, 0, true);
}

graph_node *op_constant(graph *g, double value, const tensor_shape *shape)
{
    return graph_make_node(g, OP_CONSTANT, 0, NULL, &(op_attr){.value = value}, shape);
}

graph_node *op_zeros_like(graph *g, const graph_node *x)
{
    return op_constant(g, 0.0, &x->shape);
}

// Constants are folded only where the shapes agree; where they do not, making the node reports it.
graph_node *op_add(graph *g, graph_node *a, graph_node *b)
{
    if (!shape_equal(&a->shape, &b->shape)) return make_binary(g, OP_ADD, a, b);
    if (is_constant(a, 0.0)) return b;
    if (is_constant(b, 0.0)) return a;
    return make_binary(g, OP_ADD, a, b);
}

graph_node *op_subtract(graph *g, graph_node *a, graph_node *b)
{
    if (is_constant(b, 0.0) && shape_equal(&a->shape, &b->shape)) return a;
    return make_binary(g, OP_SUBTRACT, a, b);
}

graph_node *op_multiply(graph *g, graph_node *a, graph_node *b)
{
    if (!shape_equal(&a->shape, &b->shape)) return make_binary(g, OP_MULTIPLY, a, b);
    if (a->op == OP_CONSTANT) return op_scale(g, b, a->attr.value);
    if (b->op == OP_CONSTANT) return op_scale(g, a, b->attr.value);
    return make_binary(g, OP_MULTIPLY, a, b);
}

// No folding here: x / constant is not exactly x times its reciprocal.
graph_node *op_divide(graph *g, graph_node *a, graph_node *b)
{
    return make_binary(g, OP_DIVIDE, a, b);
}

// Factors of constants and of scaled nodes are multiplied now.
graph_node *op_scale(graph *g, graph_node *x, double factor)
{
    if (factor == 1.0) return x;
    if (x->op == OP_CONSTANT) return op_constant(g, factor * x->attr.value, &x->shape);
    if (x->op == OP_SCALE) return op_scale(g, x->in[0], factor * x->attr.value);
    return make_unary(g, OP_SCALE, x, factor);
}

graph_node *op_add_scalar(graph *g, graph_node *x, double summand)
{
    return summand == 0.0 ? x : make_unary(g, OP_ADD_SCALAR, x, summand);
}

graph_node *op_square(graph *g, graph_node *x)
{
    return op_multiply(g, x, x);
}

graph_node *op_exp(graph *g, graph_node *x)
{
    return make_unary(g, OP_EXP, x, 0.0);
}

graph_node *op_log(graph *g, graph_node *x)
{
    return make_unary(g, OP_LOG, x, 0.0);
}

graph_node *op_sqrt(graph *g, graph_node *x)
{
    return make_unary(g, OP_SQRT, x, 0.0);
}

graph_node *op_reciprocal(graph *g, graph_node *x)
{
    return make_unary(g, OP_RECIPROCAL, x, 0.0);
}

graph_node *op_sin(graph *g, graph_node *x)
{
    return make_unary(g, OP_SIN, x, 0.0);
}

graph_node *op_cos(graph *g, graph_node *x)
{
    return make_unary(g, OP_COS, x, 0.0);
}

graph_node *op_tanh(graph *g, graph_node *x)
{
    return make_unary(g, OP_TANH, x, 0.0);
}

graph_node *op_sigmoid(graph *g, graph_node *x)
{
    return make_unary(g, OP_SIGMOID, x, 0.0);
}

graph_node *op_softplus(graph *g, graph_node *x)
{
    return make_unary(g, OP_SOFTPLUS, x, 0.0);
}

// Swish takes sigmoid(x) as its second input, so that its derivatives can share it.
graph_node *op_swish(graph *g, graph_node *x)
{
    return make_binary(g, OP_SWISH, x, op_sigmoid(g, x));
}

graph_node *op_erf(graph *g, graph_node *x)
{
    return make_unary(g, OP_ERF, x, 0.0);
}

graph_node *op_atan2(graph *g, graph_node *y, graph_node *x)
{
    return make_binary(g, OP_ATAN2, y, x);
}

// x (1 + erf(x / sqrt 2)) / 2
graph_node *op_gelu(graph *g, graph_node *x)
{
    graph_node *up = op_add_scalar(g, op_erf(g, op_scale(g, x, 0.70710678118654752)), 1.0);
    return op_scale(g, op_multiply(g, x, up), 0.5);
}

// x above 0, e^x - 1 below: max(x, 0) + exp(min(x, 0)) - 1, with min(x, 0) = x - max(x, 0). At
// exactly 0, where the slope of max(x, 0) is 0, this has the slope 1 of an ELU.
graph_node *op_elu(graph *g, graph_node *x)
{
    graph_node *above = op_leaky_relu(g, x, 0.0), *below = op_subtract(g, x, above);
    return op_add(g, above, op_add_scalar(g, op_exp(g, below), -1.0));
}

// a + max(b - a, 0)
graph_node *op_maximum(graph *g, graph_node *a, graph_node *b)
{
    return op_add(g, a, op_leaky_relu(g, op_subtract(g, b, a), 0.0));
}

graph_node *op_leaky_relu(graph *g, graph_node *x, double slope)
{
    return make_unary(g, OP_LEAKY_RELU, x, slope);
}

graph_node *op_leaky_relu_grad(graph *g, graph_node *x, double slope)
{
    return make_unary(g, OP_LEAKY_RELU_GRAD, x, slope);
}

// If at least two summands can be added in place, one node for all of them; else a chain.
graph_node *op_add_n(graph *g, graph_node *const *x, int count)
{
    int accumulated = 0;
    for (int i = 0; i < count; i++) accumulated += op_info(x[i]->op)->accumulates;
    if (accumulated >= 2) return graph_make_node(g, OP_ADD_N, count, x, &(op_attr){0}, NULL);
    graph_node *sum = x[0];
    for (int i = 1; i < count; i++) sum = op_add(g, sum, x[i]);
    return sum;
}

graph_node *op_matmul(graph *g, graph_node *a, graph_node *b, bool ta, bool tb)
{
    return graph_make_node(g, OP_MATMUL, 2, (graph_node *[]){a, b}, &(op_attr){.ta = ta, .tb = tb},
                           NULL);
}

graph_node *op_batch_matmul(graph *g, graph_node *a, graph_node *b, bool ta, bool tb)
{
    return graph_make_node(g, OP_BATCH_MATMUL, 2, (graph_node *[]){a, b},
                           &(op_attr){.ta = ta, .tb = tb}, NULL);
}

graph_node *op_batch_solve(graph *g, graph_node *a, graph_node *b, bool ta)
{
    return graph_make_node(g, OP_BATCH_SOLVE, 2, (graph_node *[]){a, b}, &(op_attr){.ta = ta},
                           NULL);
}

graph_node *op_fill_upper(graph *g, graph_node *x, int64_t n)
{
    tensor_shape want = {3, {x->shape.size[0], n, n}};
    return graph_make_node(g, OP_FILL_UPPER, 1, &x, &(op_attr){0}, &want);
}

graph_node *op_take_upper(graph *g, graph_node *x)
{
    return graph_make_node(g, OP_TAKE_UPPER, 1, &x, &(op_attr){0}, NULL);
}

// n rows of a 1 and n zeros, read as rows of n: the ones are on the diagonal.
graph_node *op_identity(graph *g, int64_t items, int64_t n)
{
    graph_node *one = op_constant(g, 1.0, &(tensor_shape){2, {n, 1}});
    graph_node *rest = op_constant(g, 0.0, &(tensor_shape){2, {n, n}});
    graph_node *flat = op_concat(g, (graph_node *[]){one, rest}, 2, 1);
    flat = op_slice(g, op_reshape(g, flat, 1, (int64_t[]){n * (n + 1)}), 0, 0, n * n);
    return op_broadcast(g, op_reshape(g, flat, 2, (int64_t[]){n, n}), 0, 1, &items);
}

graph_node *op_bias(graph *g, graph_node *x, graph_node *bias)
{
    return op_add(g, x, op_broadcast_like(g, bias, x));
}

graph_node *op_dense(graph *g, graph_node *x, graph_node *w, graph_node *bias)
{
    return op_bias(g, op_matmul(g, x, w, false, false), bias);
}

// Size of the output and zeros before the input, along one axis; see op_conv().
static void compute_padding(int64_t *out, int64_t *before, int64_t in, int64_t kernel,
                            int64_t stride, op_padding padding)
{
    *before = 0;
    *out = in < kernel ? 0 : (in - kernel) / stride + 1;
    if (padding == OP_VALID) return; // only whole windows
    if (padding == OP_CENTRED) {
        *before = kernel / 2;
        *out = (in + 2 * *before - kernel) / stride + 1;
        return;
    }
    // OP_SAME: ceil(in / stride) outputs, and half of the zeros before, rounded down.
    *out = (in + stride - 1) / stride;
    int64_t total = (*out - 1) * stride + kernel - in;
    if (total > 0) *before = total / 2;
}

// Completes the geometry: `upsampling` is 2 if x is upsampled first, else 1.
static graph_node *make_convolution(graph *g, op_kind op, graph_node *x, graph_node *w, int stride,
                                    op_padding padding, int upsampling)
{
    const int64_t *x_size = x->shape.size, *w_size = w->shape.size;
    conv_geometry conv = {.n = x_size[0],
                          .h = upsampling * x_size[1],
                          .w = upsampling * x_size[2],
                          .c = x_size[3],
                          .k = w_size[3],
                          .kh = w_size[0],
                          .kw = w_size[1],
                          .stride = stride};
    compute_padding(&conv.oh, &conv.top, conv.h, conv.kh, stride, padding);
    compute_padding(&conv.ow, &conv.left, conv.w, conv.kw, stride, padding);
    return graph_make_node(g, op, 2, (graph_node *[]){x, w}, &(op_attr){.conv = conv}, NULL);
}

graph_node *op_conv(graph *g, graph_node *x, graph_node *w, int stride, op_padding padding)
{
    return make_convolution(g, OP_CONV, x, w, stride, padding, 1);
}

graph_node *op_upconv(graph *g, graph_node *x, graph_node *w)
{
    return make_convolution(g, OP_UPCONV, x, w, 1, OP_SAME, 2);
}

graph_node *op_upsample(graph *g, graph_node *x)
{
    return make_unary(g, OP_UPSAMPLE, x, 0.0);
}

graph_node *op_sum_pool2(graph *g, graph_node *x)
{
    return make_unary(g, OP_SUM_POOL2, x, 0.0);
}

// ---- axes ----

// A reshape of a reshape is one reshape; of a constant, a constant.
graph_node *op_reshape(graph *g, graph_node *x, int rank, const int64_t *size)
{
    tensor_shape shape = make_shape(rank, size);
    if (shape_equal(&shape, &x->shape)) return x;
    if (x->op == OP_RESHAPE) return op_reshape(g, x->in[0], rank, size);
    if (x->op == OP_CONSTANT) return op_constant(g, x->attr.value, &shape);
    return graph_make_node(g, OP_RESHAPE, 1, &x, &(op_attr){0}, &shape);
}

// The shape of x with size `count` along `axis`; unchanged if there is no such axis.
static tensor_shape resize_axis(const graph_node *x, int axis, int64_t count)
{
    tensor_shape shape = x->shape;
    if (axis >= 0 && axis < shape.rank) shape.size[axis] = count;
    return shape;
}

// The whole axis is x itself; the same for padding by nothing.
graph_node *op_slice(graph *g, graph_node *x, int axis, int64_t start, int64_t count)
{
    tensor_shape shape = resize_axis(x, axis, count);
    if (axis >= 0 && axis < shape.rank && start == 0 && shape_equal(&shape, &x->shape)) return x;
    return graph_make_node(g, OP_SLICE, 1, &x, &(op_attr){.axis = axis, .start = start}, &shape);
}

graph_node *op_pad_slice(graph *g, graph_node *x, int axis, int64_t start, int64_t size)
{
    tensor_shape shape = resize_axis(x, axis, size);
    if (axis >= 0 && axis < shape.rank && start == 0 && shape_equal(&shape, &x->shape)) return x;
    return graph_make_node(g, OP_PAD_SLICE, 1, &x, &(op_attr){.axis = axis, .start = start},
                           &shape);
}

graph_node *op_concat(graph *g, graph_node *const *x, int count, int axis)
{
    if (count == 1) return x[0];
    return graph_make_node(g, OP_CONCAT, count, x, &(op_attr){.axis = axis}, NULL);
}

// Sizes: those of x, with the new ones inserted before `axis`.
graph_node *op_broadcast(graph *g, graph_node *x, int axis, int axes, const int64_t *size)
{
    if (!axes) return x;
    op_attr attr = {.axis = axis, .axes = axes};
    if (axis < 0 || axis > x->shape.rank || axes < 0 || x->shape.rank + axes > GRAPH_MAX_RANK)
        return graph_make_node(g, OP_BROADCAST, 1, &x, &attr, NULL); // reports the error
    tensor_shape shape = {.rank = x->shape.rank + axes};
    for (int i = 0; i < shape.rank; i++)
        shape.size[i] = i < axis          ? x->shape.size[i]
                        : i < axis + axes ? size[i - axis]
                                          : x->shape.size[i - axes];
    if (x->op == OP_CONSTANT) return op_constant(g, x->attr.value, &shape);
    return graph_make_node(g, OP_BROADCAST, 1, &x, &attr, &shape);
}

graph_node *op_sum(graph *g, graph_node *x, int axis, int axes)
{
    if (!axes) return x;
    return graph_make_node(g, OP_SUM, 1, &x, &(op_attr){.axis = axis, .axes = axes}, NULL);
}

graph_node *op_broadcast_like(graph *g, graph_node *x, const graph_node *like)
{
    return op_broadcast(g, x, 0, like->shape.rank - x->shape.rank, like->shape.size);
}

graph_node *op_sum_per_item(graph *g, graph_node *x)
{
    return op_sum(g, x, 1, x->shape.rank - 1);
}

// x (items) broadcast to the shape of `like` (items, ...).
static graph_node *broadcast_items(graph *g, graph_node *x, const graph_node *like)
{
    return op_broadcast(g, x, 1, like->shape.rank - 1, like->shape.size + 1);
}

// Layer normalisation: mean and variance over all axes but the first.
graph_node *op_layer_norm(graph *g, graph_node *x, graph_node *gain, graph_node *bias,
                          double epsilon)
{
    int64_t count = shape_count(&x->shape) / (x->shape.size[0] ? x->shape.size[0] : 1);
    double inverse_count = 1.0 / (double)count;
    graph_node *centred =
        op_subtract(g, x, broadcast_items(g, op_scale(g, op_sum_per_item(g, x), inverse_count), x));
    graph_node *variance = op_scale(g, op_sum_per_item(g, op_square(g, centred)), inverse_count);
    graph_node *scale = op_reciprocal(g, op_sqrt(g, op_add_scalar(g, variance, epsilon)));
    graph_node *y = op_multiply(g, centred, broadcast_items(g, scale, x));
    return op_add(g, op_multiply(g, y, op_broadcast_like(g, gain, x)),
                  op_broadcast_like(g, bias, x));
}
