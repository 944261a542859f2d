// SPDX-License-Identifier: MIT
// A graph of operations on arrays. Its gradients are graphs again, so a force dH/dq is an ordinary
// part of a model whose loss is differentiated once more.
//
// A node is made once: asking for the same operation on the same inputs gives the node that is
// there already, and gradients of shared parts cost nothing extra. Nodes belong to their graph.
// Making a node never fails by itself: the first mistake is kept in the graph and every node after
// it is a blank, so that a model reads like its formulas; graph_status tells at the end.
#ifndef ENGINE_GRAPH_H
#define ENGINE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/kernels/conv.h"

enum { GRAPH_MAX_RANK = 5 };

typedef struct graph graph;
typedef struct graph_node graph_node;

typedef struct tensor_shape {
    int rank;
    int64_t size[GRAPH_MAX_RANK];
} tensor_shape;

/// The parameters of an operation; each uses the fields its row in op_info.c names, the rest are
/// zero.
typedef struct op_attr {
    double value;       // a constant, a factor, a slope
    bool ta, tb;        // products of transposed matrices
    bool bound;         // a leaf that is read where the caller keeps it
    int axis;           // where a slice, a sum or a broadcast begins
    int axes;           // how many axes a sum takes away
    int64_t start;      // first index of a slice
    conv_geometry conv; // convolutions
} op_attr;

struct graph_node {
    int op; // row of the table in op_info.c
    int id; // order of creation; inputs come before their users
    int inputs;
    int stage; // 0, or later if it needs an input that comes later
    graph_node **in;
    tensor_shape shape;
    op_attr attr;
    const char *name; // leaves have one; NULL for the rest
    graph_node *next; // of the same hash
};

plumb_status graph_create(graph **out);
void graph_free(graph *g);
/// PLUMB_OK, or what the first mistake was; its message is then the thread's last.
plumb_status graph_status(const graph *g);
int graph_size(const graph *g);
/// Node `id`, 0 <= id < graph_size.
graph_node *graph_get_node(const graph *g, int id);

int64_t shape_count(const tensor_shape *s);
bool shape_equal(const tensor_shape *a, const tensor_shape *b);
/// "(2, 3)" into 96 bytes of text.
const char *shape_format(char *text, const tensor_shape *s);

/// The node of that operation: the one that exists, or a new one. `want` is the shape where the
/// inputs do not determine it, else NULL.
graph_node *graph_make_node(graph *g, int op, int inputs, graph_node *const *in,
                            const op_attr *attr, const tensor_shape *want);
/// A leaf is distinct whatever its shape: its value is given when the program runs.
graph_node *graph_make_leaf(graph *g, const char *name, const tensor_shape *s, int stage,
                            bool bound);
/// Keeps the first mistake; returns a blank node.
graph_node *graph_error(graph *g, plumb_status status);

/// Memory that lives as long as the graph.
arena *graph_memory(graph *g);

/// dx[i] = sum over j of (d y[j] / d x[i]) contracted with seed[j], as nodes; a zero constant where
/// there is no path. A NULL seed is all ones. The x are independent variables, even where one was
/// made of another: each derivative holds the others still.
void graph_gradient(graph *g, graph_node **dx, graph_node *const *x, int xs, graph_node *const *y,
                    graph_node *const *seed, int ys);

#endif
