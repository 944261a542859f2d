// SPDX-License-Identifier: MIT
// Thousands of random small graphs: shared parts, views of views, sums of many arrays, two
// stages, gradients of gradients. The fast form must give what the reference gives, on memory that
// an earlier run on other numbers used, and the same bits again.
#include <stdio.h>

#include "engine/op.h"
#include "engine/op_table.h"
#include "engine/run_graph.h"

enum { NODES = 160, GRAPHS = 4000, OUTPUTS = 8, LEAVES = 5 };

typedef struct random_graph {
    graph *g;
    rng r;
    int count;
    graph_node *at[NODES];
    int leaves;
    graph_node *leaf[LEAVES];
} random_graph;

static int64_t random_below(random_graph *sample, int64_t n)
{
    return rng_below(&sample->r, n);
}

static graph_node *pick_node(random_graph *sample)
{
    return sample->at[random_below(sample, sample->count)];
}

static void add_node(random_graph *sample, graph_node *n)
{
    if (sample->count < NODES) sample->at[sample->count++] = n;
}

// Another node of this shape, or the node itself.
static graph_node *pick_node_like(random_graph *sample, graph_node *x)
{
    int64_t from = random_below(sample, sample->count);
    for (int i = 0; i < sample->count; i++) {
        graph_node *y = sample->at[(from + i) % sample->count];
        if (y != x && shape_equal(&x->shape, &y->shape)) return y;
    }
    return x;
}

static void add_random_leaf(random_graph *sample, int rank)
{
    int64_t size[GRAPH_MAX_RANK], side = 2 * (1 + random_below(sample, 2));
    for (int i = 0; i < rank; i++) size[i] = 1 + random_below(sample, 4);
    if (rank == 4) size[1] = size[2] = side;
    char name[2] = {(char)('a' + sample->leaves), 0};
    bool late = random_below(sample, 3) == 0;
    graph_node *n = !late && random_below(sample, 2) ? op_parameter(sample->g, name, rank, size)
                                                     : op_input(sample->g, name, late, rank, size);
    add_node(sample, sample->leaf[sample->leaves++] = n);
}

// Bounded functions: what grows here would drown the differences.
static graph_node *grow_elementwise(random_graph *sample, graph_node *x)
{
    graph *g = sample->g;
    switch (random_below(sample, 12)) {
    case 0: return op_add(g, x, pick_node_like(sample, x));
    case 1: return op_subtract(g, pick_node_like(sample, x), x);
    case 2: return op_multiply(g, op_tanh(g, x), pick_node_like(sample, x));
    case 3: return op_divide(g, x, op_add_scalar(g, op_square(g, pick_node_like(sample, x)), 1.0));
    case 4: return op_sin(g, x);
    case 5: return op_cos(g, x);
    case 6: return op_sigmoid(g, x);
    case 7: return op_softplus(g, x);
    case 8: return op_swish(g, x);
    case 9: return op_sqrt(g, op_add_scalar(g, op_square(g, x), 0.5));
    case 10: return op_exp(g, op_scale(g, op_tanh(g, x), 0.5));
    default: return op_scale(g, op_add_scalar(g, x, 0.25), 0.5);
    }
}

static graph_node *pick_flat_node(random_graph *sample, graph_node *x)
{
    int64_t n = shape_count(&x->shape), rows = x->shape.rank ? x->shape.size[0] : 1;
    return op_reshape(sample->g, x, 2, (int64_t[]){rows, n / rows});
}

// x times another, whichever way round they fit; what is wrong in size is cut.
static graph_node *grow_product(random_graph *sample, graph_node *x)
{
    graph_node *a = pick_flat_node(sample, x), *b = pick_flat_node(sample, pick_node(sample));
    bool ta = random_below(sample, 2), tb = random_below(sample, 2);
    int64_t inner = a->shape.size[!ta], other = b->shape.size[tb];
    int64_t both = inner < other ? inner : other;
    a = op_slice(sample->g, a, !ta, random_below(sample, inner - both + 1), both);
    b = op_slice(sample->g, b, tb, random_below(sample, other - both + 1), both);
    return op_scale(sample->g, op_matmul(sample->g, a, b, ta, tb), 0.5);
}

static graph_node *grow_total(random_graph *sample, graph_node *x)
{
    graph_node *parts[5], *rows = pick_flat_node(sample, x);
    int count = 2 + (int)random_below(sample, 3);
    graph_node *square = op_tanh(sample->g, op_matmul(sample->g, rows, rows, true, false));
    parts[0] = rows;
    for (int i = 1; i < count; i++) {
        graph_node *y = pick_flat_node(sample, pick_node_like(sample, x));
        parts[i] = random_below(sample, 3) ? op_matmul(sample->g, op_tanh(sample->g, y), square,
                                                       false, random_below(sample, 2) == 0)
                                           : y;
        if (random_below(sample, 2)) add_node(sample, parts[i]); // of use to others too
    }
    parts[count++] = op_matmul(sample->g, rows, square, false, false);
    return op_tanh(sample->g, op_add_n(sample->g, parts, count));
}

static graph_node *grow_view(random_graph *sample, graph_node *x)
{
    graph *g = sample->g;
    int rank = x->shape.rank, axis = rank ? (int)random_below(sample, rank) : 0;
    int64_t size = rank ? x->shape.size[axis] : 1, start = random_below(sample, size);
    switch (rank ? random_below(sample, 6) : 5) {
    case 0: return op_slice(g, x, axis, start, 1 + random_below(sample, size - start));
    case 1: return op_pad_slice(g, x, axis, start, size + start + random_below(sample, 2));
    case 2:
        return op_concat(g, (graph_node *[]){x, pick_node_like(sample, x), x},
                         2 + (int)random_below(sample, 2), axis);
    case 3: return op_sum(g, x, axis, 1 + (int)random_below(sample, rank - axis));
    case 4: return pick_flat_node(sample, x);
    default:
        if (rank > 3) return op_sum_per_item(g, x);
        return op_broadcast(g, x, (int)random_below(sample, rank + 1), 1,
                            (int64_t[]){1 + random_below(sample, 3)});
    }
}

static graph_node *grow_image(random_graph *sample, graph_node *x)
{
    graph *g = sample->g;
    graph_node *w = NULL, *bias = NULL;
    if (x->shape.rank != 4 || x->shape.size[1] < 2 || x->shape.size[1] > 4) return NULL;
    int64_t channels = x->shape.size[3], from = random_below(sample, sample->count), kernel = 3;
    for (int i = 0; i < sample->count && !w; i++) {
        graph_node *y = sample->at[(from + i) % sample->count];
        if (y->shape.rank == 2 && y->shape.size[0] == channels) w = y;
    }
    if (!w) return NULL;
    int64_t out = w->shape.size[1];
    graph_node *spread = op_broadcast(g, w, 0, 2, (int64_t[]){kernel, kernel});
    if (random_below(sample, 2)) spread = op_sin(g, spread);
    graph_node *y = random_below(sample, 2) && x->shape.size[1] == 2
                        ? op_upconv(g, x, spread)
                        : op_conv(g, x, spread, 1 + (int)random_below(sample, 2), OP_SAME);
    for (int i = 0; i < sample->count; i++)
        if (sample->at[i]->shape.rank == 1 && sample->at[i]->shape.size[0] == out)
            bias = sample->at[i];
    if (bias) y = op_bias(g, y, bias);
    add_node(sample, y);
    return random_below(sample, 2) ? op_leaky_relu(g, y, 0.2) : op_tanh(g, y);
}

static void add_random_op(random_graph *sample)
{
    graph_node *x = pick_node(sample), *y = NULL;
    if (shape_count(&x->shape) > 600) return;
    switch (random_below(sample, 8)) {
    case 0: y = grow_product(sample, x); break;
    case 1: y = grow_total(sample, x); break;
    case 2:
    case 3: y = grow_view(sample, x); break;
    case 4: y = grow_image(sample, x); break;
    default: y = grow_elementwise(sample, x);
    }
    if (y && shape_count(&y->shape) < 2000) add_node(sample, y);
}

static void grow_gradient(random_graph *sample)
{
    graph_node *d[LEAVES],
        *y[2] = {op_tanh(sample->g, pick_node(sample)), op_sin(sample->g, pick_node(sample))};
    graph_gradient(sample->g, d, sample->leaf, sample->leaves, y, NULL, 2);
    for (int i = 0; i < sample->leaves; i++) add_node(sample, d[i]);
}

static void garden_plant(random_graph *sample, uint64_t seed)
{
    *sample = (random_graph){.r = rng_at(2024, seed)};
    CHECK_OK(graph_create(&sample->g));
    add_random_leaf(sample, 2);
    add_random_leaf(sample, 4);
    for (int i = 2; i < LEAVES; i++) add_random_leaf(sample, 1 + (int)random_below(sample, 4));
    int size = 4 + (int)random_below(sample, 20);
    for (int i = 0; i < size; i++) add_random_op(sample);
    if (random_below(sample, 2)) grow_gradient(sample);
    if (random_below(sample, 4) == 0) grow_gradient(sample);
    for (int i = 0; i < 3; i++) add_random_op(sample);
    CHECK_OK(graph_status(sample->g));
}

// Numbers for the leaves: themselves, the same a few roundings off, and NaN.
enum { TRUE_ONES, NEAR_ONES, WILD_ONES, KINDS };
typedef struct values {
    double *leaf[KINDS][LEAVES];
    float *bound[LEAVES];
} values;

// The leaves of one stage. Those of later ones hold NaN until their time has come.
static void set_leaves(graph_runner m, const random_graph *sample, values *v, int stage, int kind)
{
    for (int i = 0; i < sample->leaves; i++) {
        const graph_node *leaf = sample->leaf[i];
        if (leaf->stage < stage) continue;
        const double *x = v->leaf[leaf->stage > stage ? WILD_ONES : kind][i];
        for (int64_t k = 0; k < shape_count(&leaf->shape); k++) v->bound[i][k] = (float)x[k];
        instance_set(m.i, leaf, x);
        if (leaf->attr.bound) instance_bind(m.i, leaf, v->bound[i]);
    }
}

// Outputs are read as soon as their stage has run.
static void run_with(double **out, graph_runner m, const random_graph *sample, values *v, int kind,
                     graph_node *const *output, int outputs)
{
    for (int s = 0; s < 2; s++) {
        set_leaves(m, sample, v, s, kind);
        if (s < program_stats(m.p).stages) instance_run(m.i, s);
        for (int i = 0; i < outputs; i++)
            if (output[i]->stage == s) instance_get(m.i, i, out[i]);
    }
}

static double max_difference(const double *a, const double *b, int64_t n)
{
    double most = 0.0;
    for (int64_t k = 0; k < n; k++) {
        if (isnan(a[k]) || isnan(b[k])) return INFINITY;
        most = fmax(most, fabs(a[k] - b[k]));
    }
    return most;
}

// Some graphs magnify roundings: how much, the reference shows with leaves that differ by a few
// roundings.
static void compare_forms(const random_graph *sample, graph_node *const *output, int outputs,
                          uint64_t seed, values *v)
{
    graph_runner reference = runner_start(sample->g, output, outputs, PROGRAM_REFERENCE);
    graph_runner fast = runner_start(sample->g, output, outputs, PROGRAM_FAST);
    double *want[OUTPUTS], *near[OUTPUTS], *got[OUTPUTS], *again[OUTPUTS];
    for (int i = 0; i < outputs; i++) {
        int64_t n = shape_count(&output[i]->shape);
        want[i] = new_numbers(n), near[i] = new_numbers(n), got[i] = new_numbers(n),
        again[i] = new_numbers(n);
    }
    run_with(near, reference, sample, v, NEAR_ONES, output, outputs);
    run_with(want, reference, sample, v, TRUE_ONES, output, outputs);
    run_with(got, fast, sample, v, TRUE_ONES, output, outputs);
    run_with(again, fast, sample, v, WILD_ONES, output,
             outputs); // leaves NaN wherever a value was
    run_with(again, fast, sample, v, TRUE_ONES, output, outputs);
    for (int i = 0; i < outputs; i++) {
        int64_t n = shape_count(&output[i]->shape);
        double most = 1.0, error = max_difference(got[i], want[i], n);
        for (int64_t k = 0; k < n; k++) most = fmax(most, fabs(want[i][k]));
        if (!(error <= 1e-4 * most + 10.0 * max_difference(near[i], want[i], n)))
            fail_msg("graph %d, output %d (%s): fast is %g from the reference, of %g", (int)seed, i,
                     op_info(output[i]->op)->name, error, most);
        if (memcmp(got[i], again[i], (size_t)n * sizeof(double)))
            fail_msg("graph %d, output %d: other bits the second time", (int)seed, i);
        free(want[i]), free(near[i]), free(got[i]), free(again[i]);
    }
    runner_stop(reference), runner_stop(fast);
}

static void draw_graph(values *v, const random_graph *sample, uint64_t seed)
{
    for (int i = 0; i < sample->leaves; i++) {
        int64_t n = shape_count(&sample->leaf[i]->shape);
        double *moved = random_numbers(n, 10 * seed + 5 + (uint64_t)i);
        v->leaf[TRUE_ONES][i] = random_numbers(n, 10 * seed + (uint64_t)i);
        v->leaf[NEAR_ONES][i] = new_numbers(n);
        v->leaf[WILD_ONES][i] = new_numbers(n);
        v->bound[i] = calloc((size_t)n + 1, sizeof(float));
        for (int64_t k = 0; k < n; k++) {
            v->leaf[NEAR_ONES][i][k] = v->leaf[TRUE_ONES][i][k] + 1e-6 * moved[k];
            v->leaf[WILD_ONES][i][k] = NAN;
        }
        free(moved);
    }
}

TEST(fast_programs_of_random_graphs_give_what_the_reference_gives)
{
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        random_graph sample;
        values v;
        graph_node *output[OUTPUTS];
        garden_plant(&sample, seed);
        draw_graph(&v, &sample, seed);
        int outputs = 1 + (int)random_below(&sample, OUTPUTS - 1);
        for (int i = 0; i < outputs; i++)
            output[i] = i ? pick_node(&sample) : sample.at[sample.count - 1];
        compare_forms(&sample, output, outputs, seed, &v);
        for (int i = 0; i < sample.leaves; i++) {
            for (int k = 0; k < KINDS; k++) free(v.leaf[k][i]);
            free(v.bound[i]);
        }
        graph_free(sample.g);
    }
}
