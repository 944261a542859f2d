// SPDX-License-Identifier: MIT
// First step of planning: which nodes the outputs need. Also how the planner looks through
// reshapes, broadcasts and slices to the memory that holds their elements.
#include "engine/plan.h"

int plan_value_index(const graph_plan *plan, const graph_node *node)
{
    return plan->value_of_node[node->id];
}

bool plan_is_view(const graph_node *node)
{
    return node->op == OP_BROADCAST || node->op == OP_SLICE || node->op == OP_CONSTANT;
}

int plan_find_storage(const graph_plan *plan, int v, bool views)
{
    const graph_node *node = plan->value[v].node;
    if (views && (node->op == OP_BROADCAST || node->op == OP_SLICE)) {
        node = node->in[0];
        v = plan_value_index(plan, node);
    }
    // A reshape moves nothing: its elements are those of its input. In the reference form it
    // copies.
    while (!plan->reference && node->op == OP_RESHAPE) {
        node = node->in[0];
        v = plan_value_index(plan, node);
    }
    return v;
}

// A fused loop reads what its members take from outside of it. Constants are in its instructions.
static void visit_fused_reads(const graph_plan *plan, const plan_call *call,
                              void (*visit)(void *, int), void *context)
{
    for (int i = 0; i < call->members; i++) {
        const graph_node *node = plan->value[plan->member[call->first_member + i]].node;
        for (int k = 0; k < node->inputs; k++) {
            int v = plan_value_index(plan, node->in[k]);
            if (plan->value[v].call == (int)(call - plan->call) || node->in[k]->op == OP_CONSTANT)
                continue;
            visit(context, plan_find_storage(plan, v, true));
        }
    }
}

void plan_visit_reads(const graph_plan *plan, const plan_call *call,
                      void (*visit)(void *context, int v), void *context)
{
    if (call->kind == PLAN_CALL_FUSED) {
        visit_fused_reads(plan, call, visit, context);
    } else if (call->kind == PLAN_CALL_ADD) {
        visit(context, plan_find_storage(plan, call->source, false));
    } else if (call->kind == PLAN_CALL_OP) {
        const graph_node *node = plan->value[plan->member[call->first_member]].node;
        for (int k = 0; k < node->inputs; k++)
            visit(context, plan_find_storage(plan, plan_value_index(plan, node->in[k]), false));
        if (call->bias >= 0) visit(context, plan_find_storage(plan, call->bias, false));
    }
}

plumb_status plan_collect_values(graph_plan *plan, graph_node *const *output, int outputs)
{
    int nodes = graph_size(plan->graph);
    bool *needed = ARENA_ALLOC(plan->memory, bool, nodes);
    plan->value_of_node = ARENA_ALLOC(plan->memory, int, nodes);
    if (!needed || !plan->value_of_node) return PLUMB_EMEMORY;

    // Inputs have smaller ids than their users, so one pass from the end marks all that is needed.
    for (int i = 0; i < outputs; i++) needed[output[i]->id] = true;
    for (int id = nodes - 1; id >= 0; id--) {
        const graph_node *node = graph_get_node(plan->graph, id);
        for (int k = 0; needed[id] && k < node->inputs; k++) needed[node->in[k]->id] = true;
        plan->values += needed[id];
    }

    // Values in the order of their nodes. Count how often each is read.
    plan->value = ARENA_ALLOC(plan->memory, plan_value, plan->values);
    if (!plan->value) return PLUMB_EMEMORY;
    int v = 0;
    for (int id = 0; id < nodes; id++) {
        plan->value_of_node[id] = -1;
        if (!needed[id]) continue;
        graph_node *node = graph_get_node(plan->graph, id);
        plan->value_of_node[id] = v;
        plan->value[v] = (plan_value){.node = node, .call = -1, .home = v};
        for (int k = 0; k < node->inputs; k++)
            plan->value[plan->value_of_node[node->in[k]->id]].uses++;
        v++;
    }
    for (int i = 0; i < outputs; i++) {
        plan_value *value = &plan->value[plan_value_index(plan, output[i])];
        value->uses++;
        value->output = true;
    }
    plan->outputs = outputs;
    return PLUMB_OK;
}
