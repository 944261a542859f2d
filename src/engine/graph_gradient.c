// SPDX-License-Identifier: MIT
// Gradients as graphs, by reverse accumulation: from the last node to the first, sum the cotangents
// that reach a node and pass them on to its inputs by the operation's gradient rule. The result is
// made of ordinary nodes, so it can be differentiated again.
#include "engine/op.h"
#include "engine/op_table.h"

// One of the cotangents that reach a node; a list.
typedef struct cotangent_share {
    graph_node *value;
    struct cotangent_share *next;
} cotangent_share;

typedef struct gradient_walk {
    graph *graph;
    arena memory;
    int first, last;          // range of node ids that can matter
    bool *depends_on_x;       // by id - first: it depends on one of the x
    bool *is_variable;        // by id - first: it is one of the x, so nothing is passed on from it
    cotangent_share **shares; // by id - first, newest first
    int *count;               // by id - first: number of its shares
} gradient_walk;

// Adds `value` to the cotangent of node `to`, if that matters. False if out of memory.
static bool add_share(gradient_walk *walk, graph_node *to, graph_node *value)
{
    if (!value || to->id < walk->first || to->id > walk->last ||
        !walk->depends_on_x[to->id - walk->first])
        return true;
    cotangent_share *share = ARENA_ALLOC(&walk->memory, cotangent_share, 1);
    if (!share) return false;
    int i = to->id - walk->first;
    *share = (cotangent_share){.value = value, .next = walk->shares[i]};
    walk->shares[i] = share;
    walk->count[i]++;
    return true;
}

// The cotangents of disjoint slices of one array: concatenates them instead of padding each with
// zeros and adding all. NULL if they are something else. Sorts `slices`.
static graph_node *concat_slices(gradient_walk *walk, graph_node **slices, int count,
                                 const tensor_shape *whole)
{
    int axis = slices[0]->attr.axis;
    for (int j = 0; j < count; j++)
        if (slices[j]->op != OP_PAD_SLICE || slices[j]->attr.axis != axis) return NULL;
    // Insertion sort by the start of the slice.
    for (int j = 1; j < count; j++)
        for (int k = j; k > 0 && slices[k]->attr.start < slices[k - 1]->attr.start; k--) {
            graph_node *swap = slices[k];
            slices[k] = slices[k - 1];
            slices[k - 1] = swap;
        }
    graph_node **parts = ARENA_ALLOC(&walk->memory, graph_node *, (2 * (int64_t)count + 1));
    if (!parts) return NULL;
    // The slices in order, with zeros in the gaps between them.
    int parts_count = 0;
    int64_t end = 0;
    for (int j = 0; j <= count; j++) {
        int64_t start = j < count ? slices[j]->attr.start : whole->size[axis];
        tensor_shape gap = *whole;
        gap.size[axis] = start - end;
        if (start < end) return NULL;
        if (start > end) parts[parts_count++] = op_constant(walk->graph, 0.0, &gap);
        if (j == count) break;
        parts[parts_count++] = slices[j]->in[0];
        end = start + slices[j]->in[0]->shape.size[axis];
    }
    return op_concat(walk->graph, parts, parts_count, axis);
}

// The cotangent of a node: the sum of its shares in the order in which they were found.
static graph_node *sum_shares(gradient_walk *walk, int i)
{
    int count = walk->count[i];
    graph_node **all = ARENA_ALLOC(&walk->memory, graph_node *, count);
    if (!all) return NULL;
    cotangent_share *share = walk->shares[i];
    for (int j = count - 1; j >= 0; j--, share = share->next) all[j] = share->value;
    graph_node *joined =
        count > 1
            ? concat_slices(walk, all, count, &graph_get_node(walk->graph, walk->first + i)->shape)
            : NULL;
    return joined ? joined : op_add_n(walk->graph, all, count);
}

// From the last node to the first; total[id - first] is the cotangent of a node.
static plumb_status propagate_backward(gradient_walk *walk, graph_node **total)
{
    for (int id = walk->last; id >= walk->first; id--) {
        int i = id - walk->first;
        if (!walk->depends_on_x[i] || !walk->count[i]) continue;
        graph_node *y = graph_get_node(walk->graph, id);
        graph_node *dy = total[i] = sum_shares(walk, i);
        if (!dy) return PLUMB_EMEMORY;
        void (*rule)(graph *, graph_node **, graph_node *, graph_node *) = op_info(y->op)->gradient;
        if (!rule || walk->is_variable[i]) continue;
        graph_node **d = ARENA_ALLOC(&walk->memory, graph_node *, y->inputs);
        if (!d) return PLUMB_EMEMORY;
        rule(walk->graph, d, y, dy);
        for (int k = 0; k < y->inputs; k++)
            if (!add_share(walk, y->in[k], d[k])) return PLUMB_EMEMORY;
    }
    return graph_status(walk->graph);
}

// A node depends on x if it is one of them or one of its inputs does.
static void mark_dependent(gradient_walk *walk, graph_node *const *x, int xs)
{
    for (int i = 0; i < xs; i++)
        if (x[i]->id <= walk->last)
            walk->depends_on_x[x[i]->id - walk->first] = walk->is_variable[x[i]->id - walk->first] =
                true;
    for (int id = walk->first; id <= walk->last; id++) {
        const graph_node *node = graph_get_node(walk->graph, id);
        for (int k = 0; k < node->inputs && !walk->depends_on_x[id - walk->first]; k++)
            if (node->in[k]->id >= walk->first)
                walk->depends_on_x[id - walk->first] =
                    walk->depends_on_x[node->in[k]->id - walk->first];
    }
}

static plumb_status build_gradient(gradient_walk *walk, graph_node **dx, graph_node *const *x,
                                   int xs, graph_node *const *y, graph_node *const *seed, int ys)
{
    // Only nodes from the first x to the last y can matter.
    walk->first = x[0]->id;
    for (int i = 0; i < xs; i++) walk->first = x[i]->id < walk->first ? x[i]->id : walk->first;
    walk->last = walk->first;
    for (int j = 0; j < ys; j++) walk->last = y[j]->id > walk->last ? y[j]->id : walk->last;
    int span = walk->last - walk->first + 1;
    walk->depends_on_x = ARENA_ALLOC(&walk->memory, bool, span);
    walk->is_variable = ARENA_ALLOC(&walk->memory, bool, span);
    walk->shares = ARENA_ALLOC(&walk->memory, cotangent_share *, span);
    walk->count = ARENA_ALLOC(&walk->memory, int, span);
    graph_node **total = ARENA_ALLOC(&walk->memory, graph_node *, span);
    if (!walk->depends_on_x || !walk->is_variable || !walk->shares || !walk->count || !total)
        return PLUMB_EMEMORY;
    mark_dependent(walk, x, xs);

    // The cotangents of the outputs are the seeds.
    for (int j = 0; j < ys; j++) {
        char text_a[SHAPE_TEXT_SIZE], text_b[SHAPE_TEXT_SIZE];
        if (seed && seed[j] && !shape_equal(&seed[j]->shape, &y[j]->shape))
            return fail(PLUMB_ESHAPE, "a seed %s for the gradient of %s",
                        shape_format(text_a, &seed[j]->shape), shape_format(text_b, &y[j]->shape));
        graph_node *cotangent =
            seed && seed[j] ? seed[j] : op_constant(walk->graph, 1.0, &y[j]->shape);
        if (!add_share(walk, y[j], cotangent)) return PLUMB_EMEMORY;
    }

    plumb_status st = propagate_backward(walk, total);
    if (st) return st;
    for (int i = 0; i < xs; i++) {
        graph_node *total_of_x = x[i]->id <= walk->last ? total[x[i]->id - walk->first] : NULL;
        dx[i] = total_of_x ? total_of_x : op_zeros_like(walk->graph, x[i]);
    }
    return PLUMB_OK;
}

void graph_gradient(graph *g, graph_node **dx, graph_node *const *x, int xs, graph_node *const *y,
                    graph_node *const *seed, int ys)
{
    gradient_walk walk = {.graph = g};
    plumb_status st = graph_status(g);
    if (!st && xs) st = build_gradient(&walk, dx, x, xs, y, seed, ys);
    if (st) {
        graph_node *placeholder = graph_error(g, st);
        for (int i = 0; i < xs; i++) dx[i] = placeholder;
    }
    arena_clear(&walk.memory);
}
