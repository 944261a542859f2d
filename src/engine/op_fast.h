// SPDX-License-Identifier: MIT
// The operations that are not elementwise, in float: products and convolutions call their kernels,
// the others copy memory in long runs.
#ifndef ENGINE_OP_FAST_H
#define ENGINE_OP_FAST_H

#include "engine/graph.h"

/// `in` holds the inputs of the node. Kernels with op_kind_info.accumulates add to `out` if
/// `accumulate`; for all others it is false. `scratch` holds op_kind_info.scratch() floats.
typedef void op_fast_function(float *out, const graph_node *node, const float *const *in,
                              bool accumulate, float *scratch);
op_fast_function op_fast_constant, op_fast_matmul, op_fast_conv, op_fast_conv_grad_input,
    op_fast_conv_grad_weights, op_fast_upconv, op_fast_upconv_grad_input,
    op_fast_upconv_grad_weights, op_fast_upsample, op_fast_sum_pool2, op_fast_reshape,
    op_fast_slice, op_fast_pad_slice, op_fast_concat, op_fast_broadcast, op_fast_sum;

int64_t op_fast_matmul_scratch(const graph_node *node);
/// Products with a parameter that is packed ahead (gemm_pack). 0: the kernel takes it as it is.
int64_t op_fast_matmul_packed_size(const graph_node *node);
void op_fast_matmul_pack(float *packed, const graph_node *node, const float *b);
void op_fast_matmul_packed(float *out, const graph_node *node, const float *a, const float *packed,
                           bool accumulate);
/// The sum of `parts` products of the node's sizes; `in` holds two inputs for each.
void op_fast_matmul_sum(float *out, const graph_node *node, const float *const *in, int parts,
                        bool accumulate, float *scratch);
int64_t op_fast_matmul_sum_scratch(const graph_node *node, int parts);
int64_t op_fast_conv_scratch(const graph_node *node);
int64_t op_fast_upconv_scratch(const graph_node *node);

#endif
