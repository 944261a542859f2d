// SPDX-License-Identifier: MIT
// Fourth step of planning: the gradient of a weight that is used at every step of a rollout is a
// sum of many products A^T B with few rows in A and B. One by one they would read and write the
// whole sum each time. So they wait until there are enough of them, and run as one product with a
// longer sum (gemm_float_sum). Their inputs stay in memory for so long.
#include "engine/plan.h"

// Rows of A and B, over all products that run together. More would not be faster, and takes memory.
enum { DELAYED_ROWS = PLAN_MAX_PARTS };

int plan_delayed_parts(const graph_node *product)
{
    const int64_t rows = product->in[0]->shape.size[0];
    return rows > 0 && rows <= DELAYED_ROWS ? (int)(DELAYED_ROWS / rows) : 1;
}

bool plan_is_delayed(const graph_plan *plan, const plan_call *call)
{
    if (plan->reference || call->kind != PLAN_CALL_OP) return false;
    const graph_node *node = plan->value[call->result].node;
    return node->op == OP_MATMUL && node->attr.ta && !node->attr.tb &&
           plan->value[call->result].home != call->result && plan_delayed_parts(node) > 1;
}

// Products that wait, by the value that is their sum.
typedef struct delayed_sum {
    int first, last; // Calls; a list through `next`. -1: none.
    int waiting;     // Number of them.
    int left;        // Products of this sum and stage that have not come yet.
} delayed_sum;

// Counts the products of every sum in one stage, which is order[from] .. order[end - 1].
static void count_products(const graph_plan *plan, delayed_sum *sum, int from, int end)
{
    for (int i = from; i < end; i++) {
        const plan_call *call = &plan->call[plan->order[i]];
        if (plan_is_delayed(plan, call)) sum[plan->value[call->result].home].left++;
    }
}

// Only calls that need the whole sum wait for a product, and they run after its last one.
plumb_status plan_delay(graph_plan *plan)
{
    delayed_sum *sum = ARENA_ALLOC(plan->memory, delayed_sum, plan->values);
    int *next = ARENA_ALLOC(plan->memory, int, plan->calls);
    int *order = ARENA_ALLOC(plan->memory, int, plan->calls);
    if (!sum || !next || !order) return PLUMB_EMEMORY;
    for (int v = 0; v < plan->values; v++) sum[v] = (delayed_sum){-1, -1, 0, 0};

    int done = 0;
    for (int i = 0, end = 0; i < plan->calls; i++) {
        const int c = plan->order[i];
        const plan_call *call = &plan->call[c];
        if (i == end) { // a stage begins
            while (end < plan->calls && plan->call[plan->order[end]].stage == call->stage) end++;
            count_products(plan, sum, i, end);
        }
        if (!plan_is_delayed(plan, call)) {
            order[done++] = c;
            continue;
        }
        delayed_sum *of = &sum[plan->value[call->result].home];
        if (of->waiting) next[of->last] = c;
        else of->first = c;
        of->last = c;
        next[c] = -1;
        of->left--;
        if (++of->waiting < plan_delayed_parts(plan->value[call->result].node) && of->left)
            continue;
        for (int w = of->first; w >= 0; w = next[w]) order[done++] = w;
        of->waiting = 0;
    }
    plan->order = order;
    return plan_find_accumulating(plan);
}
