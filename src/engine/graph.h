// SPDX-License-Identifier: MIT
// A graph of operations on arrays. Its gradients are graphs again, so a force dH/dq is an ordinary
// part of a model whose loss is differentiated once more.
//
// A node is made once: asking for the same operation on the same inputs returns the node that
// exists already, so gradients of shared parts cost nothing extra. Nodes belong to their graph.
//
// Making a node never fails at once. The graph keeps its first error, and every node made after it
// is a placeholder, so that a model reads like its formulas. Ask graph_status() at the end.
//
// Here and in op.h `g` is the graph.
#ifndef ENGINE_GRAPH_H
#define ENGINE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/kernels/conv.h"

enum { GRAPH_MAX_RANK = 5, SHAPE_TEXT_SIZE = 96 };

typedef struct graph graph;
typedef struct graph_node graph_node;

typedef struct tensor_shape {
    int rank;                     ///< Number of axes, 0 to GRAPH_MAX_RANK. 0: a scalar.
    int64_t size[GRAPH_MAX_RANK]; ///< Of each axis, row-major.
} tensor_shape;

// clang-format off
#define OP_LIST(OP)                                                                               \
    OP(LEAF) OP(CONSTANT)                                                                         \
    /* elementwise */                                                                             \
    OP(ADD) OP(SUBTRACT) OP(MULTIPLY) OP(DIVIDE) OP(SCALE) OP(ADD_SCALAR)                         \
    OP(EXP) OP(LOG) OP(SQRT) OP(RECIPROCAL) OP(SIN) OP(COS) OP(TANH) OP(SIGMOID) OP(SOFTPLUS)     \
    OP(SWISH) OP(SWISH_GRAD) OP(SWISH_GRAD2) OP(ERF) OP(ATAN2) OP(LEAKY_RELU) OP(LEAKY_RELU_GRAD) \
    /* sum of many arrays, matrix product, convolutions and their gradients */                    \
    OP(ADD_N) OP(MATMUL)                                                                          \
    OP(CONV) OP(CONV_GRAD_INPUT) OP(CONV_GRAD_WEIGHTS)                                            \
    OP(UPCONV) OP(UPCONV_GRAD_INPUT) OP(UPCONV_GRAD_WEIGHTS)                                      \
    OP(UPSAMPLE) OP(SUM_POOL2)                                                                    \
    /* batches of small matrices, one per item */                                                 \
    OP(BATCH_MATMUL) OP(BATCH_SOLVE) OP(FILL_UPPER) OP(TAKE_UPPER)                                \
    /* copies, broadcasts and sums */                                                             \
    OP(RESHAPE) OP(SLICE) OP(PAD_SLICE) OP(CONCAT) OP(BROADCAST) OP(SUM)
// clang-format on

#define OP_ENUM(name) OP_##name,
/// The operations. op.h makes nodes of them, op_table.c says what each one does.
typedef enum op_kind { OP_LIST(OP_ENUM) OP_KIND_COUNT } op_kind;
#undef OP_ENUM

/// The parameters of an operation. Each operation uses some of the fields; the others are zero.
typedef struct op_attr {
    double value;       ///< A constant, a factor, a summand or a slope.
    bool ta, tb;        ///< Matrix products: the first, the second matrix is stored transposed.
    bool bound;         ///< A leaf that is read where the caller keeps it: a parameter.
    int axis;           ///< First axis of a slice, a sum or a broadcast.
    int axes;           ///< Number of axes that a sum removes or a broadcast adds.
    int64_t start;      ///< First index of a slice.
    conv_geometry conv; ///< Convolutions.
} op_attr;

struct graph_node {
    op_kind op;
    int id; ///< Order of creation. Inputs have smaller ids than their users.
    int inputs;
    int stage; ///< The largest stage of its inputs; a leaf's own is given.
    graph_node **in;
    tensor_shape shape;
    op_attr attr;
    const char *name;      ///< Of a leaf; NULL for all others.
    graph_node *next_hash; ///< Next node in the same bucket of the graph's hash table.
};

/// Fails with PLUMB_EMEMORY.
plumb_status graph_create(graph **out);
/// `g` may be NULL.
void graph_free(graph *g);
/// PLUMB_OK or the first error, whose message is then the thread's last.
plumb_status graph_status(const graph *g);
/// Number of nodes.
int graph_size(const graph *g);
/// The node with this id, 0 <= id < graph_size().
graph_node *graph_get_node(const graph *g, int id);

/// Number of elements.
int64_t shape_count(const tensor_shape *shape);
bool shape_equal(const tensor_shape *a, const tensor_shape *b);
/// Writes "(2, 3)" into `text`, which has SHAPE_TEXT_SIZE bytes; returns `text`.
const char *shape_format(char *text, const tensor_shape *shape);

/// The node of this operation: the one that exists, or a new one. `want` is the shape where the
/// inputs do not determine it; otherwise it is NULL.
graph_node *graph_make_node(graph *g, op_kind op, int inputs, graph_node *const *in,
                            const op_attr *attr, const tensor_shape *want);
/// A new leaf. Leaves are always distinct; their values are given when the program runs.
graph_node *graph_make_leaf(graph *g, const char *name, const tensor_shape *shape, int stage,
                            bool bound);
/// Keeps `status` if it is the first error; returns the placeholder node.
graph_node *graph_error(graph *g, plumb_status status);

/// Memory that lives as long as the graph.
arena *graph_memory(graph *g);

/// dx[i] = sum over j of (dy[j] / dx[i]) contracted with seed[j], as nodes; a zero constant where
/// no path leads from x[i] to y[j]. `seed` may be NULL, and so may each seed[j]: all ones. The x
/// are independent variables even where one was computed from another: each derivative holds the
/// others constant.
void graph_gradient(graph *g, graph_node **dx, graph_node *const *x, int xs, graph_node *const *y,
                    graph_node *const *seed, int ys);

#endif
