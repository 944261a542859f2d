// SPDX-License-Identifier: MIT
// Nodes in an arena, hashed on creation.
#include "engine/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/op.h"

struct graph {
    arena mem;
    plumb_status status;
    int count, room;
    graph_node **at;
    int buckets; // a power of two
    graph_node **bucket;
    graph_node blank;
};

plumb_status graph_create(graph **out)
{
    graph *g = calloc(1, sizeof *g);
    if (!g) return fail(PLUMB_EMEMORY, "no memory for a graph");
    g->buckets = 1024;
    g->bucket = calloc((size_t)g->buckets, sizeof(graph_node *));
    if (!g->bucket) {
        free(g);
        return fail(PLUMB_EMEMORY, "no memory for a graph");
    }
    g->blank = (graph_node){.op = OP_CONSTANT, .name = "blank"};
    *out = g;
    return PLUMB_OK;
}

void graph_free(graph *g)
{
    if (!g) return;
    arena_clear(&g->mem);
    free(g->at);
    free(g->bucket);
    free(g);
}

plumb_status graph_status(const graph *g)
{
    return g->status;
}

int graph_size(const graph *g)
{
    return g->count;
}

graph_node *graph_get_node(const graph *g, int id)
{
    return g->at[id];
}

arena *graph_memory(graph *g)
{
    return &g->mem;
}

graph_node *graph_error(graph *g, plumb_status status)
{
    if (!g->status) g->status = status;
    return &g->blank;
}

int64_t shape_count(const tensor_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->size[i];
    return n;
}

bool shape_equal(const tensor_shape *a, const tensor_shape *b)
{
    return a->rank == b->rank && !memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size);
}

const char *shape_format(char *text, const tensor_shape *s)
{
    int used = snprintf(text, 96, "(");
    for (int i = 0; i < s->rank; i++)
        used += snprintf(text + used, (size_t)(96 - used), "%s%lld", i ? ", " : "",
                         (long long)s->size[i]);
    snprintf(text + used, (size_t)(96 - used), ")");
    return text;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ (h >> 29);
}

static uint64_t hash_of(int op, int inputs, graph_node *const *in, const op_attr *a,
                        const tensor_shape *s)
{
    uint64_t value;
    memcpy(&value, &a->value, sizeof value);
    uint64_t h = mix((uint64_t)op, value);
    h = mix(h, (uint64_t)a->start ^ (uint64_t)a->axis << 40 ^ (uint64_t)a->axes << 44 ^
                   (uint64_t)a->ta << 48 ^ (uint64_t)a->tb << 49);
    for (int i = 0; i < inputs; i++) h = mix(h, (uint64_t)in[i]->id);
    for (int i = 0; i < s->rank; i++) h = mix(h, (uint64_t)s->size[i]);
    return h;
}

static bool same_attr(const op_attr *a, const op_attr *b)
{
    const conv_geometry *c = &a->conv, *d = &b->conv;
    return !memcmp(&a->value, &b->value, sizeof a->value) && a->ta == b->ta && a->tb == b->tb &&
           a->axis == b->axis && a->axes == b->axes && a->start == b->start && c->kh == d->kh &&
           c->kw == d->kw && c->stride == d->stride && c->top == d->top && c->left == d->left &&
           c->h == d->h && c->w == d->w;
}

static bool same_node(const graph_node *n, int op, int inputs, graph_node *const *in,
                      const op_attr *attr, const tensor_shape *s)
{
    if (n->op != op || n->inputs != inputs || !shape_equal(&n->shape, s)) return false;
    for (int i = 0; i < inputs; i++)
        if (n->in[i] != in[i]) return false;
    return same_attr(&n->attr, attr);
}

// Twice the buckets once there is a node for each.
static plumb_status widen(graph *g)
{
    int buckets = g->buckets * 2;
    graph_node **bucket = calloc((size_t)buckets, sizeof(graph_node *));
    if (!bucket) return fail(PLUMB_EMEMORY, "no memory for a graph of %d nodes", g->count);
    for (int i = 0; i < g->count; i++) {
        graph_node *n = g->at[i];
        if (n->op == OP_LEAF) continue;
        uint64_t h = hash_of(n->op, n->inputs, n->in, &n->attr, &n->shape);
        graph_node **b = &bucket[h & (uint64_t)(buckets - 1)];
        n->next = *b;
        *b = n;
    }
    free(g->bucket);
    g->bucket = bucket;
    g->buckets = buckets;
    return PLUMB_OK;
}

static graph_node *append(graph *g, int op, int inputs, graph_node *const *in, const op_attr *attr,
                          const tensor_shape *s)
{
    if (g->count == g->room) {
        int room = g->room ? g->room * 2 : 256;
        graph_node **at = realloc(g->at, (size_t)room * sizeof(graph_node *));
        if (!at)
            return graph_error(g, fail(PLUMB_EMEMORY, "no memory for a graph of %d nodes", room));
        g->at = at;
        g->room = room;
    }
    graph_node *n = ARENA_ALLOC(&g->mem, graph_node, 1);
    graph_node **inputs_copy = n ? ARENA_ALLOC(&g->mem, graph_node *, inputs) : NULL;
    if (!inputs_copy) return graph_error(g, PLUMB_EMEMORY);
    *n = (graph_node){.op = op, .id = g->count, .inputs = inputs, .in = inputs_copy, .shape = *s};
    n->attr = *attr;
    for (int i = 0; i < inputs; i++) {
        n->in[i] = in[i];
        if (in[i]->stage > n->stage) n->stage = in[i]->stage;
    }
    g->at[g->count++] = n;
    return n;
}

graph_node *graph_make_leaf(graph *g, const char *name, const tensor_shape *s, int stage,
                            bool bound)
{
    if (g->status) return &g->blank;
    graph_node *n = append(g, OP_LEAF, 0, NULL, &(op_attr){.bound = bound}, s);
    if (n == &g->blank) return n;
    n->stage = stage;
    n->name = arena_strdup(&g->mem, name);
    return n->name ? n : graph_error(g, PLUMB_EMEMORY);
}

graph_node *graph_make_node(graph *g, int op, int inputs, graph_node *const *in,
                            const op_attr *attr, const tensor_shape *want)
{
    if (g->status) return &g->blank;
    tensor_shape s = want ? *want : (tensor_shape){0};
    op_attr a = *attr;
    plumb_status st = op_shape(&s, &a, op, inputs, in);
    if (st) return graph_error(g, st);

    uint64_t h = hash_of(op, inputs, in, &a, &s);
    for (graph_node *n = g->bucket[h & (uint64_t)(g->buckets - 1)]; n; n = n->next)
        if (same_node(n, op, inputs, in, &a, &s)) return n;

    if (g->count >= g->buckets && (st = widen(g))) return graph_error(g, st);
    graph_node *n = append(g, op, inputs, in, &a, &s);
    if (n == &g->blank) return n;
    graph_node **b = &g->bucket[h & (uint64_t)(g->buckets - 1)];
    n->next = *b;
    *b = n;
    return n;
}
