// SPDX-License-Identifier: MIT
// The planner's own tables, between the graph and the program.
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include "engine/op.h"

/// A node that is needed.
typedef struct plan_value {
    graph_node *n;
    int uses;    // by needed nodes, and as an output
    int level;   // calls that must have run before it
    int unit;    // what computes it, or -1: leaves, views, numbers
    int home;    // the cell whose memory it lives in
    bool stored; // somebody reads it from memory
    bool output;
    int born, dies; // positions in the order; of homes
    int64_t offset; // in elements; of homes
} plan_value;

typedef enum plan_call_kind {
    PLAN_CALL_OP,    // one operation, with a bias and a leaky ReLU after a convolution
    PLAN_CALL_FUSED, // elementwise operations of one shape
    PLAN_CALL_ADD,   // adds `source` to `result`
    PLAN_CALL_NONE,  // nothing to run: all parts of a total are there
} plan_call_kind;

/// Something that runs in one go.
typedef struct plan_call {
    plan_call_kind kind;
    int stage, key; // order: stages first, then the smallest node id
    int first, members;
    int result, source, bias; // cells, or -1
    float slope;
    bool accumulate;
    int position;
} plan_call;

typedef struct plan {
    graph *g;
    arena *mem;
    bool judge;
    int cells, units, outputs;
    plan_value *cell;
    int *where; // cell of a node id, or -1
    plan_call *unit;
    int *member;                 // cells of the tapes' units
    int *order;                  // units by position
    int64_t block, sum, biggest; // elements
} plan;

/// The steps of planning, in this order.
plumb_status plan_collect_values(plan *p, graph_node *const *output,
                                 int outputs); // plan_collect_values.c
plumb_status plan_calls(plan *p);              // plan_fuse.c
plumb_status plan_order(plan *p);              // plan_order.c
plumb_status plan_memory(plan *p);             // plan_memory.c

int plan_value_index(const plan *p, const graph_node *n);
/// The cell that holds what `c` shows: through reshapes, and where `views` through broadcasts and
/// slices, which tapes read through.
int plan_find_storage(const plan *p, int c, bool views);
/// Calls `see` for every cell that the unit reads from memory.
void plan_visit_reads(const plan *p, const plan_call *u, void (*see)(void *to, int cell), void *to);
bool plan_is_view(const graph_node *n);

#endif
