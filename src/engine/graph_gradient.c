// SPDX-License-Identifier: MIT
// Gradients as graphs: the walk from the end that applies each operation's rule.
#include "engine/op.h"

// The cotangents that reach a node, in the order they are found.
typedef struct share {
    graph_node *value;
    struct share *next;
} share;

typedef struct walk {
    graph *g;
    arena mem;
    int first, last; // ids that matter
    bool *needs;     // depends on one of the x
    bool *ends;      // is one of them: they are variables, whatever they were made of
    share **shares;  // by id - first, newest first
    int *count;
} walk;

static bool contribute(walk *w, graph_node *to, graph_node *value)
{
    if (!value || to->id < w->first || to->id > w->last || !w->needs[to->id - w->first])
        return true;
    share *s = ARENA_ALLOC(&w->mem, share, 1);
    if (!s) return false;
    int i = to->id - w->first;
    *s = (share){.value = value, .next = w->shares[i]};
    w->shares[i] = s;
    w->count[i]++;
    return true;
}

// Cotangents of slices that share no place: side by side in one array instead of each in zeros of
// its own, added up. NULL if that is not what they are. Sorts `all`.
static graph_node *side_by_side(walk *w, graph_node **all, int n, const tensor_shape *whole)
{
    int axis = all[0]->attr.axis;
    for (int j = 0; j < n; j++)
        if (all[j]->op != OP_PAD_SLICE || all[j]->attr.axis != axis) return NULL;
    for (int j = 1; j < n; j++)
        for (int k = j; k > 0 && all[k]->attr.start < all[k - 1]->attr.start; k--) {
            graph_node *swap = all[k];
            all[k] = all[k - 1];
            all[k - 1] = swap;
        }
    graph_node **parts = ARENA_ALLOC(&w->mem, graph_node *, (2 * (int64_t)n + 1));
    if (!parts) return NULL;
    int count = 0;
    int64_t at = 0;
    for (int j = 0; j <= n; j++) {
        int64_t start = j < n ? all[j]->attr.start : whole->size[axis];
        tensor_shape gap = *whole;
        gap.size[axis] = start - at;
        if (start < at) return NULL;
        if (start > at) parts[count++] = op_constant(w->g, 0.0, &gap);
        if (j == n) break;
        parts[count++] = all[j]->in[0];
        at = start + all[j]->in[0]->shape.size[axis];
    }
    return op_concat(w->g, parts, count, axis);
}

static graph_node *collect(walk *w, int i)
{
    int n = w->count[i];
    graph_node **all = ARENA_ALLOC(&w->mem, graph_node *, n);
    if (!all) return NULL;
    share *s = w->shares[i];
    for (int j = n - 1; j >= 0; j--, s = s->next) all[j] = s->value;
    graph_node *joined =
        n > 1 ? side_by_side(w, all, n, &graph_get_node(w->g, w->first + i)->shape) : NULL;
    return joined ? joined : op_add_n(w->g, all, n);
}

static plumb_status backwards(walk *w, graph_node **total)
{
    for (int id = w->last; id >= w->first; id--) {
        int i = id - w->first;
        if (!w->needs[i] || !w->count[i]) continue;
        graph_node *y = graph_get_node(w->g, id);
        graph_node *dy = total[i] = collect(w, i);
        if (!dy) return PLUMB_EMEMORY;
        void (*rule)(graph *, graph_node **, graph_node *, graph_node *) = op_info(y->op)->gradient;
        if (!rule || w->ends[i]) continue;
        graph_node **d = ARENA_ALLOC(&w->mem, graph_node *, y->inputs);
        if (!d) return PLUMB_EMEMORY;
        rule(w->g, d, y, dy);
        for (int k = 0; k < y->inputs; k++)
            if (!contribute(w, y->in[k], d[k])) return PLUMB_EMEMORY;
    }
    return graph_status(w->g);
}

static void mark_needs(walk *w, graph_node *const *x, int xs)
{
    for (int i = 0; i < xs; i++)
        if (x[i]->id <= w->last)
            w->needs[x[i]->id - w->first] = w->ends[x[i]->id - w->first] = true;
    for (int id = w->first; id <= w->last; id++) {
        const graph_node *n = graph_get_node(w->g, id);
        for (int k = 0; k < n->inputs && !w->needs[id - w->first]; k++)
            if (n->in[k]->id >= w->first)
                w->needs[id - w->first] = w->needs[n->in[k]->id - w->first];
    }
}

static plumb_status differentiate(walk *w, graph_node **dx, graph_node *const *x, int xs,
                                  graph_node *const *y, graph_node *const *seed, int ys)
{
    w->first = x[0]->id;
    for (int i = 0; i < xs; i++) w->first = x[i]->id < w->first ? x[i]->id : w->first;
    w->last = w->first;
    for (int j = 0; j < ys; j++) w->last = y[j]->id > w->last ? y[j]->id : w->last;
    int span = w->last - w->first + 1;
    w->needs = ARENA_ALLOC(&w->mem, bool, span);
    w->ends = ARENA_ALLOC(&w->mem, bool, span);
    w->shares = ARENA_ALLOC(&w->mem, share *, span);
    w->count = ARENA_ALLOC(&w->mem, int, span);
    graph_node **total = ARENA_ALLOC(&w->mem, graph_node *, span);
    if (!w->needs || !w->ends || !w->shares || !w->count || !total) return PLUMB_EMEMORY;
    mark_needs(w, x, xs);

    for (int j = 0; j < ys; j++) {
        char a[96], b[96];
        if (seed && seed[j] && !shape_equal(&seed[j]->shape, &y[j]->shape))
            return fail(PLUMB_ESHAPE, "a seed %s for the gradient of %s",
                        shape_format(a, &seed[j]->shape), shape_format(b, &y[j]->shape));
        graph_node *s = seed && seed[j] ? seed[j] : op_constant(w->g, 1.0, &y[j]->shape);
        if (!contribute(w, y[j], s)) return PLUMB_EMEMORY;
    }
    plumb_status st = backwards(w, total);
    if (st) return st;
    for (int i = 0; i < xs; i++) {
        graph_node *t = x[i]->id <= w->last ? total[x[i]->id - w->first] : NULL;
        dx[i] = t ? t : op_zeros_like(w->g, x[i]);
    }
    return PLUMB_OK;
}

void graph_gradient(graph *g, graph_node **dx, graph_node *const *x, int xs, graph_node *const *y,
                    graph_node *const *seed, int ys)
{
    walk w = {.g = g};
    plumb_status st = graph_status(g);
    if (!st && xs) st = differentiate(&w, dx, x, xs, y, seed, ys);
    if (st) {
        graph_node *blank = graph_error(g, st);
        for (int i = 0; i < xs; i++) dx[i] = blank;
    }
    arena_clear(&w.mem);
}
