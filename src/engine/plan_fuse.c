// SPDX-License-Identifier: MIT
// Groups elementwise operations into fused loops, which read and write memory once for a whole
// chain of operations.
//
// Which elementwise nodes may run in one loop? None of them may wait for a call that in turn waits
// for another of them. Give every node a level: the number of calls on the longest path to it. A
// path from one elementwise node to another through a call ends on a higher level. So nodes of one
// level and one shape that feed each other can always run together.
#include "engine/plan.h"

enum { FUSED_MAX_OPS = 16 }; // with two operands each they fit into FUSED_MAX_REGISTERS

// Elementwise, and not yet part of a convolution's call.
static bool can_be_fused(const graph_plan *plan, int v)
{
    return !plan->reference && op_elementwise(plan->value[v].node->op) && plan->value[v].call < 0;
}

static void find_levels(graph_plan *plan)
{
    for (int v = 0; v < plan->values; v++) {
        plan_value *value = &plan->value[v];
        const graph_node *node = value->node;
        for (int k = 0; k < node->inputs; k++) {
            int level = plan->value[plan_value_index(plan, node->in[k])].level;
            value->level = level > value->level ? level : value->level;
        }
        bool fused = op_elementwise(node->op) && value->call < 0;
        // A broadcast only makes arrays larger, so a path through broadcasts never leads back to a
        // loop of the same shape. Every other operation counts as a call.
        if (node->inputs && !fused && node->op != OP_BROADCAST) value->level++;
    }
}

// ---- groups: a forest in which parent[v] leads to the group's root ----

static int find_root(int *parent, int v)
{
    while (parent[v] != v) v = parent[v] = parent[parent[v]]; // halves the path as it goes
    return v;
}

// Joins every fusible node with its fusible inputs of the same level, stage and shape.
static void group_values(const graph_plan *plan, int *parent)
{
    for (int v = 0; v < plan->values; v++) parent[v] = v;
    for (int v = 0; v < plan->values; v++) {
        if (!can_be_fused(plan, v)) continue;
        const graph_node *node = plan->value[v].node;
        for (int k = 0; k < node->inputs; k++) {
            const graph_node *input = node->in[k];
            int i = plan_value_index(plan, input);
            if (can_be_fused(plan, i) && plan->value[i].level == plan->value[v].level &&
                input->stage == node->stage && shape_equal(&input->shape, &node->shape))
                parent[find_root(parent, v)] = find_root(parent, i);
        }
    }
}

plumb_status plan_fuse(graph_plan *plan)
{
    find_levels(plan);
    int *parent = ARENA_ALLOC(plan->memory, int, plan->values);
    // 1 + index of a call; 0 for none.
    int *open_call_plus1 = ARENA_ALLOC(plan->memory, int, plan->values); // by root: still has room
    int *call_plus1 = ARENA_ALLOC(plan->memory, int, plan->values);      // by value
    if (!parent || !open_call_plus1 || !call_plus1) return PLUMB_EMEMORY;
    group_values(plan, parent);

    // Cut each group into loops of at most FUSED_MAX_OPS, in order of creation: a later loop needs
    // only earlier ones.
    for (int v = 0; v < plan->values; v++) {
        if (!can_be_fused(plan, v)) continue;
        int root = find_root(parent, v);
        if (!open_call_plus1[root] ||
            plan->call[open_call_plus1[root] - 1].members == FUSED_MAX_OPS)
            open_call_plus1[root] = plan_add_call(plan, PLAN_CALL_FUSED, v) + 1;
        plan->call[open_call_plus1[root] - 1].members++;
        call_plus1[v] = open_call_plus1[root];
    }

    // The sizes are known: give each loop its part of the second half of member[] ...
    int used = plan->values;
    for (int c = 0; c < plan->calls; c++) {
        plan_call *call = &plan->call[c];
        if (call->kind != PLAN_CALL_FUSED) continue;
        call->first_member = used;
        used += call->members;
        call->members = 0;
    }
    // ... and fill it in order of creation.
    for (int v = 0; v < plan->values; v++) {
        if (!call_plus1[v]) continue;
        plan_call *call = &plan->call[call_plus1[v] - 1];
        plan->member[call->first_member + call->members++] = v;
        plan->value[v].call = call_plus1[v] - 1;
    }
    return PLUMB_OK;
}
