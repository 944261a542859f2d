// SPDX-License-Identifier: MIT
// How each operation is differentiated. A rule builds nodes, and only of operations that have rules
// themselves, so every derivative can be differentiated again. Above each rule: the derivative.
#include "engine/op_gradient.h"

#include "engine/op.h"

// ---- elementwise ----

static graph_node *make_conv(graph *g, op_kind op, const graph_node *like, graph_node *a,
                             graph_node *b)
{
    return graph_make_node(g, op, 2, (graph_node *[]){a, b}, &(op_attr){.conv = like->attr.conv},
                           NULL);
}

void op_gradient_add(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    (void)g, (void)y;
    d[0] = d[1] = dy;
}

void op_gradient_subtract(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    (void)y;
    d[0] = dy;
    d[1] = op_scale(g, dy, -1.0);
}

void op_gradient_multiply(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_multiply(g, dy, y->in[1]);
    d[1] = op_multiply(g, dy, y->in[0]);
}

// y = a / b: da = dy / b, db = -da y.
void op_gradient_divide(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_divide(g, dy, y->in[1]);
    d[1] = op_scale(g, op_multiply(g, d[0], y), -1.0);
}

void op_gradient_scale(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_scale(g, dy, y->attr.value);
}

void op_gradient_add_scalar(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    (void)g, (void)y;
    d[0] = dy;
}

void op_gradient_exp(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_multiply(g, dy, y);
}

void op_gradient_log(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_divide(g, dy, y->in[0]);
}

// y = sqrt(x): dx = dy / (2 y).
void op_gradient_sqrt(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_divide(g, op_scale(g, dy, 0.5), y);
}

// y = 1 / x: dx = -dy y^2.
void op_gradient_reciprocal(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_scale(g, op_multiply(g, dy, op_square(g, y)), -1.0);
}

void op_gradient_sin(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_multiply(g, dy, op_cos(g, y->in[0]));
}

void op_gradient_cos(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_scale(g, op_multiply(g, dy, op_sin(g, y->in[0])), -1.0);
}

// y = tanh(x): dx = dy (1 - y^2).
void op_gradient_tanh(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_subtract(g, dy, op_multiply(g, dy, op_square(g, y)));
}

// y = sigmoid(x): dx = dy (y - y^2).
void op_gradient_sigmoid(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_multiply(g, dy, op_subtract(g, y, op_square(g, y)));
}

// y = log(1 + e^x): dx = dy sigmoid(x).
void op_gradient_softplus(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_multiply(g, dy, op_sigmoid(g, y->in[0]));
}

// Swish and its derivatives take x and s = sigmoid(x), so that s is computed once for all of them.
// s is not an independent variable: the whole derivative goes to x.
void op_gradient_swish(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_multiply(g, dy, graph_make_node(g, OP_SWISH_GRAD, 2, y->in, &(op_attr){0}, NULL));
}

void op_gradient_swish_grad(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_multiply(g, dy, graph_make_node(g, OP_SWISH_GRAD2, 2, y->in, &(op_attr){0}, NULL));
}

// Third derivative, with s' = s - s^2: f''' = 3 s'' + x s''', s'' = s' (1 - 2s), s''' = s'' (1 -
// 2s) - 2 s'^2.
void op_gradient_swish_grad2(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    graph_node *x = y->in[0], *s = y->in[1];
    graph_node *s1 = op_subtract(g, s, op_square(g, s));
    graph_node *slope = op_add_scalar(g, op_scale(g, s, -2.0), 1.0);
    graph_node *s2 = op_multiply(g, s1, slope);
    graph_node *s3 = op_subtract(g, op_multiply(g, s2, slope), op_scale(g, op_square(g, s1), 2.0));
    graph_node *f3 = op_add(g, op_scale(g, s2, 3.0), op_multiply(g, x, s3));
    d[0] = op_multiply(g, dy, f3);
}

// dx = dy 2 / sqrt(pi) exp(-x^2).
void op_gradient_erf(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    graph_node *gaussian = op_exp(g, op_scale(g, op_square(g, y->in[0]), -1.0));
    d[0] = op_multiply(g, dy, op_scale(g, gaussian, 1.1283791670955126));
}

// Angle of (b, a): da = dy b / (a^2 + b^2), db = -dy a / (a^2 + b^2). The 1e-12 makes both zero at
// the origin, which has no angle.
void op_gradient_atan2(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    graph_node *a = y->in[0], *b = y->in[1];
    graph_node *square = op_add_scalar(g, op_add(g, op_square(g, a), op_square(g, b)), 1e-12);
    graph_node *scaled = op_divide(g, dy, square);
    d[0] = op_multiply(g, scaled, b);
    d[1] = op_scale(g, op_multiply(g, scaled, a), -1.0);
}

// The slope follows from the sign of the output, which is that of the input; so the input need not
// stay in memory.
void op_gradient_leaky_relu(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_multiply(g, dy, op_leaky_relu_grad(g, y, y->attr.value));
}

// Piecewise constant: no gradient.
void op_gradient_leaky_relu_grad(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    (void)g, (void)d, (void)y, (void)dy;
}

// ---- sums and matrices ----

void op_gradient_add_n(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    (void)g;
    for (int i = 0; i < y->inputs; i++) d[i] = dy;
}

// C = op(A) op(B): dA = dC op(B)^T or, if A is stored transposed, op(B) dC^T; likewise dB.
void op_gradient_matmul(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    graph_node *a = y->in[0], *b = y->in[1];
    bool ta = y->attr.ta, tb = y->attr.tb;
    d[0] = ta ? op_matmul(g, b, dy, tb, true) : op_matmul(g, dy, b, false, !tb);
    d[1] = tb ? op_matmul(g, dy, a, true, ta) : op_matmul(g, a, dy, !ta, false);
}

// The same for each item.
void op_gradient_batch_matmul(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    graph_node *a = y->in[0], *b = y->in[1];
    bool ta = y->attr.ta, tb = y->attr.tb;
    d[0] = ta ? op_batch_matmul(g, b, dy, tb, true) : op_batch_matmul(g, dy, b, false, !tb);
    d[1] = tb ? op_batch_matmul(g, dy, a, true, ta) : op_batch_matmul(g, a, dy, !ta, false);
}

// A x = b: db = A^-T dx and dA = -db x^T, or its transpose if A is stored transposed.
void op_gradient_batch_solve(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    bool ta = y->attr.ta;
    int64_t column[] = {y->shape.size[0], y->shape.size[1], 1};
    d[1] = op_batch_solve(g, y->in[0], dy, !ta);
    graph_node *x = op_reshape(g, y, 3, column), *db = op_reshape(g, d[1], 3, column);
    d[0] = op_scale(g, op_batch_matmul(g, ta ? x : db, ta ? db : x, false, true), -1.0);
}

void op_gradient_fill_upper(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    (void)y;
    d[0] = op_take_upper(g, dy);
}

void op_gradient_take_upper(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_fill_upper(g, dy, y->in[0]->shape.size[1]);
}

// ---- convolutions ----

// y = conv(x, w), dx = grad_input(dy, w), dw = grad_weights(x, dy). Each is linear in both of its
// arguments, and the gradients of each are the other two.
void op_gradient_conv(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = make_conv(g, OP_CONV_GRAD_INPUT, y, dy, y->in[1]);
    d[1] = make_conv(g, OP_CONV_GRAD_WEIGHTS, y, y->in[0], dy);
}

void op_gradient_conv_grad_input(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = make_conv(g, OP_CONV, y, dy, y->in[1]);
    d[1] = make_conv(g, OP_CONV_GRAD_WEIGHTS, y, dy, y->in[0]);
}

void op_gradient_conv_grad_weights(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = make_conv(g, OP_CONV_GRAD_INPUT, y, y->in[1], dy);
    d[1] = make_conv(g, OP_CONV, y, y->in[0], dy);
}

void op_gradient_upconv(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = make_conv(g, OP_UPCONV_GRAD_INPUT, y, dy, y->in[1]);
    d[1] = make_conv(g, OP_UPCONV_GRAD_WEIGHTS, y, y->in[0], dy);
}

void op_gradient_upconv_grad_input(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = make_conv(g, OP_UPCONV, y, dy, y->in[1]);
    d[1] = make_conv(g, OP_UPCONV_GRAD_WEIGHTS, y, dy, y->in[0]);
}

void op_gradient_upconv_grad_weights(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = make_conv(g, OP_UPCONV_GRAD_INPUT, y, y->in[1], dy);
    d[1] = make_conv(g, OP_UPCONV, y, y->in[0], dy);
}

// ---- axes ----

void op_gradient_upsample(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    (void)y;
    d[0] = op_sum_pool2(g, dy);
}

void op_gradient_sum_pool2(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    (void)y;
    d[0] = op_upsample(g, dy);
}

void op_gradient_reshape(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    const tensor_shape *shape = &y->in[0]->shape;
    d[0] = op_reshape(g, dy, shape->rank, shape->size);
}

void op_gradient_slice(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    int axis = y->attr.axis;
    d[0] = op_pad_slice(g, dy, axis, y->attr.start, y->in[0]->shape.size[axis]);
}

void op_gradient_pad_slice(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    int axis = y->attr.axis;
    d[0] = op_slice(g, dy, axis, y->attr.start, y->in[0]->shape.size[axis]);
}

void op_gradient_concat(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    int axis = y->attr.axis;
    int64_t start = 0;
    for (int i = 0; i < y->inputs; i++) {
        int64_t count = y->in[i]->shape.size[axis];
        d[i] = op_slice(g, dy, axis, start, count);
        start += count;
    }
}

void op_gradient_broadcast(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_sum(g, dy, y->attr.axis, y->attr.axes);
}

void op_gradient_sum(graph *g, graph_node **d, graph_node *y, graph_node *dy)
{
    d[0] = op_broadcast(g, dy, y->attr.axis, y->attr.axes, y->in[0]->shape.size + y->attr.axis);
}
