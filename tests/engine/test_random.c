// SPDX-License-Identifier: MIT
// Thousands of small graphs that nobody thought of: shared parts, views of views, totals, two
// stages, gradients of gradients. The fast form must give what the judge gives, on memory that a
// run on other numbers has left behind, and the same bits again.
#include <stdio.h>

#include "engine/op.h"
#include "engine/op_table.h"
#include "engine/run_graph.h"

enum { NODES = 160, GRAPHS = 4000, OUTPUTS = 8, LEAVES = 5 };

typedef struct garden {
    graph *g;
    rng r;
    int count;
    graph_node *at[NODES];
    int leaves;
    graph_node *leaf[LEAVES];
} garden;

static int64_t below(garden *f, int64_t n)
{
    return rng_below(&f->r, n);
}

static graph_node *any(garden *f)
{
    return f->at[below(f, f->count)];
}

static void add(garden *f, graph_node *n)
{
    if (f->count < NODES) f->at[f->count++] = n;
}

// Another node of this shape, or the node itself.
static graph_node *like(garden *f, graph_node *x)
{
    int64_t from = below(f, f->count);
    for (int i = 0; i < f->count; i++) {
        graph_node *y = f->at[(from + i) % f->count];
        if (y != x && shape_equal(&x->shape, &y->shape)) return y;
    }
    return x;
}

static void plant_leaf(garden *f, int rank)
{
    int64_t size[GRAPH_MAX_RANK], side = 2 * (1 + below(f, 2));
    for (int i = 0; i < rank; i++) size[i] = 1 + below(f, 4);
    if (rank == 4) size[1] = size[2] = side;
    char name[2] = {(char)('a' + f->leaves), 0};
    bool late = below(f, 3) == 0;
    graph_node *n = !late && below(f, 2) ? op_parameter(f->g, name, rank, size)
                                         : op_input(f->g, name, late, rank, size);
    add(f, f->leaf[f->leaves++] = n);
}

// Bounded functions: what grows here would drown the differences.
static graph_node *grow_elementwise(garden *f, graph_node *x)
{
    graph *g = f->g;
    switch (below(f, 12)) {
    case 0: return op_add(g, x, like(f, x));
    case 1: return op_subtract(g, like(f, x), x);
    case 2: return op_multiply(g, op_tanh(g, x), like(f, x));
    case 3: return op_divide(g, x, op_add_scalar(g, op_square(g, like(f, x)), 1.0));
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

static graph_node *flat(garden *f, graph_node *x)
{
    int64_t n = shape_count(&x->shape), rows = x->shape.rank ? x->shape.size[0] : 1;
    return op_reshape(f->g, x, 2, (int64_t[]){rows, n / rows});
}

// x times another, whichever way round they fit; what is wrong in size is cut.
static graph_node *grow_product(garden *f, graph_node *x)
{
    graph_node *a = flat(f, x), *b = flat(f, any(f));
    bool ta = below(f, 2), tb = below(f, 2);
    int64_t inner = a->shape.size[!ta], other = b->shape.size[tb];
    int64_t both = inner < other ? inner : other;
    a = op_slice(f->g, a, !ta, below(f, inner - both + 1), both);
    b = op_slice(f->g, b, tb, below(f, other - both + 1), both);
    return op_scale(f->g, op_matmul(f->g, a, b, ta, tb), 0.5);
}

static graph_node *grow_total(garden *f, graph_node *x)
{
    graph_node *parts[5], *rows = flat(f, x);
    int count = 2 + (int)below(f, 3);
    graph_node *square = op_tanh(f->g, op_matmul(f->g, rows, rows, true, false));
    parts[0] = rows;
    for (int i = 1; i < count; i++) {
        graph_node *y = flat(f, like(f, x));
        parts[i] =
            below(f, 3) ? op_matmul(f->g, op_tanh(f->g, y), square, false, below(f, 2) == 0) : y;
        if (below(f, 2)) add(f, parts[i]); // of use to others too
    }
    parts[count++] = op_matmul(f->g, rows, square, false, false);
    return op_tanh(f->g, op_add_n(f->g, parts, count));
}

static graph_node *grow_view(garden *f, graph_node *x)
{
    graph *g = f->g;
    int rank = x->shape.rank, axis = rank ? (int)below(f, rank) : 0;
    int64_t size = rank ? x->shape.size[axis] : 1, start = below(f, size);
    switch (rank ? below(f, 6) : 5) {
    case 0: return op_slice(g, x, axis, start, 1 + below(f, size - start));
    case 1: return op_pad_slice(g, x, axis, start, size + start + below(f, 2));
    case 2: return op_concat(g, (graph_node *[]){x, like(f, x), x}, 2 + (int)below(f, 2), axis);
    case 3: return op_sum(g, x, axis, 1 + (int)below(f, rank - axis));
    case 4: return flat(f, x);
    default:
        if (rank > 3) return op_sum_per_item(g, x);
        return op_broadcast(g, x, (int)below(f, rank + 1), 1, (int64_t[]){1 + below(f, 3)});
    }
}

static graph_node *grow_image(garden *f, graph_node *x)
{
    graph *g = f->g;
    graph_node *w = NULL, *bias = NULL;
    if (x->shape.rank != 4 || x->shape.size[1] < 2 || x->shape.size[1] > 4) return NULL;
    int64_t channels = x->shape.size[3], from = below(f, f->count), kernel = 3;
    for (int i = 0; i < f->count && !w; i++) {
        graph_node *y = f->at[(from + i) % f->count];
        if (y->shape.rank == 2 && y->shape.size[0] == channels) w = y;
    }
    if (!w) return NULL;
    int64_t out = w->shape.size[1];
    graph_node *spread = op_broadcast(g, w, 0, 2, (int64_t[]){kernel, kernel});
    if (below(f, 2)) spread = op_sin(g, spread);
    graph_node *y = below(f, 2) && x->shape.size[1] == 2
                        ? op_upconv(g, x, spread)
                        : op_conv(g, x, spread, 1 + (int)below(f, 2), OP_SAME);
    for (int i = 0; i < f->count; i++)
        if (f->at[i]->shape.rank == 1 && f->at[i]->shape.size[0] == out) bias = f->at[i];
    if (bias) y = op_bias(g, y, bias);
    add(f, y);
    return below(f, 2) ? op_leaky_relu(g, y, 0.2) : op_tanh(g, y);
}

static void grow(garden *f)
{
    graph_node *x = any(f), *y = NULL;
    if (shape_count(&x->shape) > 600) return;
    switch (below(f, 8)) {
    case 0: y = grow_product(f, x); break;
    case 1: y = grow_total(f, x); break;
    case 2:
    case 3: y = grow_view(f, x); break;
    case 4: y = grow_image(f, x); break;
    default: y = grow_elementwise(f, x);
    }
    if (y && shape_count(&y->shape) < 2000) add(f, y);
}

static void grow_gradient(garden *f)
{
    graph_node *d[LEAVES], *y[2] = {op_tanh(f->g, any(f)), op_sin(f->g, any(f))};
    graph_gradient(f->g, d, f->leaf, f->leaves, y, NULL, 2);
    for (int i = 0; i < f->leaves; i++) add(f, d[i]);
}

static void garden_plant(garden *f, uint64_t seed)
{
    *f = (garden){.r = rng_at(2024, seed)};
    CHECK_OK(graph_create(&f->g));
    plant_leaf(f, 2);
    plant_leaf(f, 4);
    for (int i = 2; i < LEAVES; i++) plant_leaf(f, 1 + (int)below(f, 4));
    int size = 4 + (int)below(f, 20);
    for (int i = 0; i < size; i++) grow(f);
    if (below(f, 2)) grow_gradient(f);
    if (below(f, 4) == 0) grow_gradient(f);
    for (int i = 0; i < 3; i++) grow(f);
    CHECK_OK(graph_status(f->g));
}

// Numbers for the leaves: themselves, the same a few roundings off, and NaN.
enum { TRUE_ONES, NEAR_ONES, WILD_ONES, KINDS };
typedef struct values {
    double *leaf[KINDS][LEAVES];
    float *bound[LEAVES];
} values;

// The leaves of one stage. Those of later ones hold NaN until their time has come.
static void give(machine m, const garden *f, values *v, int stage, int kind)
{
    for (int i = 0; i < f->leaves; i++) {
        const graph_node *leaf = f->leaf[i];
        if (leaf->stage < stage) continue;
        const double *x = v->leaf[leaf->stage > stage ? WILD_ONES : kind][i];
        for (int64_t k = 0; k < shape_count(&leaf->shape); k++) v->bound[i][k] = (float)x[k];
        instance_set(m.i, leaf, x);
        if (leaf->attr.bound) instance_bind(m.i, leaf, v->bound[i]);
    }
}

// Outputs are read as soon as their stage has run.
static void run(double **out, machine m, const garden *f, values *v, int kind,
                graph_node *const *output, int outputs)
{
    for (int s = 0; s < 2; s++) {
        give(m, f, v, s, kind);
        if (s < program_stats(m.p).stages) instance_run(m.i, s);
        for (int i = 0; i < outputs; i++)
            if (output[i]->stage == s) instance_get(m.i, i, out[i]);
    }
}

static double apart(const double *a, const double *b, int64_t n)
{
    double most = 0.0;
    for (int64_t k = 0; k < n; k++) {
        if (isnan(a[k]) || isnan(b[k])) return INFINITY;
        most = fmax(most, fabs(a[k] - b[k]));
    }
    return most;
}

// Some graphs magnify roundings: how much, the judge shows on leaves that are a few of them off.
static void compare(const garden *f, graph_node *const *output, int outputs, uint64_t seed,
                    values *v)
{
    machine judge = machine_start(f->g, output, outputs, PROGRAM_REFERENCE);
    machine fast = machine_start(f->g, output, outputs, PROGRAM_FAST);
    double *want[OUTPUTS], *near[OUTPUTS], *got[OUTPUTS], *again[OUTPUTS];
    for (int i = 0; i < outputs; i++) {
        int64_t n = shape_count(&output[i]->shape);
        want[i] = numbers(n), near[i] = numbers(n), got[i] = numbers(n), again[i] = numbers(n);
    }
    run(near, judge, f, v, NEAR_ONES, output, outputs);
    run(want, judge, f, v, TRUE_ONES, output, outputs);
    run(got, fast, f, v, TRUE_ONES, output, outputs);
    run(again, fast, f, v, WILD_ONES, output, outputs); // leaves NaN wherever a value was
    run(again, fast, f, v, TRUE_ONES, output, outputs);
    for (int i = 0; i < outputs; i++) {
        int64_t n = shape_count(&output[i]->shape);
        double most = 1.0, error = apart(got[i], want[i], n);
        for (int64_t k = 0; k < n; k++) most = fmax(most, fabs(want[i][k]));
        if (!(error <= 1e-4 * most + 10.0 * apart(near[i], want[i], n)))
            fail_msg("graph %d, output %d (%s): fast is %g from the judge, of %g", (int)seed, i,
                     op_info(output[i]->op)->name, error, most);
        if (memcmp(got[i], again[i], (size_t)n * sizeof(double)))
            fail_msg("graph %d, output %d: other bits the second time", (int)seed, i);
        free(want[i]), free(near[i]), free(got[i]), free(again[i]);
    }
    machine_stop(judge), machine_stop(fast);
}

static void draw(values *v, const garden *f, uint64_t seed)
{
    for (int i = 0; i < f->leaves; i++) {
        int64_t n = shape_count(&f->leaf[i]->shape);
        double *moved = drawn(n, 10 * seed + 5 + (uint64_t)i);
        v->leaf[TRUE_ONES][i] = drawn(n, 10 * seed + (uint64_t)i);
        v->leaf[NEAR_ONES][i] = numbers(n);
        v->leaf[WILD_ONES][i] = numbers(n);
        v->bound[i] = calloc((size_t)n + 1, sizeof(float));
        for (int64_t k = 0; k < n; k++) {
            v->leaf[NEAR_ONES][i][k] = v->leaf[TRUE_ONES][i][k] + 1e-6 * moved[k];
            v->leaf[WILD_ONES][i][k] = NAN;
        }
        free(moved);
    }
}

TEST(fast_programs_of_random_graphs_give_what_the_judge_gives)
{
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        garden f;
        values v;
        graph_node *output[OUTPUTS];
        garden_plant(&f, seed);
        draw(&v, &f, seed);
        int outputs = 1 + (int)below(&f, OUTPUTS - 1);
        for (int i = 0; i < outputs; i++) output[i] = i ? any(&f) : f.at[f.count - 1];
        compare(&f, output, outputs, seed, &v);
        for (int i = 0; i < f.leaves; i++) {
            for (int k = 0; k < KINDS; k++) free(v.leaf[k][i]);
            free(v.bound[i]);
        }
        graph_free(f.g);
    }
}
