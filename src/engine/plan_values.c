// SPDX-License-Identifier: MIT
// Which nodes are needed, and how planning looks through those that only show others' values.
#include "engine/plan.h"

int plan_value_index(const plan *p, const graph_node *n)
{
    return p->where[n->id];
}

bool plan_is_view(const graph_node *n)
{
    return n->op == OP_BROADCAST || n->op == OP_SLICE || n->op == OP_CONSTANT;
}

int plan_find_storage(const plan *p, int c, bool views)
{
    const graph_node *n = p->cell[c].n;
    if (views && (n->op == OP_BROADCAST || n->op == OP_SLICE)) {
        n = n->in[0];
        c = plan_value_index(p, n);
    }
    while (!p->judge && n->op == OP_RESHAPE) {
        n = n->in[0];
        c = plan_value_index(p, n);
    }
    return c;
}

static void reads_of_tape(const plan *p, const plan_call *u, void (*see)(void *, int), void *to)
{
    for (int i = 0; i < u->members; i++) {
        const graph_node *n = p->cell[p->member[u->first + i]].n;
        for (int k = 0; k < n->inputs; k++) {
            int c = plan_value_index(p, n->in[k]);
            if (p->cell[c].unit == (int)(u - p->unit) || n->in[k]->op == OP_CONSTANT) continue;
            see(to, plan_find_storage(p, c, true));
        }
    }
}

void plan_visit_reads(const plan *p, const plan_call *u, void (*see)(void *to, int cell), void *to)
{
    if (u->kind == PLAN_CALL_FUSED) {
        reads_of_tape(p, u, see, to);
    } else if (u->kind == PLAN_CALL_ADD) {
        see(to, plan_find_storage(p, u->source, false));
    } else if (u->kind == PLAN_CALL_OP) {
        const graph_node *n = p->cell[p->member[u->first]].n;
        for (int k = 0; k < n->inputs; k++)
            see(to, plan_find_storage(p, plan_value_index(p, n->in[k]), false));
        if (u->bias >= 0) see(to, plan_find_storage(p, u->bias, false));
    }
}

static void need(bool *needed, const graph_node *n)
{
    needed[n->id] = true;
}

plumb_status plan_collect_values(plan *p, graph_node *const *output, int outputs)
{
    int nodes = graph_size(p->g);
    bool *needed = ARENA_ALLOC(p->mem, bool, nodes);
    p->where = ARENA_ALLOC(p->mem, int, nodes);
    if (!needed || !p->where) return PLUMB_EMEMORY;
    for (int i = 0; i < outputs; i++) need(needed, output[i]);
    for (int id = nodes - 1; id >= 0; id--) {
        const graph_node *n = graph_get_node(p->g, id);
        for (int k = 0; needed[id] && k < n->inputs; k++) need(needed, n->in[k]);
        p->cells += needed[id];
    }

    p->cell = ARENA_ALLOC(p->mem, plan_value, p->cells);
    if (!p->cell) return PLUMB_EMEMORY;
    int c = 0;
    for (int id = 0; id < nodes; id++) {
        p->where[id] = -1;
        if (!needed[id]) continue;
        graph_node *n = graph_get_node(p->g, id);
        p->where[id] = c;
        p->cell[c] = (plan_value){.n = n, .unit = -1, .home = c};
        for (int k = 0; k < n->inputs; k++) p->cell[p->where[n->in[k]->id]].uses++;
        c++;
    }
    for (int i = 0; i < outputs; i++) {
        plan_value *o = &p->cell[plan_value_index(p, output[i])];
        o->uses++;
        o->output = true;
    }
    p->outputs = outputs;
    return PLUMB_OK;
}
