// SPDX-License-Identifier: MIT
// For every operation of the table: the fast form against the reference at odd sizes, first and
// second derivatives against finite differences of the reference, the same bits on every run.
#include "engine/op.h"
#include "engine/op_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/fused_loop.h"
#include "engine/program.h"
#include "math/rng.h"
#include "support/test.h"

enum { MAX_LEAVES = 3, MAX_ELEMENTS = 4096 };

// An operation on leaves, of the k-th of several sizes.
typedef struct example {
    graph *g;
    int leaves;
    graph_node *leaf[MAX_LEAVES];
    double low, high; // of the leaves' values
    double *x[MAX_LEAVES];
} example;

static graph_node *add_leaf(example *e, int rank, const int64_t *size)
{
    char name[2] = {(char)('a' + e->leaves), 0};
    return e->leaf[e->leaves++] = op_input(e->g, name, 0, rank, size);
}

#define LEAF(...) \
    add_leaf(e, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static const int64_t odd_sizes[] = {0, 1, 7, 33, 301};
enum { SIZES = sizeof odd_sizes / sizeof *odd_sizes };

static graph_node *conv_like(example *e, int op, int k)
{
    static const int64_t size[][7] = {
        // n, height, width, in, out, kernel, stride
        {1, 5, 4, 3, 2, 3, 1}, {2, 8, 6, 5, 4, 3, 2}, {1, 6, 6, 1, 3, 4, 1},
        {3, 4, 4, 2, 2, 2, 2}, {2, 8, 8, 8, 8, 3, 1},
    };
    const int64_t *s = size[k];
    bool up = op == OP_UPCONV || op == OP_UPCONV_GRAD_INPUT || op == OP_UPCONV_GRAD_WEIGHTS;
    int64_t kernel = up ? 3 : s[5];
    graph_node *x = LEAF(s[0], s[1], s[2], s[3]), *w = LEAF(kernel, kernel, s[3], s[4]);
    graph_node *y = up ? op_upconv(e->g, x, w)
                       : op_conv(e->g, x, w, (int)s[6],
                                 k == 3   ? OP_VALID
                                 : k == 1 ? OP_CENTRED
                                          : OP_SAME);
    if (op == OP_CONV || op == OP_UPCONV) return y;
    const int64_t *o = y->shape.size;
    graph_node *dy = LEAF(o[0], o[1], o[2], o[3]);
    bool grad_input = op == OP_CONV_GRAD_INPUT || op == OP_UPCONV_GRAD_INPUT;
    return graph_make_node(e->g, op, 2,
                           grad_input ? (graph_node *[]){dy, w} : (graph_node *[]){x, dy},
                           &(op_attr){.conv = y->attr.conv}, NULL);
}

static graph_node *make_elementwise(example *e, int op, int64_t n)
{
    graph *g = e->g;
    graph_node *a = LEAF(n, 3);
    if (op == OP_SWISH) return op_swish(g, a);
    if (op == OP_SWISH_GRAD || op == OP_SWISH_GRAD2)
        return graph_make_node(g, op, 2, (graph_node *[]){a, op_sigmoid(g, a)}, &(op_attr){0},
                               NULL);
    if (op == OP_LOG || op == OP_SQRT || op == OP_RECIPROCAL || op == OP_DIVIDE || op == OP_ATAN2)
        e->low = 0.5, e->high = 3.0;
    graph_node *b = op_info(op)->inputs == 2 ? LEAF(n, 3) : NULL;
    double value = op == OP_LEAKY_RELU || op == OP_LEAKY_RELU_GRAD ? 0.2
                   : op == OP_SCALE                                ? 1.7
                   : op == OP_ADD_SCALAR                           ? -0.3
                                                                   : 0.0;
    return graph_make_node(g, op, b ? 2 : 1, (graph_node *[]){a, b}, &(op_attr){.value = value},
                           NULL);
}

// Two products, one of them used elsewhere too, a leaf, and a sum of rows.
static graph_node *make_add_n(example *e, int64_t n)
{
    graph *g = e->g;
    graph_node *a = LEAF(3, n), *b = LEAF(n, 4), *c = LEAF(5, 3, 4);
    graph_node *ab = op_matmul(g, a, b, false, false);
    graph_node *square = op_matmul(g, ab, ab, true, false);
    graph_node *parts[] = {ab, op_sum(g, c, 0, 1), op_matmul(g, ab, square, false, false),
                           op_scale(g, ab, 2.0)};
    return op_add_n(g, parts, 4);
}

// Matrices that are far from singular: their diagonal outweighs the rest.
static graph_node *make_equations(example *e, int64_t items, bool ta)
{
    e->low = -0.5, e->high = 0.5;
    graph_node *a = LEAF(items, 5, 5), *b = LEAF(items, 5);
    graph_node *A = op_add(e->g, a, op_scale(e->g, op_identity(e->g, items, 5), 3.0));
    return op_batch_solve(e->g, A, b, ta);
}

static graph_node *make_example(example *e, int op, int k)
{
    graph *g = e->g;
    int64_t n = odd_sizes[k], m = odd_sizes[(k + 2) % SIZES];
    if (op_elementwise(op)) return make_elementwise(e, op, n);
    switch (op) {
    case OP_LEAF: return LEAF(n, 3);
    case OP_CONSTANT: {
        graph_node *x = LEAF(n, 3);
        return op_concat(g, (graph_node *[]){op_constant(g, 0.7, &x->shape), x}, 2, 1);
    }
    case OP_ADD_N: return make_add_n(e, n);
    case OP_MATMUL: {
        bool ta = k & 1, tb = k & 2;
        graph_node *a = ta ? LEAF(7, n) : LEAF(n, 7), *b = tb ? LEAF(m, 7) : LEAF(7, m);
        return op_matmul(g, a, b, ta, tb);
    }
    case OP_BATCH_MATMUL: {
        bool ta = k & 1, tb = k & 2;
        int64_t items = n % 40, i = k + 1;
        graph_node *a = ta ? LEAF(items, 3, i) : LEAF(items, i, 3);
        graph_node *b = tb ? LEAF(items, 4, 3) : LEAF(items, 3, 4);
        return op_batch_matmul(g, a, b, ta, tb);
    }
    case OP_BATCH_SOLVE: return make_equations(e, n % 40, k & 1);
    case OP_FILL_UPPER: return op_fill_upper(g, LEAF(n, 10), 4);
    case OP_TAKE_UPPER: return op_take_upper(g, LEAF(n, 4, 4));
    case OP_UPSAMPLE: return op_upsample(g, LEAF(2, 3, 2, n % 40));
    case OP_SUM_POOL2: return op_sum_pool2(g, LEAF(2, 4, 6, n % 40));
    case OP_RESHAPE: return op_reshape(g, op_scale(g, LEAF(n, 6), 2.0), 3, (int64_t[]){2, 3, n});
    case OP_SLICE: return op_slice(g, LEAF(2, 9, n), 1, 2, 5);
    case OP_PAD_SLICE: return op_pad_slice(g, LEAF(2, 3, n), 1, 2, 7);
    case OP_CONCAT: return op_concat(g, (graph_node *[]){LEAF(2, n, 3), LEAF(2, 4, 3)}, 2, 1);
    case OP_BROADCAST: return op_broadcast(g, LEAF(2, n), 1, 2, (int64_t[]){3, 2});
    case OP_SUM: return op_sum(g, LEAF(3, n, k ? m % 40 : 5), k % 3, 1);
    default: return conv_like(e, op, k);
    }
}

static double *new_numbers(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    CHECK(x != NULL);
    return x;
}

static void draw_values(double *x, int64_t n, double low, double high, uint64_t stream)
{
    rng r = rng_at(7, stream);
    for (int64_t i = 0; i < n; i++) {
        x[i] = low + (high - low) * rng_uniform(&r);
        if (fabs(x[i]) < 0.02) x[i] += 0.05; // leaky ReLU has a corner at 0
    }
}

typedef struct graph_runner {
    graph_program *p;
    program_instance *i;
} graph_runner;

static graph_runner start_runner(const example *e, graph_node *output, program_form form)
{
    graph_runner m;
    CHECK_OK(program_build(&m.p, e->g, &output, 1, form));
    CHECK_OK(instance_create(&m.i, m.p));
    return m;
}

static void stop_runner(graph_runner m)
{
    instance_free(m.i);
    program_free(m.p);
}

static void run_with(graph_runner m, const example *e, double *y)
{
    for (int l = 0; l < e->leaves; l++) instance_set(m.i, e->leaf[l], e->x[l]);
    for (int s = 0; s < program_stats(m.p).stages; s++) instance_run(m.i, s);
    instance_get(m.i, 0, y);
}

// dx, the gradient of <y, r>, against differences along a random direction of each leaf.
static void check_derivative(const example *e, graph_node *y, graph_node *const *dx,
                             const graph_node *r, const char *what)
{
    int64_t n = shape_count(&y->shape);
    double *low = new_numbers(n), *high = new_numbers(n), *weight = new_numbers(n), h = 1e-5;
    draw_values(weight, n, -0.5, 0.5, 1000);
    graph_runner reference = start_runner(e, y, PROGRAM_REFERENCE);
    for (int l = 0; l < e->leaves; l++) {
        int64_t places = shape_count(&e->leaf[l]->shape);
        double *d = new_numbers(places), *v = new_numbers(places), *x = e->x[l];
        draw_values(v, places, -0.5, 0.5, 2000);
        graph_runner slope = start_runner(e, dx[l], PROGRAM_REFERENCE);
        instance_set(slope.i, r, weight);
        run_with(slope, e, d);
        stop_runner(slope);
        double along = 0.0, differences = 0.0, scale = 1e-4;
        for (int64_t i = 0; i < places; i++) along += d[i] * v[i], scale += fabs(d[i] * v[i]);
        for (int64_t i = 0; i < places; i++) x[i] += h * v[i];
        run_with(reference, e, high);
        for (int64_t i = 0; i < places; i++) x[i] -= 2 * h * v[i];
        run_with(reference, e, low);
        for (int64_t i = 0; i < places; i++) x[i] += h * v[i];
        for (int64_t i = 0; i < n; i++) differences += weight[i] * (high[i] - low[i]) / (2 * h);
        if (!(fabs(along - differences) <= 1e-5 * scale))
            fail_msg("%s by %s: %g, by differences %g", what, e->leaf[l]->name, along, differences);
        free(d), free(v);
    }
    stop_runner(reference);
    free(low), free(high), free(weight);
}

static void check_derivatives(example *e, graph_node *y, int op, int k)
{
    char what[64];
    graph_node *r = op_input(e->g, "r", 0, y->shape.rank, y->shape.size), *dx[MAX_LEAVES];
    graph_gradient(e->g, dx, e->leaf, e->leaves, &y, &r, 1);
    CHECK_OK(graph_status(e->g));
    snprintf(what, sizeof what, "%s, size %d, first derivative", op_info(op)->name, k);
    check_derivative(e, y, dx, r, what);

    // The gradient of <y, y>/2, differentiated again: linear operations too have a second one then.
    graph_node *y1[MAX_LEAVES], *ddx[MAX_LEAVES];
    graph_gradient(e->g, y1, e->leaf, e->leaves, &y, &y, 1);
    for (int l = 0; l < e->leaves; l++) {
        graph_node *r2 = op_input(e->g, "r2", 0, y1[l]->shape.rank, y1[l]->shape.size);
        graph_gradient(e->g, ddx, e->leaf, e->leaves, &y1[l], &r2, 1);
        CHECK_OK(graph_status(e->g));
        snprintf(what, sizeof what, "%s, size %d, second derivative", op_info(op)->name, k);
        check_derivative(e, y1[l], ddx, r2, what);
    }
}

static void check_fast(const example *e, graph_node *y, int op, int k)
{
    int64_t n = shape_count(&y->shape);
    double *want = new_numbers(n), *quick = new_numbers(n), *again = new_numbers(n), most = 1e-3;
    graph_runner reference = start_runner(e, y, PROGRAM_REFERENCE),
                 fast = start_runner(e, y, PROGRAM_FAST);
    run_with(reference, e, want);
    run_with(fast, e, quick);
    run_with(fast, e, again);
    stop_runner(reference), stop_runner(fast);
    CHECK(!memcmp(quick, again, (size_t)n * sizeof *quick));
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(want[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(quick[i] - want[i]) <= 1e-6 * most))
            fail_msg("%s, size %d, place %d: fast %.9g, reference %.9g", op_info(op)->name, k,
                     (int)i, quick[i], want[i]);
    free(want), free(quick), free(again);
}

static void check_op(int op, int k, bool derivatives)
{
    example e = {.low = -2.0, .high = 2.0};
    CHECK_OK(graph_create(&e.g));
    graph_node *y = make_example(&e, op, k);
    CHECK_OK(graph_status(e.g));
    for (int l = 0; l < e.leaves; l++) {
        int64_t places = shape_count(&e.leaf[l]->shape);
        e.x[l] = new_numbers(places);
        draw_values(e.x[l], places, e.low, e.high, (uint64_t)(100 * op + 10 * k + l));
    }
    check_fast(&e, y, op, k);
    if (derivatives && shape_count(&y->shape) < MAX_ELEMENTS) check_derivatives(&e, y, op, k);
    for (int l = 0; l < e.leaves; l++) free(e.x[l]);
    graph_free(e.g);
}

TEST(every_operation_equals_its_reference_and_its_derivatives_are_right)
{
    for (int op = 0; op < OP_KIND_COUNT; op++)
        for (int k = 0; k < SIZES; k++) check_op(op, k, true);
}

TEST(every_instruction_set_gives_what_the_reference_gives)
{
    static const char *const sets[] = {"portable", "avx2", "avx512"};
    for (int s = 0; s < 3; s++) {
        if (!fused_loop_select(sets[s])) continue;
        for (int op = 0; op < OP_KIND_COUNT; op++)
            for (int k = 0; k < SIZES; k++) check_op(op, k, false);
    }
}
