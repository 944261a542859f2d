// SPDX-License-Identifier: MIT
// Third step of planning: the order in which the calls run. A topological sort; among the calls
// that could run next it takes the one whose node was created first, which follows the model
// forward and then its gradient backward.
#include "engine/plan.h"

// `to` must run after the call whose list this is.
typedef struct call_edge {
    int to;
    struct call_edge *next;
} call_edge;

typedef struct call_sorter {
    graph_plan *plan;
    call_edge **successors; // by call
    int *waits_for;         // by call: number of calls that must still run before it
    int *heap;              // calls that can run now; the first of them at the top
    int heap_size;
    int reader; // the call whose reads are being linked
    bool out_of_memory;
} call_sorter;

// ---- a heap of the calls that can run ----

static bool runs_before(const call_sorter *sorter, int a, int b)
{
    const plan_call *x = &sorter->plan->call[a], *y = &sorter->plan->call[b];
    if (x->stage != y->stage) return x->stage < y->stage;
    return x->key != y->key ? x->key < y->key : a < b;
}

static void heap_push(call_sorter *sorter, int c)
{
    int i = sorter->heap_size++;
    for (; i > 0 && runs_before(sorter, c, sorter->heap[(i - 1) / 2]); i = (i - 1) / 2)
        sorter->heap[i] = sorter->heap[(i - 1) / 2];
    sorter->heap[i] = c;
}

static int heap_pop(call_sorter *sorter)
{
    int *heap = sorter->heap;
    int top = heap[0], last = heap[--sorter->heap_size], i = 0;
    for (;;) {
        int child = 2 * i + 1;
        if (child >= sorter->heap_size) break;
        if (child + 1 < sorter->heap_size && runs_before(sorter, heap[child + 1], heap[child]))
            child++;
        if (!runs_before(sorter, heap[child], last)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

// ---- dependencies ----

static void add_edge(call_sorter *sorter, int from, int to)
{
    if (from < 0 || from == to) return;
    call_edge *edge = ARENA_ALLOC(sorter->plan->memory, call_edge, 1);
    if (!edge) {
        sorter->out_of_memory = true;
        return;
    }
    *edge = (call_edge){.to = to, .next = sorter->successors[from]};
    sorter->successors[from] = edge;
    sorter->waits_for[to]++;
}

static void link_read(void *context, int v)
{
    call_sorter *sorter = context;
    add_edge(sorter, sorter->plan->value[v].call, sorter->reader);
}

// A sum is complete when every part that is added in place has been.
static void link_sum_parts(call_sorter *sorter, int c)
{
    const graph_plan *plan = sorter->plan;
    const int sum = plan->call[c].result;
    const graph_node *node = plan->value[sum].node;
    for (int k = 0; k < node->inputs; k++) {
        int part = plan_value_index(plan, node->in[k]);
        if (plan->value[part].home == sum) add_edge(sorter, plan->value[part].call, c);
    }
}

static void link_calls(call_sorter *sorter)
{
    graph_plan *plan = sorter->plan;
    for (int c = 0; c < plan->calls; c++) {
        const plan_call *call = &plan->call[c];
        sorter->reader = c;
        plan_visit_reads(plan, call, link_read, sorter);
        if (call->kind == PLAN_CALL_NONE) link_sum_parts(sorter, c);
        if (call->kind == PLAN_CALL_ADD) add_edge(sorter, c, plan->value[call->result].call);
    }
}

// The first part of a sum that runs overwrites the memory; the others add to it.
plumb_status plan_find_accumulating(graph_plan *plan)
{
    bool *written = ARENA_ALLOC(plan->memory, bool, plan->values);
    if (!written) return PLUMB_EMEMORY;
    for (int i = 0; i < plan->calls; i++) {
        plan_call *call = &plan->call[plan->order[i]];
        call->position = i;
        if (call->kind == PLAN_CALL_FUSED || call->kind == PLAN_CALL_NONE) continue;
        int home = plan->value[call->result].home;
        if (plan->value[home].node->op != OP_ADD_N || plan->reference) continue;
        call->accumulate = written[home];
        written[home] = true;
    }
    return PLUMB_OK;
}

plumb_status plan_order(graph_plan *plan)
{
    call_sorter sorter = {.plan = plan};
    sorter.successors = ARENA_ALLOC(plan->memory, call_edge *, plan->calls);
    sorter.waits_for = ARENA_ALLOC(plan->memory, int, plan->calls);
    sorter.heap = ARENA_ALLOC(plan->memory, int, (plan->calls + 1));
    plan->order = ARENA_ALLOC(plan->memory, int, plan->calls);
    if (!sorter.successors || !sorter.waits_for || !sorter.heap || !plan->order)
        return PLUMB_EMEMORY;
    link_calls(&sorter);
    if (sorter.out_of_memory) return PLUMB_EMEMORY;

    // Start with the calls that wait for nothing; each call that runs may free others.
    for (int c = 0; c < plan->calls; c++)
        if (!sorter.waits_for[c]) heap_push(&sorter, c);
    int done = 0;
    while (sorter.heap_size) {
        int c = heap_pop(&sorter);
        plan->order[done++] = c;
        for (call_edge *edge = sorter.successors[c]; edge; edge = edge->next)
            if (!--sorter.waits_for[edge->to]) heap_push(&sorter, edge->to);
    }
    if (done != plan->calls)
        return fail(PLUMB_EVALUE, "the calls of a graph depend on each other in a circle");
    return PLUMB_OK;
}
