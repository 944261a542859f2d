// SPDX-License-Identifier: MIT
// Small matrices, one an item: products, systems of equations, upper triangles. Each has a judge.
#ifndef ENGINE_OP_BATCHED_H
#define ENGINE_OP_BATCHED_H

#include "engine/op_fast.h"
#include "engine/op_reference.h"

enum { SMALL_SIDE = 64 }; // of a system of equations

judge judge_products, judge_solve, judge_upper, judge_triangle;
fast fast_products, fast_solve, fast_upper, fast_triangle;
int64_t fast_products_scratch(const node *n);

#endif
