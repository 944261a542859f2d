// SPDX-License-Identifier: MIT
// Batches of small matrices, one per item: products, systems of equations, upper triangles; in
// float and as references in double.
#ifndef ENGINE_OP_BATCHED_H
#define ENGINE_OP_BATCHED_H

#include "engine/op_fast.h"
#include "engine/op_reference.h"

enum { OP_MAX_SOLVE_SIZE = 64 }; // equations of a system

op_reference_function op_reference_batch_matmul, op_reference_batch_solve, op_reference_fill_upper,
    op_reference_take_upper;
op_fast_function op_fast_batch_matmul, op_fast_batch_solve, op_fast_fill_upper, op_fast_take_upper;
int64_t op_fast_batch_matmul_scratch(const graph_node *node);

#endif
