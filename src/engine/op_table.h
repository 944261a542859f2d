// SPDX-License-Identifier: MIT
// The table of operations: for each its shape rule, its gradient, its reference in double and its
// fast kernel. A new operation is one entry of OP_LIST (graph.h), one entry of the table
// (op_table.c) and one function that makes its node (op.h).
#ifndef ENGINE_OP_TABLE_H
#define ENGINE_OP_TABLE_H

#include "engine/graph.h"

/// What the engine knows of an operation.
typedef struct op_kind_info {
    const char *name; ///< For messages.
    int inputs;       ///< Number of inputs. -1: one or more.
    /// Checks the inputs' shapes and completes the output's shape and the attributes.
    plumb_status (*infer_shape)(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                int inputs);
    /// d[i] = contribution to the cotangent of input i; NULL where there is none. `y` is the node,
    /// `dy` its cotangent. NULL: the operation has no inputs.
    void (*gradient)(graph *g, graph_node **d, graph_node *y, graph_node *dy);
    /// Elementwise operations: one element, in double. NULL for all others.
    double (*scalar)(const op_attr *attr, const double *x);
    /// All others: the reference in double, and the fast kernel.
    void (*reference)(double *out, const graph_node *node, const double *const *in);
    void (*fast)(float *out, const graph_node *node, const float *const *in, bool accumulate,
                 float *scratch);
    int64_t (*scratch)(const graph_node *node); ///< Floats of scratch memory. NULL: none.
    bool accumulates;                           ///< The fast kernel can add to `out`.
    double (*flops)(const graph_node *node);    ///< Floating-point operations. NULL: not counted.
} op_kind_info;

const op_kind_info *op_info(op_kind op);
bool op_elementwise(op_kind op);
/// Checks the inputs and completes shape and attributes. Fails with PLUMB_ESHAPE.
plumb_status op_infer_shape(tensor_shape *out, op_attr *attr, op_kind op, int inputs,
                            graph_node *const *in);

#endif
