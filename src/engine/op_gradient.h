// SPDX-License-Identifier: MIT
// The gradient rules of the table in op_table.c: d[i] = contribution to the cotangent of input i of
// y, whose own cotangent is dy; what a rule leaves NULL gets none.
#ifndef ENGINE_OP_GRADIENT_H
#define ENGINE_OP_GRADIENT_H

#include "engine/op.h"

typedef void op_rule(graph *g, node **d, node *y, node *dy);
op_rule rule_add, rule_subtract, rule_multiply, rule_divide, rule_scale, rule_shift, rule_exp,
    rule_log, rule_sqrt, rule_reciprocal, rule_sin, rule_cos, rule_tanh, rule_sigmoid,
    rule_softplus, rule_swish, rule_swish1, rule_swish2, rule_erf, rule_atan2, rule_leaky,
    rule_step, rule_total, rule_matmul, rule_conv, rule_conv_data, rule_conv_weights, rule_upconv,
    rule_upconv_data, rule_upconv_weights, rule_upsample, rule_downsum, rule_reshape, rule_slice,
    rule_embed, rule_concat, rule_broadcast, rule_sum, rule_transpose, rule_products, rule_solve,
    rule_upper, rule_triangle;

#endif
