// SPDX-License-Identifier: MIT
// Nodes in an arena, with a hash table of all operations made so far. A node is looked up there
// before it is made, so that equal operations on equal inputs are one node.
#include "engine/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/op_table.h"

struct graph {
    arena memory;
    plumb_status status;
    int count, capacity;
    graph_node **node;
    int buckets; // of the hash table; a power of two
    graph_node **bucket;
    graph_node placeholder;
};

plumb_status graph_create(graph **out)
{
    graph *g = calloc(1, sizeof *g);
    if (!g) return fail(PLUMB_EMEMORY, "out of memory for a graph");
    g->buckets = 1024;
    g->bucket = calloc((size_t)g->buckets, sizeof(graph_node *));
    if (!g->bucket) {
        free(g);
        return fail(PLUMB_EMEMORY, "out of memory for a graph");
    }
    g->placeholder = (graph_node){.op = OP_CONSTANT, .name = "placeholder"};
    *out = g;
    return PLUMB_OK;
}

void graph_free(graph *g)
{
    if (!g) return;
    arena_clear(&g->memory);
    free(g->node);
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
    return g->node[id];
}

arena *graph_memory(graph *g)
{
    return &g->memory;
}

graph_node *graph_error(graph *g, plumb_status status)
{
    if (!g->status) g->status = status;
    return &g->placeholder;
}

// ---- shapes ----

int64_t shape_count(const tensor_shape *shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape->rank; i++) n *= shape->size[i];
    return n;
}

bool shape_equal(const tensor_shape *a, const tensor_shape *b)
{
    return a->rank == b->rank && !memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size);
}

const char *shape_format(char *text, const tensor_shape *shape)
{
    int used = snprintf(text, SHAPE_TEXT_SIZE, "(");
    for (int i = 0; i < shape->rank; i++)
        used += snprintf(text + used, (size_t)(SHAPE_TEXT_SIZE - used), "%s%lld", i ? ", " : "",
                         (long long)shape->size[i]);
    snprintf(text + used, (size_t)(SHAPE_TEXT_SIZE - used), ")");
    return text;
}

// ---- hash table ----

static uint64_t hash_mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ (h >> 29);
}

// A hash of all that makes a node what it is: operation, parameters, inputs and shape.
static uint64_t hash_node(op_kind op, int inputs, graph_node *const *in, const op_attr *attr,
                          const tensor_shape *shape)
{
    uint64_t value;
    memcpy(&value, &attr->value, sizeof value);
    uint64_t h = hash_mix((uint64_t)op, value);
    h = hash_mix(h, (uint64_t)attr->start ^ (uint64_t)attr->axis << 40 ^
                        (uint64_t)attr->axes << 44 ^ (uint64_t)attr->ta << 48 ^
                        (uint64_t)attr->tb << 49);
    for (int i = 0; i < inputs; i++) h = hash_mix(h, (uint64_t)in[i]->id);
    for (int i = 0; i < shape->rank; i++) h = hash_mix(h, (uint64_t)shape->size[i]);
    return h;
}

// Compares values bit by bit, so that 0 and -0 differ and NaN equals itself.
static bool attr_equal(const op_attr *a, const op_attr *b)
{
    const conv_geometry *c = &a->conv, *d = &b->conv;
    return !memcmp(&a->value, &b->value, sizeof a->value) && a->ta == b->ta && a->tb == b->tb &&
           a->axis == b->axis && a->axes == b->axes && a->start == b->start && c->kh == d->kh &&
           c->kw == d->kw && c->stride == d->stride && c->top == d->top && c->left == d->left &&
           c->h == d->h && c->w == d->w;
}

// Whether an existing node is the one that is asked for.
static bool node_matches(const graph_node *node, op_kind op, int inputs, graph_node *const *in,
                         const op_attr *attr, const tensor_shape *shape)
{
    if (node->op != op || node->inputs != inputs || !shape_equal(&node->shape, shape)) return false;
    for (int i = 0; i < inputs; i++)
        if (node->in[i] != in[i]) return false;
    return attr_equal(&node->attr, attr);
}

// Doubles the buckets when there are as many nodes.
static plumb_status grow_buckets(graph *g)
{
    int buckets = g->buckets * 2;
    graph_node **bucket = calloc((size_t)buckets, sizeof(graph_node *));
    if (!bucket) return fail(PLUMB_EMEMORY, "out of memory for a graph of %d nodes", g->count);
    for (int i = 0; i < g->count; i++) {
        graph_node *node = g->node[i];
        if (node->op == OP_LEAF) continue;
        uint64_t h = hash_node(node->op, node->inputs, node->in, &node->attr, &node->shape);
        graph_node **slot = &bucket[h & (uint64_t)(buckets - 1)];
        node->next_hash = *slot;
        *slot = node;
    }
    free(g->bucket);
    g->bucket = bucket;
    g->buckets = buckets;
    return PLUMB_OK;
}

// ---- nodes ----

static graph_node *append_node(graph *g, op_kind op, int inputs, graph_node *const *in,
                               const op_attr *attr, const tensor_shape *shape)
{
    // Room for one more node in the list.
    if (g->count == g->capacity) {
        int capacity = g->capacity ? g->capacity * 2 : 256;
        graph_node **nodes = realloc(g->node, (size_t)capacity * sizeof(graph_node *));
        if (!nodes)
            return graph_error(
                g, fail(PLUMB_EMEMORY, "out of memory for a graph of %d nodes", capacity));
        g->node = nodes;
        g->capacity = capacity;
    }
    graph_node *node = ARENA_ALLOC(&g->memory, graph_node, 1);
    graph_node **inputs_copy = node ? ARENA_ALLOC(&g->memory, graph_node *, inputs) : NULL;
    if (!inputs_copy) return graph_error(g, PLUMB_EMEMORY);
    *node = (graph_node){
        .op = op, .id = g->count, .inputs = inputs, .in = inputs_copy, .shape = *shape};
    node->attr = *attr;
    // A node runs in the latest stage of its inputs.
    for (int i = 0; i < inputs; i++) {
        node->in[i] = in[i];
        if (in[i]->stage > node->stage) node->stage = in[i]->stage;
    }
    g->node[g->count++] = node;
    return node;
}

graph_node *graph_make_leaf(graph *g, const char *name, const tensor_shape *shape, int stage,
                            bool bound)
{
    if (g->status) return &g->placeholder;
    graph_node *node = append_node(g, OP_LEAF, 0, NULL, &(op_attr){.bound = bound}, shape);
    if (node == &g->placeholder) return node;
    node->stage = stage;
    node->name = arena_strdup(&g->memory, name);
    return node->name ? node : graph_error(g, PLUMB_EMEMORY);
}

graph_node *graph_make_node(graph *g, op_kind op, int inputs, graph_node *const *in,
                            const op_attr *attr, const tensor_shape *want)
{
    if (g->status) return &g->placeholder;
    tensor_shape shape = want ? *want : (tensor_shape){0};
    op_attr complete = *attr;
    plumb_status st = op_infer_shape(&shape, &complete, op, inputs, in);
    if (st) return graph_error(g, st);

    // Return the node if it exists.
    uint64_t h = hash_node(op, inputs, in, &complete, &shape);
    for (graph_node *node = g->bucket[h & (uint64_t)(g->buckets - 1)]; node; node = node->next_hash)
        if (node_matches(node, op, inputs, in, &complete, &shape)) return node;

    // Else make it and enter it into the hash table.
    if (g->count >= g->buckets && (st = grow_buckets(g))) return graph_error(g, st);
    graph_node *node = append_node(g, op, inputs, in, &complete, &shape);
    if (node == &g->placeholder) return node;
    graph_node **slot = &g->bucket[h & (uint64_t)(g->buckets - 1)];
    node->next_hash = *slot;
    *slot = node;
    return node;
}
