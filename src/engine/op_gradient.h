// SPDX-License-Identifier: MIT
// The gradient rules of the table in op_table.c: d[i] = contribution to the cotangent of input i of
// the node y, whose own cotangent is dy. An input whose d[i] stays NULL gets none.
#ifndef ENGINE_OP_GRADIENT_H
#define ENGINE_OP_GRADIENT_H

#include "engine/graph.h"

typedef void op_gradient_function(graph *g, graph_node **d, graph_node *y, graph_node *dy);
op_gradient_function op_gradient_add, op_gradient_subtract, op_gradient_multiply,
    op_gradient_divide, op_gradient_scale, op_gradient_add_scalar, op_gradient_exp, op_gradient_log,
    op_gradient_sqrt, op_gradient_reciprocal, op_gradient_sin, op_gradient_cos, op_gradient_tanh,
    op_gradient_sigmoid, op_gradient_softplus, op_gradient_swish, op_gradient_swish_grad,
    op_gradient_swish_grad2, op_gradient_erf, op_gradient_atan2, op_gradient_leaky_relu,
    op_gradient_leaky_relu_grad, op_gradient_add_n, op_gradient_matmul, op_gradient_conv,
    op_gradient_conv_grad_input, op_gradient_conv_grad_weights, op_gradient_upconv,
    op_gradient_upconv_grad_input, op_gradient_upconv_grad_weights, op_gradient_upsample,
    op_gradient_sum_pool2, op_gradient_reshape, op_gradient_slice, op_gradient_pad_slice,
    op_gradient_concat, op_gradient_broadcast, op_gradient_sum, op_gradient_batch_matmul,
    op_gradient_batch_solve, op_gradient_fill_upper, op_gradient_take_upper;

#endif
