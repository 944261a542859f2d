// SPDX-License-Identifier: MIT
// The planner: turns a graph into an ordered list of kernel calls with a place in memory for every
// value. It works in five steps, each in a file of its own:
//     plan_collect_values   plan_values.c   which nodes the outputs need
//     plan_calls            plan_calls.c    which kernel call computes which nodes (plan_fuse.c
//                                           groups the elementwise ones)
//     plan_order            plan_order.c    in which order the calls run
//     plan_delay            plan_delay.c    which products of one sum run together, and when
//     plan_memory           plan_memory.c   where in one block of memory each value lives
//
// Values and calls are referred to by their index: v is the index of a value, c that of a call.
// Values keep the order in which their nodes were created, so the inputs of a node always have
// smaller indices than the node itself.
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include "engine/op_table.h"

/// A node that the outputs need.
typedef struct plan_value {
    graph_node *node;
    int uses;            // Reads by needed nodes, plus one for each time it is an output.
    int level;           // Calls on the longest path to it; see plan_fuse.c.
    int call;            // Index of the call that computes it. -1: leaf, view or constant.
    int home;            // Index of the value whose memory it lives in; mostly itself.
    bool stored;         // It is read from memory, so it must be written there.
    bool output;         // It is one of the program's outputs.
    int born, last_used; // First and last position in the order that touch it. Homes only.
    int64_t offset;      // In elements from the start of the block. Homes only.
} plan_value;

typedef enum plan_call_kind {
    PLAN_CALL_OP,    // One operation; a convolution may have a bias and a leaky ReLU after it.
    PLAN_CALL_FUSED, // Several elementwise operations of one shape.
    PLAN_CALL_ADD,   // Adds the value `source` to the value `result`.
    PLAN_CALL_NONE,  // Runs nothing; marks that all parts of an OP_ADD_N have been added.
} plan_call_kind;

/// One kernel call.
typedef struct plan_call {
    plan_call_kind kind;
    int stage; // Stages run one after the other.
    int key;   // Among the calls that could run next, the smallest key goes first: a node id.
    int first_member; // Index into graph_plan.member of its first operation.
    int members;      // Number of its operations. 0 for PLAN_CALL_ADD and PLAN_CALL_NONE.
    int result;       // Index of the value it writes (fused: of its first member).
    int source, bias; // Indices of values, or -1.
    float slope;      // Leaky ReLU after a convolution; 1 for none.
    bool accumulate;  // It adds to its result instead of writing it.
    int position;     // In the order.
} plan_call;

typedef struct graph_plan {
    graph *graph;
    arena *memory;
    bool reference; // Plan for the reference form: one operation per call, nothing fused.
    plan_value *value;
    int values;
    plan_call *call;
    int calls;
    int outputs;
    int *value_of_node; // (nodes of the graph) index of the value, or -1 if it is not needed.
    /// (2 * values) Which values a call computes. The first half is the identity, member[v] = v, so
    /// that a call of one operation on value v has first_member = v. The second half lists the
    /// members of the fused loops, one loop after the other, in order of creation.
    int *member;
    int *order;           // (calls) indices of the calls in the order in which they run.
    int64_t block_size;   // Elements of the block.
    int64_t total_size;   // Elements of all values if none shared memory.
    int64_t largest_size; // Elements of the largest value.
} graph_plan;

/// The five steps, to be called in this order. Fail with PLUMB_EMEMORY.
plumb_status plan_collect_values(graph_plan *plan, graph_node *const *output, int outputs);
plumb_status plan_calls(graph_plan *plan);
plumb_status plan_order(graph_plan *plan);
plumb_status plan_delay(graph_plan *plan);
plumb_status plan_memory(graph_plan *plan);

enum { PLAN_MAX_PARTS = 64 };
/// Whether the call is a product of a sum that may run together with others of the same sum.
bool plan_is_delayed(const graph_plan *plan, const plan_call *call);
/// How many such products run together.
int plan_delayed_parts(const graph_node *product);

/// Part of plan_delay(): the first part of a sum that runs overwrites its memory, the others add.
plumb_status plan_find_accumulating(graph_plan *plan);

/// Part of plan_calls(): groups elementwise operations that have no call yet into fused loops.
plumb_status plan_fuse(graph_plan *plan);

/// Appends a call that writes the value `result`; returns its index.
int plan_add_call(graph_plan *plan, plan_call_kind kind, int result);
int plan_value_index(const graph_plan *plan, const graph_node *node);
/// The value whose memory holds the elements of value v: follows reshapes and, if `views`, one
/// broadcast or slice, which fused loops read through.
int plan_find_storage(const graph_plan *plan, int v, bool views);
/// Calls visit(context, v) for every value v that the call reads from memory.
void plan_visit_reads(const graph_plan *plan, const plan_call *call,
                      void (*visit)(void *context, int v), void *context);
/// Whether a fused loop can read the node's elements from its input, or from a constant.
bool plan_is_view(const graph_node *node);

#endif
