// SPDX-License-Identifier: MIT
// Nodes into units: elementwise chains into tapes, bias and leaky ReLU into the convolution before
// them, products into the totals they are added to.
//
// Which elementwise nodes may run as one tape? Give every node a level, the number of calls on the
// longest way to it. A way from one elementwise node to another through a call ends on a higher
// level, so nodes of one level and shape that feed each other can always be run together.
#include "engine/plan.h"

enum { FUSED_MAX_OPS = 16 }; // with two reads each they fit the tape's registers

static int new_unit(plan *p, plan_call_kind kind, int result)
{
    const graph_node *n = p->cell[result].n;
    p->unit[p->units] = (plan_call){.kind = kind,
                                    .stage = n->stage,
                                    .key = n->id,
                                    .result = result,
                                    .source = -1,
                                    .bias = -1,
                                    .slope = 1.0f};
    return p->units++;
}

static bool is_total_part(const plan *p, const graph_node *part)
{
    return op_info(part->op)->accumulates && p->cell[plan_value_index(p, part)].uses == 1;
}

// The vector that a sum adds to every row, or NULL.
static graph_node *bias_of(const graph_node *add, graph_node *conv)
{
    graph_node *other = add->in[0] == conv ? add->in[1] : add->in[0];
    bool plain =
        other->op == OP_BROADCAST && other->attr.axis == 0 && other->in[0]->shape.rank == 1;
    return plain ? other->in[0] : NULL;
}

static bool lone(const plan *p, const graph_node *n)
{
    const plan_value *c = &p->cell[plan_value_index(p, n)];
    return c->uses == 1 && !c->output;
}

static graph_node *lone_conv(const plan *p, const graph_node *n)
{
    for (int k = 0; k < n->inputs; k++) {
        graph_node *c = n->in[k];
        if ((c->op == OP_CONV || c->op == OP_UPCONV) && lone(p, c)) return c;
    }
    return NULL;
}

// conv, then bias, then leaky ReLU: one call, as long as nobody else looks at what is between.
static void absorb(plan *p)
{
    for (int c = 0; c < p->cells; c++) {
        graph_node *n = p->cell[c].n;
        if (n->op == OP_ADD) {
            graph_node *conv = lone_conv(p, n), *bias = conv ? bias_of(n, conv) : NULL;
            if (!bias || n->stage != conv->stage) continue;
            plan_call *u = &p->unit[p->cell[plan_value_index(p, conv)].unit];
            u->bias = plan_value_index(p, bias);
            u->result = c;
            p->cell[c].unit = p->cell[plan_value_index(p, conv)].unit;
        } else if (n->op == OP_LEAKY_RELU) {
            const graph_node *x = n->in[0];
            int u = p->cell[plan_value_index(p, x)].unit;
            bool after = x->op == OP_CONV || x->op == OP_UPCONV || (x->op == OP_ADD && u >= 0);
            if (!after || !lone(p, x)) continue;
            p->unit[u].slope = (float)n->attr.value;
            p->unit[u].result = c;
            p->cell[c].unit = u;
        }
    }
}

static void find_levels(plan *p)
{
    for (int c = 0; c < p->cells; c++) {
        plan_value *me = &p->cell[c];
        const graph_node *n = me->n;
        for (int k = 0; k < n->inputs; k++) {
            int l = p->cell[plan_value_index(p, n->in[k])].level;
            me->level = l > me->level ? l : me->level;
        }
        bool fused = op_elementwise(n->op) && me->unit < 0;
        // A broadcast only ever grows, so it cannot close a circle; every other move might.
        if (n->inputs && !fused && n->op != OP_BROADCAST) me->level++;
    }
}

static int root(int *parent, int c)
{
    while (parent[c] != c) c = parent[c] = parent[parent[c]];
    return c;
}

static bool tape_cell(const plan *p, int c)
{
    return !p->judge && op_elementwise(p->cell[c].n->op) && p->cell[c].unit < 0;
}

static plumb_status group(plan *p, int *parent)
{
    for (int c = 0; c < p->cells; c++) parent[c] = c;
    for (int c = 0; c < p->cells; c++) {
        if (!tape_cell(p, c)) continue;
        const graph_node *n = p->cell[c].n;
        for (int k = 0; k < n->inputs; k++) {
            int i = plan_value_index(p, n->in[k]);
            if (tape_cell(p, i) && p->cell[i].level == p->cell[c].level &&
                n->in[k]->stage == n->stage && shape_equal(&n->in[k]->shape, &n->shape))
                parent[root(parent, c)] = root(parent, i);
        }
    }
    return PLUMB_OK;
}

// Groups into tapes of bounded length, in order of creation: a later part needs only earlier ones.
static plumb_status make_tapes(plan *p)
{
    int *parent = ARENA_ALLOC(p->mem, int, p->cells);
    int *current = ARENA_ALLOC(p->mem, int, p->cells); // a group's tape that still has room, + 1
    int *next = ARENA_ALLOC(p->mem, int, p->cells);
    int *head = ARENA_ALLOC(p->mem, int, p->cells);
    if (!parent || !current || !next || !head) return PLUMB_EMEMORY;
    plumb_status st = group(p, parent);
    if (st) return st;
    for (int c = 0; c < p->cells; c++) {
        if (!tape_cell(p, c)) continue;
        int r = root(parent, c);
        if (!current[r] || p->unit[current[r] - 1].members == FUSED_MAX_OPS)
            current[r] = new_unit(p, PLAN_CALL_FUSED, c) + 1;
        p->unit[current[r] - 1].members++;
        head[c] = current[r];
    }
    int total = 0;
    for (int u = 0; u < p->units; u++)
        if (p->unit[u].kind == PLAN_CALL_FUSED) {
            p->unit[u].first = p->cells + total;
            total += p->unit[u].members;
            p->unit[u].members = 0;
        }
    for (int c = 0; c < p->cells; c++)
        if (head[c]) {
            plan_call *u = &p->unit[head[c] - 1];
            p->member[u->first + u->members++] = c;
            p->cell[c].unit = head[c] - 1;
        }
    return PLUMB_OK;
}

static void want(void *to, int c)
{
    ((plan *)to)->cell[c].stored = true;
}

// From the end: what is read from memory must be stored, and a view that is stored is computed.
static void find_stored(plan *p)
{
    for (int c = p->cells - 1; c >= 0; c--) {
        plan_value *me = &p->cell[c];
        if (me->output) me->stored = true;
        if (!p->judge && me->n->op == OP_RESHAPE) {
            if (me->stored) p->cell[plan_find_storage(p, c, false)].stored = true;
            continue;
        }
        if (me->unit < 0 && me->stored && me->n->op != OP_LEAF) {
            int u = new_unit(p, PLAN_CALL_OP, c);
            p->unit[u].first = c;
            p->unit[u].members = 1;
            me->unit = u;
        }
        if (me->unit < 0) continue;
        const plan_call *u = &p->unit[me->unit];
        if (u->kind == PLAN_CALL_FUSED ? p->member[u->first + u->members - 1] == c : u->result == c)
            plan_visit_reads(p, u, want, p);
    }
}

static void total_parts(plan *p, int c)
{
    const graph_node *n = p->cell[c].n;
    for (int k = 0; k < n->inputs; k++) {
        int part = plan_value_index(p, n->in[k]);
        if (is_total_part(p, n->in[k])) {
            p->cell[part].home = c;
            continue;
        }
        int u = new_unit(p, PLAN_CALL_ADD, c);
        p->unit[u].source = part;
        p->unit[u].key = n->in[k]->id;
        p->unit[u].stage = n->in[k]->stage;
    }
    p->cell[c].unit = new_unit(p, PLAN_CALL_NONE, c);
}

plumb_status plan_calls(plan *p)
{
    int most = 0; // a unit per cell, and one per part of a total
    for (int c = 0; c < p->cells; c++)
        most += 1 + (p->cell[c].n->op == OP_ADD_N ? p->cell[c].n->inputs : 0);
    p->unit = ARENA_ALLOC(p->mem, plan_call, most);
    p->member = ARENA_ALLOC(p->mem, int, (2 * (int64_t)p->cells));
    if (!p->unit || !p->member) return PLUMB_EMEMORY;

    for (int c = 0; c < p->cells; c++) {
        const graph_node *n = p->cell[c].n;
        p->member[c] = c;
        if (n->op == OP_LEAF ||
            (!p->judge && (op_elementwise(n->op) || plan_is_view(n) || n->op == OP_RESHAPE)))
            continue;
        if (!p->judge && n->op == OP_ADD_N) {
            total_parts(p, c);
            continue;
        }
        int u = p->cell[c].unit = new_unit(p, PLAN_CALL_OP, c);
        p->unit[u].first = c;
        p->unit[u].members = 1;
    }
    if (!p->judge) absorb(p);
    find_levels(p);
    plumb_status st = make_tapes(p);
    if (st) return st;
    for (int u = 0; u < p->units; u++)
        if (p->unit[u].kind == PLAN_CALL_ADD)
            want(p, plan_find_storage(p, p->unit[u].source, false));
    find_stored(p);
    return PLUMB_OK;
}
