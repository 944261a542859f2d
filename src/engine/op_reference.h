// SPDX-License-Identifier: MIT
// Reference implementations: what each operation means, in double and plain loops. They are the
// definition, the form in which gradients are compared with golden files, and what every fast
// kernel is tested against.
#ifndef ENGINE_OP_REFERENCE_H
#define ENGINE_OP_REFERENCE_H

#include "engine/graph.h"

typedef void op_reference_function(double *out, const graph_node *node, const double *const *in);
op_reference_function op_reference_constant, op_reference_add_n, op_reference_matmul,
    op_reference_conv, op_reference_conv_grad_input, op_reference_conv_grad_weights,
    op_reference_upconv, op_reference_upconv_grad_input, op_reference_upconv_grad_weights,
    op_reference_upsample, op_reference_sum_pool2, op_reference_reshape, op_reference_slice,
    op_reference_pad_slice, op_reference_concat, op_reference_broadcast, op_reference_sum;

#endif
