// SPDX-License-Identifier: MIT
// Second step of planning: which kernel call computes which nodes. A bias and a leaky ReLU join the
// convolution before them, products are added straight into the sum they belong to, elementwise
// operations become fused loops (plan_fuse.c), and what nobody reads from memory is not stored.
#include "engine/plan.h"

#include <assert.h>

int plan_add_call(graph_plan *plan, plan_call_kind kind, int result)
{
    const graph_node *node = plan->value[result].node;
    plan->call[plan->calls] = (plan_call){.kind = kind,
                                          .stage = node->stage,
                                          .key = node->id,
                                          .result = result,
                                          .source = -1,
                                          .bias = -1,
                                          .slope = 1.0f};
    return plan->calls++;
}

static int add_single_op_call(graph_plan *plan, int v)
{
    int c = plan_add_call(plan, PLAN_CALL_OP, v);
    plan->call[c].first_member = v; // the first half of member[] is the identity
    plan->call[c].members = 1;
    plan->value[v].call = c;
    return c;
}

// ---- sums of many arrays ----

// Whether the kernel that computes this part of a sum can add to the sum's memory directly.
static bool adds_in_place(const graph_plan *plan, const graph_node *part)
{
    return op_info(part->op)->accumulates && plan->value[plan_value_index(plan, part)].uses == 1;
}

// OP_ADD_N: parts that can be added in place live in the sum's memory; each other part is added by
// a call of its own. An empty call stands for the finished sum.
static void add_sum_calls(graph_plan *plan, int v)
{
    const graph_node *node = plan->value[v].node;
    for (int k = 0; k < node->inputs; k++) {
        int part = plan_value_index(plan, node->in[k]);
        if (adds_in_place(plan, node->in[k])) {
            plan->value[part].home = v;
            continue;
        }
        int c = plan_add_call(plan, PLAN_CALL_ADD, v);
        plan->call[c].source = part;
        plan->call[c].key = node->in[k]->id;
        plan->call[c].stage = node->in[k]->stage;
    }
    plan->value[v].call = plan_add_call(plan, PLAN_CALL_NONE, v);
}

// ---- bias and leaky ReLU after a convolution ----

static bool is_convolution(const graph_node *node)
{
    return node->op == OP_CONV || node->op == OP_UPCONV;
}

static bool has_one_reader(const graph_plan *plan, const graph_node *node)
{
    const plan_value *value = &plan->value[plan_value_index(plan, node)];
    return value->uses == 1 && !value->output;
}

// The input of `node` that is a convolution which nothing else reads, or NULL.
static graph_node *find_convolution_input(const graph_plan *plan, const graph_node *node)
{
    for (int k = 0; k < node->inputs; k++)
        if (is_convolution(node->in[k]) && has_one_reader(plan, node->in[k])) return node->in[k];
    return NULL;
}

// The vector (channels) that `add` adds to every pixel of the convolution, or NULL.
static graph_node *find_bias(const graph_node *add, const graph_node *convolution)
{
    graph_node *other = add->in[0] == convolution ? add->in[1] : add->in[0];
    bool plain =
        other->op == OP_BROADCAST && other->attr.axis == 0 && other->in[0]->shape.rank == 1;
    return plain ? other->in[0] : NULL;
}

// Convolution, then bias, then leaky ReLU: one call, if nothing else reads what is between them.
// Values are visited in order of creation, so the convolution comes before the addition and the
// addition before the leaky ReLU: each finds the call of the one before it.
static void absorb_bias_and_relu(graph_plan *plan)
{
    for (int v = 0; v < plan->values; v++) {
        graph_node *node = plan->value[v].node;
        if (node->op == OP_ADD) {
            graph_node *convolution = find_convolution_input(plan, node);
            graph_node *bias = convolution ? find_bias(node, convolution) : NULL;
            if (!bias || node->stage != convolution->stage) continue;
            const int before = plan_value_index(plan, convolution), c = plan->value[before].call;
            assert(before < v && c >= 0);
            plan->call[c].bias = plan_value_index(plan, bias);
            plan->call[c].result = v;
            plan->value[v].call = c;
        } else if (node->op == OP_LEAKY_RELU) {
            const graph_node *x = node->in[0];
            const int before = plan_value_index(plan, x), c = plan->value[before].call;
            // An addition has a call at this point only if it is the bias of a convolution.
            bool follows = is_convolution(x) || (x->op == OP_ADD && c >= 0);
            if (!follows || !has_one_reader(plan, x)) continue;
            assert(before < v && c >= 0);
            plan->call[c].slope = (float)node->attr.value;
            plan->call[c].result = v;
            plan->value[v].call = c;
        }
    }
}

// ---- what has to be stored ----

static void mark_stored(void *context, int v)
{
    graph_plan *plan = context;
    plan->value[v].stored = true;
}

// A call's reads are marked when the walk from the end reaches the last value it computes.
static bool is_last_of_call(const graph_plan *plan, const plan_call *call, int v)
{
    return call->kind == PLAN_CALL_FUSED ? plan->member[call->first_member + call->members - 1] == v
                                         : call->result == v;
}

// From the end: what a call reads from memory must be stored, and a view that must be stored needs
// a call that computes it.
static void find_stored(graph_plan *plan)
{
    for (int v = plan->values - 1; v >= 0; v--) {
        plan_value *value = &plan->value[v];
        if (value->output) value->stored = true;
        if (!plan->reference && value->node->op == OP_RESHAPE) {
            if (value->stored) plan->value[plan_find_storage(plan, v, false)].stored = true;
            continue;
        }
        if (value->call < 0 && value->stored && value->node->op != OP_LEAF)
            add_single_op_call(plan, v);
        if (value->call < 0) continue;
        const plan_call *call = &plan->call[value->call];
        if (is_last_of_call(plan, call, v)) plan_visit_reads(plan, call, mark_stored, plan);
    }
}

plumb_status plan_calls(graph_plan *plan)
{
    // At most one call per value, and one per part of a sum.
    int max_calls = 0;
    for (int v = 0; v < plan->values; v++) {
        const graph_node *node = plan->value[v].node;
        max_calls += 1 + (node->op == OP_ADD_N ? node->inputs : 0);
    }
    plan->call = ARENA_ALLOC(plan->memory, plan_call, max_calls);
    plan->member = ARENA_ALLOC(plan->memory, int, (2 * (int64_t)plan->values));
    if (!plan->call || !plan->member) return PLUMB_EMEMORY;

    // A call for every operation that is neither elementwise nor a view. The reference form calls
    // every operation.
    for (int v = 0; v < plan->values; v++) {
        const graph_node *node = plan->value[v].node;
        plan->member[v] = v;
        bool delayed = !plan->reference &&
                       (op_elementwise(node->op) || plan_is_view(node) || node->op == OP_RESHAPE);
        if (node->op == OP_LEAF || delayed) continue;
        if (!plan->reference && node->op == OP_ADD_N) add_sum_calls(plan, v);
        else add_single_op_call(plan, v);
    }
    if (!plan->reference) absorb_bias_and_relu(plan);
    plumb_status st = plan_fuse(plan);
    if (st) return st;

    for (int c = 0; c < plan->calls; c++)
        if (plan->call[c].kind == PLAN_CALL_ADD)
            mark_stored(plan, plan_find_storage(plan, plan->call[c].source, false));
    find_stored(plan);
    return PLUMB_OK;
}
