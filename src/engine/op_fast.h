// SPDX-License-Identifier: MIT
// The operations that are not elementwise, in float: products and convolutions handed on to their
// kernels, and numbers moved in long runs.
#ifndef ENGINE_OP_FAST_H
#define ENGINE_OP_FAST_H

#include "engine/graph.h"

/// Those that accumulate add to what is in `out` if asked to; the others never are.
typedef void op_fast_function(float *out, const graph_node *n, const float *const *in,
                              bool accumulate, float *scratch);
op_fast_function op_fast_constant, op_fast_matmul, op_fast_conv, op_fast_conv_grad_input,
    op_fast_conv_grad_weights, op_fast_upconv, op_fast_upconv_grad_input,
    op_fast_upconv_grad_weights, op_fast_upsample, op_fast_sum_pool2, op_fast_reshape,
    op_fast_slice, op_fast_pad_slice, op_fast_concat, op_fast_broadcast, op_fast_sum,
    op_fast_transpose;

int64_t op_fast_matmul_scratch(const graph_node *n);
int64_t op_fast_conv_scratch(const graph_node *n);
int64_t op_fast_upconv_scratch(const graph_node *n);

#endif
