// SPDX-License-Identifier: MIT
// A place in one block for every value, from the step that makes it to the last that reads it: a
// walk through the steps with a list of what is free, the tightest gap first.
#include <string.h>

#include "engine/plan.h"

enum { GRAIN = 16 }; // elements; 64 bytes of float

typedef struct gap {
    int64_t start, size;
} gap;

typedef struct placer {
    plan *p;
    gap *gap; // sorted by start, none touching another
    int gaps;
    int64_t top; // end of the block so far
    int position;
} placer;

static int64_t grains(const plan_value *c)
{
    return (shape_count(&c->n->shape) + GRAIN - 1) / GRAIN * GRAIN;
}

static void drop_gap(placer *f, int i)
{
    f->gaps--;
    memmove(f->gap + i, f->gap + i + 1, (size_t)(f->gaps - i) * sizeof *f->gap);
}

static int64_t take(placer *f, int64_t size)
{
    int best = -1;
    for (int i = 0; i < f->gaps; i++)
        if (f->gap[i].size >= size && (best < 0 || f->gap[i].size < f->gap[best].size)) best = i;
    if (best >= 0) {
        int64_t at = f->gap[best].start;
        f->gap[best].start += size;
        f->gap[best].size -= size;
        if (!f->gap[best].size) drop_gap(f, best);
        return at;
    }
    // A gap at the very end grows with the block.
    gap *last = f->gaps ? &f->gap[f->gaps - 1] : NULL;
    int64_t at = last && last->start + last->size == f->top ? last->start : f->top;
    if (at != f->top) f->gaps--;
    f->top = at + size;
    return at;
}

static void give(placer *f, int64_t start, int64_t size)
{
    if (!size) return;
    int i = 0;
    while (i < f->gaps && f->gap[i].start < start) i++;
    bool left = i > 0 && f->gap[i - 1].start + f->gap[i - 1].size == start;
    bool right = i < f->gaps && start + size == f->gap[i].start;
    if (left) {
        f->gap[i - 1].size += size;
        if (right) {
            f->gap[i - 1].size += f->gap[i].size;
            drop_gap(f, i);
        }
    } else if (right) {
        f->gap[i].start = start;
        f->gap[i].size += size;
    } else {
        memmove(f->gap + i + 1, f->gap + i, (size_t)(f->gaps - i) * sizeof *f->gap);
        f->gap[i] = (gap){start, size};
        f->gaps++;
    }
}

static void written(placer *f, int c)
{
    plan_value *h = &f->p->cell[f->p->cell[c].home];
    if (h->born < 0) h->born = f->position;
    if (h->dies < f->position) h->dies = f->position;
}

static void read(void *to, int c)
{
    placer *f = to;
    plan_value *h = &f->p->cell[f->p->cell[c].home];
    if (h->dies < f->position) h->dies = f->position;
}

static void find_lives(placer *f)
{
    plan *p = f->p;
    for (int c = 0; c < p->cells; c++) {
        plan_value *me = &p->cell[c];
        me->born = me->dies = -1;
        if (!p->judge && me->n->op == OP_RESHAPE)
            me->home = p->cell[plan_find_storage(p, c, false)].home;
        bool kept = me->n->op == OP_LEAF && (p->judge || !me->n->attr.bound);
        if (kept) me->born = 0, me->dies = p->units;
    }
    for (f->position = 0; f->position < p->units; f->position++) {
        const plan_call *u = &p->unit[p->order[f->position]];
        plan_visit_reads(p, u, read, f);
        if (u->kind != PLAN_CALL_FUSED) {
            written(f, u->result);
            continue;
        }
        for (int i = 0; i < u->members; i++) {
            int c = p->member[u->first + i];
            if (p->cell[c].stored) written(f, c);
        }
    }
    for (int c = 0; c < p->cells; c++)
        if (p->cell[c].output) p->cell[p->cell[c].home].dies = p->units;
}

// Lists of homes by a position, linked through `next`.
static plumb_status by_position(plan *p, int **head, int **next, bool by_birth)
{
    *head = ARENA_ALLOC(p->mem, int, (p->units + 1));
    *next = ARENA_ALLOC(p->mem, int, p->cells);
    if (!*head || !*next) return PLUMB_EMEMORY;
    for (int i = 0; i <= p->units; i++) (*head)[i] = -1;
    for (int c = p->cells - 1; c >= 0; c--) {
        const plan_value *me = &p->cell[c];
        if (me->home != c || me->born < 0) continue;
        int at = by_birth ? me->born : me->dies;
        (*next)[c] = (*head)[at];
        (*head)[at] = c;
    }
    return PLUMB_OK;
}

plumb_status plan_memory(plan *p)
{
    placer f = {.p = p};
    f.gap = ARENA_ALLOC(p->mem, gap, (p->cells + 1));
    if (!f.gap) return PLUMB_EMEMORY;
    find_lives(&f);
    int *born, *next_born, *dies, *next_dies;
    plumb_status st = by_position(p, &born, &next_born, true);
    if (!st) st = by_position(p, &dies, &next_dies, false);
    if (st) return st;

    for (int i = 0; i <= p->units; i++) {
        for (int c = born[i]; c >= 0; c = next_born[c]) {
            int64_t size = grains(&p->cell[c]);
            p->cell[c].offset = take(&f, size);
            p->sum += size;
            p->biggest = size > p->biggest ? size : p->biggest;
        }
        for (int c = dies[i]; c >= 0; c = next_dies[c])
            give(&f, p->cell[c].offset, grains(&p->cell[c]));
    }
    p->block = f.top;
    return PLUMB_OK;
}
