// SPDX-License-Identifier: MIT
// Units in an order that respects who needs whom: of those that are ready, the one whose nodes were
// made first, which follows the model forwards and its gradient backwards.
#include "engine/plan.h"

typedef struct edge {
    int to;
    struct edge *next;
} edge;

typedef struct sorter {
    plan *p;
    edge **out;   // by unit
    int *waiting; // units it still waits for
    int *heap, ready;
    int to; // while edges are collected
    bool short_of_memory;
} sorter;

static bool before(const sorter *s, int a, int b)
{
    const plan_call *x = &s->p->unit[a], *y = &s->p->unit[b];
    if (x->stage != y->stage) return x->stage < y->stage;
    return x->key != y->key ? x->key < y->key : a < b;
}

static void push(sorter *s, int u)
{
    int i = s->ready++;
    for (; i > 0 && before(s, u, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = u;
}

static int pop(sorter *s)
{
    int top = s->heap[0], last = s->heap[--s->ready], i = 0;
    for (;;) {
        int child = 2 * i + 1;
        if (child >= s->ready) break;
        if (child + 1 < s->ready && before(s, s->heap[child + 1], s->heap[child])) child++;
        if (!before(s, s->heap[child], last)) break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

static void link(sorter *s, int from, int to)
{
    if (from < 0 || from == to) return;
    edge *e = ARENA_ALLOC(s->p->mem, edge, 1);
    if (!e) {
        s->short_of_memory = true;
        return;
    }
    *e = (edge){.to = to, .next = s->out[from]};
    s->out[from] = e;
    s->waiting[to]++;
}

static void link_read(void *to, int c)
{
    sorter *s = to;
    link(s, s->p->cell[c].unit, s->to);
}

// A total is there when all that is added to it is.
static void link_total(sorter *s, int u)
{
    const graph_node *n = s->p->cell[s->p->unit[u].result].n;
    for (int k = 0; k < n->inputs; k++) {
        int part = plan_value_index(s->p, n->in[k]);
        if (s->p->cell[part].home == s->p->unit[u].result) link(s, s->p->cell[part].unit, u);
    }
}

static void link_all(sorter *s)
{
    plan *p = s->p;
    for (int u = 0; u < p->units; u++) {
        s->to = u;
        plan_visit_reads(p, &p->unit[u], link_read, s);
        if (p->unit[u].kind == PLAN_CALL_NONE) link_total(s, u);
        if (p->unit[u].kind == PLAN_CALL_ADD) link(s, u, p->cell[p->unit[u].result].unit);
    }
}

// The first of the parts of a total to run writes; the others add.
static plumb_status mark_first(plan *p)
{
    bool *begun = ARENA_ALLOC(p->mem, bool, p->cells);
    if (!begun) return PLUMB_EMEMORY;
    for (int i = 0; i < p->units; i++) {
        plan_call *u = &p->unit[p->order[i]];
        u->position = i;
        if (u->kind == PLAN_CALL_FUSED || u->kind == PLAN_CALL_NONE) continue;
        int home = p->cell[u->result].home;
        if (p->cell[home].n->op != OP_ADD_N || p->judge) continue;
        u->accumulate = begun[home];
        begun[home] = true;
    }
    return PLUMB_OK;
}

plumb_status plan_order(plan *p)
{
    sorter s = {.p = p};
    s.out = ARENA_ALLOC(p->mem, edge *, p->units);
    s.waiting = ARENA_ALLOC(p->mem, int, p->units);
    s.heap = ARENA_ALLOC(p->mem, int, (p->units + 1));
    p->order = ARENA_ALLOC(p->mem, int, p->units);
    if (!s.out || !s.waiting || !s.heap || !p->order) return PLUMB_EMEMORY;
    link_all(&s);
    if (s.short_of_memory) return PLUMB_EMEMORY;

    for (int u = 0; u < p->units; u++)
        if (!s.waiting[u]) push(&s, u);
    int done = 0;
    while (s.ready) {
        int u = pop(&s);
        p->order[done++] = u;
        for (edge *e = s.out[u]; e; e = e->next)
            if (!--s.waiting[e->to]) push(&s, e->to);
    }
    if (done != p->units)
        return fail(PLUMB_EVALUE, "a graph of %d steps goes in circles", p->units);
    return mark_first(p);
}
