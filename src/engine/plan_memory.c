// SPDX-License-Identifier: MIT
// Fifth step of planning: an offset in one block of memory for every value, reserved from the call
// that writes it to the last call that reads it. The walk through the calls keeps a list of gaps
// and takes the smallest gap that fits (best fit).
#include <string.h>

#include "engine/plan.h"

enum { GRAIN = 16 }; // elements; offsets and sizes are multiples of it: 64 bytes of float

typedef struct memory_gap {
    int64_t start, size; // elements
} memory_gap;

typedef struct memory_planner {
    graph_plan *plan;
    memory_gap *gap; // sorted by start; no two touch
    int gaps;
    int64_t top;  // end of the block so far
    int position; // of the current call in the order
} memory_planner;

static int64_t padded_size(const plan_value *value)
{
    return (shape_count(&value->node->shape) + GRAIN - 1) / GRAIN * GRAIN;
}

// ---- gaps ----

static void remove_gap(memory_planner *planner, int i)
{
    planner->gaps--;
    memmove(planner->gap + i, planner->gap + i + 1,
            (size_t)(planner->gaps - i) * sizeof *planner->gap);
}

static int64_t reserve_memory(memory_planner *planner, int64_t size)
{
    memory_gap *gap = planner->gap;
    int best = -1;
    for (int i = 0; i < planner->gaps; i++)
        if (gap[i].size >= size && (best < 0 || gap[i].size < gap[best].size)) best = i;
    if (best >= 0) {
        int64_t start = gap[best].start;
        gap[best].start += size;
        gap[best].size -= size;
        if (!gap[best].size) remove_gap(planner, best);
        return start;
    }
    // No gap fits: the block grows, from a gap at its end if there is one.
    memory_gap *last = planner->gaps ? &gap[planner->gaps - 1] : NULL;
    int64_t start = last && last->start + last->size == planner->top ? last->start : planner->top;
    if (start != planner->top) planner->gaps--;
    planner->top = start + size;
    return start;
}

static void release_memory(memory_planner *planner, int64_t start, int64_t size)
{
    if (!size) return;
    memory_gap *gap = planner->gap;
    int i = 0;
    while (i < planner->gaps && gap[i].start < start) i++;
    bool touches_left = i > 0 && gap[i - 1].start + gap[i - 1].size == start;
    bool touches_right = i < planner->gaps && start + size == gap[i].start;
    if (touches_left) {
        gap[i - 1].size += size;
        if (touches_right) {
            gap[i - 1].size += gap[i].size;
            remove_gap(planner, i);
        }
    } else if (touches_right) {
        gap[i].start = start;
        gap[i].size += size;
    } else {
        memmove(gap + i + 1, gap + i, (size_t)(planner->gaps - i) * sizeof *gap);
        gap[i] = (memory_gap){start, size};
        planner->gaps++;
    }
}

// ---- lifetimes ----

static void note_read(void *context, int v)
{
    memory_planner *planner = context;
    plan_value *home = &planner->plan->value[planner->plan->value[v].home];
    if (home->last_used < planner->position) home->last_used = planner->position;
}

static void note_write(memory_planner *planner, int v)
{
    plan_value *home = &planner->plan->value[planner->plan->value[v].home];
    if (home->born < 0) home->born = planner->position;
    if (home->last_used < planner->position) home->last_used = planner->position;
}

static void find_lifetimes(memory_planner *planner)
{
    graph_plan *plan = planner->plan;
    // Inputs live from the first call to past the last. Bound leaves are in the caller's memory.
    for (int v = 0; v < plan->values; v++) {
        plan_value *value = &plan->value[v];
        value->born = value->last_used = -1;
        if (!plan->reference && value->node->op == OP_RESHAPE)
            value->home = plan->value[plan_find_storage(plan, v, false)].home;
        bool in_block = value->node->op == OP_LEAF && (plan->reference || !value->node->attr.bound);
        if (in_block) value->born = 0, value->last_used = plan->calls;
    }
    for (planner->position = 0; planner->position < plan->calls; planner->position++) {
        const plan_call *call = &plan->call[plan->order[planner->position]];
        plan_visit_reads(plan, call, note_read, planner);
        if (call->kind != PLAN_CALL_FUSED) {
            note_write(planner, call->result);
            continue;
        }
        for (int i = 0; i < call->members; i++) {
            int v = plan->member[call->first_member + i];
            if (plan->value[v].stored) note_write(planner, v);
        }
    }
    // Outputs stay until the caller has read them.
    for (int v = 0; v < plan->values; v++)
        if (plan->value[v].output) plan->value[plan->value[v].home].last_used = plan->calls;
}

// For every position the homes that are born there, or last used there: a list that starts at
// (*head)[position] and continues at (*next)[v]; -1 ends it.
static plumb_status list_by_position(graph_plan *plan, int **head, int **next, bool by_birth)
{
    *head = ARENA_ALLOC(plan->memory, int, (plan->calls + 1));
    *next = ARENA_ALLOC(plan->memory, int, plan->values);
    if (!*head || !*next) return PLUMB_EMEMORY;
    for (int i = 0; i <= plan->calls; i++) (*head)[i] = -1;
    for (int v = plan->values - 1; v >= 0; v--) {
        const plan_value *value = &plan->value[v];
        if (value->home != v || value->born < 0) continue;
        int position = by_birth ? value->born : value->last_used;
        (*next)[v] = (*head)[position];
        (*head)[position] = v;
    }
    return PLUMB_OK;
}

plumb_status plan_memory(graph_plan *plan)
{
    memory_planner planner = {.plan = plan};
    planner.gap = ARENA_ALLOC(plan->memory, memory_gap, (plan->values + 1));
    if (!planner.gap) return PLUMB_EMEMORY;
    find_lifetimes(&planner);
    int *born, *next_born, *last_used, *next_last_used;
    plumb_status st = list_by_position(plan, &born, &next_born, true);
    if (!st) st = list_by_position(plan, &last_used, &next_last_used, false);
    if (st) return st;

    // Through the calls: first reserve what is written here, then release what is not used later.
    for (int i = 0; i <= plan->calls; i++) {
        for (int v = born[i]; v >= 0; v = next_born[v]) {
            int64_t size = padded_size(&plan->value[v]);
            plan->value[v].offset = reserve_memory(&planner, size);
            plan->total_size += size;
            plan->largest_size = size > plan->largest_size ? size : plan->largest_size;
        }
        for (int v = last_used[i]; v >= 0; v = next_last_used[v])
            release_memory(&planner, plan->value[v].offset, padded_size(&plan->value[v]));
    }
    plan->block_size = planner.top;
    return PLUMB_OK;
}
