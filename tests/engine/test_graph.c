// SPDX-License-Identifier: MIT
#include "engine/graph.h"

#include <string.h>

#include "engine/op.h"
#include "engine/program.h"
#include "plumb/status.h"
#include "support/test.h"

static graph *new_graph(void)
{
    graph *g;
    CHECK_OK(graph_create(&g));
    return g;
}

static graph_node *matrix_input(graph *g, const char *name, int64_t rows, int64_t columns)
{
    return op_input(g, name, 0, 2, (int64_t[]){rows, columns});
}

TEST(equal_subexpressions_are_one_node)
{
    graph *g = new_graph();
    graph_node *a = matrix_input(g, "a", 3, 4), *b = matrix_input(g, "b", 3, 4);
    graph_node *y = op_tanh(g, op_multiply(g, op_add(g, a, b), a));
    int size = graph_size(g);
    CHECK(op_tanh(g, op_multiply(g, op_add(g, a, b), a)) == y);
    CHECK_EQUAL(graph_size(g), size);
    CHECK(op_add(g, b, a) != op_add(g, a, b)); // sums are not reordered
    graph_free(g);
}

TEST(nodes_that_differ_in_one_attribute_are_two)
{
    graph *g = new_graph();
    graph_node *x = matrix_input(g, "x", 4, 4),
               *w = op_input(g, "w", 0, 4, (int64_t[]){2, 2, 3, 3});
    graph_node *image = op_input(g, "image", 0, 4, (int64_t[]){1, 4, 4, 3});
    CHECK(op_leaky_relu(g, x, 0.1) != op_leaky_relu(g, x, 0.2));
    CHECK(op_matmul(g, x, x, false, true) != op_matmul(g, x, x, true, false));
    CHECK(op_slice(g, x, 0, 1, 2) != op_slice(g, x, 0, 2, 2));
    CHECK(op_slice(g, x, 0, 1, 3) != op_slice(g, x, 1, 1, 3));
    CHECK(op_sum(g, x, 0, 1) != op_sum(g, x, 1, 1));
    CHECK(op_conv(g, image, w, 1, OP_SAME) != op_conv(g, image, w, 1, OP_VALID));
    CHECK(op_conv(g, image, w, 2, OP_VALID) != op_conv(g, image, w, 1, OP_VALID));
    CHECK(op_pad_slice(g, x, 0, 0, 6) != op_pad_slice(g, x, 0, 1, 6));
    CHECK(matrix_input(g, "x", 4, 4) != x); // leaves are given their values one by one
    CHECK_OK(graph_status(g));
    graph_free(g);
}

TEST(equal_nodes_are_found_among_many_thousands)
{
    enum { MANY = 20000 };
    graph *g = new_graph();
    graph_node *x = matrix_input(g, "x", 2, 2), *first[MANY];
    for (int i = 0; i < MANY; i++) first[i] = op_add_scalar(g, x, 1.0 + i);
    int size = graph_size(g);
    for (int i = 0; i < MANY; i++) CHECK(op_add_scalar(g, x, 1.0 + i) == first[i]);
    CHECK_EQUAL(graph_size(g), size);
    graph_free(g);
}

TEST(operations_that_change_nothing_make_no_node)
{
    graph *g = new_graph();
    graph_node *x = matrix_input(g, "x", 2, 6), *zero = op_zeros_like(g, x);
    graph_node *half = op_constant(g, 0.5, &x->shape);
    CHECK(op_add(g, x, zero) == x);
    CHECK(op_add(g, zero, x) == x);
    CHECK(op_subtract(g, x, zero) == x);
    CHECK(op_scale(g, x, 1.0) == x);
    CHECK(op_multiply(g, x, half) == op_scale(g, x, 0.5));
    CHECK(op_scale(g, op_scale(g, x, 4.0), 0.25) == x);
    CHECK(op_slice(g, x, 1, 0, 6) == x);
    CHECK(op_concat(g, &x, 1, 0) == x);
    graph_node *long_one = op_reshape(g, x, 1, (int64_t[]){12});
    CHECK(op_reshape(g, long_one, 2, (int64_t[]){2, 6}) == x);
    graph_free(g);
}

TEST(a_node_is_of_the_latest_stage_it_needs)
{
    graph *g = new_graph();
    graph_node *early = matrix_input(g, "early", 2, 2);
    graph_node *late = op_input(g, "late", 1, 2, (int64_t[]){2, 2});
    CHECK_EQUAL(op_tanh(g, early)->stage, 0);
    CHECK_EQUAL(op_add(g, op_tanh(g, early), late)->stage, 1);
    graph_free(g);
}

typedef graph_node *mistake(graph *g, graph_node *a);

static graph_node *make_unequal_sum(graph *g, graph_node *a)
{
    return op_add(g, a, matrix_input(g, "b", 4, 3));
}
static graph_node *unequal_zero(graph *g, graph_node *a)
{
    return op_add(g, a, op_constant(g, 0.0, &(tensor_shape){2, {4, 3}}));
}
static graph_node *unequal_factor(graph *g, graph_node *a)
{
    return op_multiply(g, op_constant(g, 2.0, &(tensor_shape){1, {3}}), a);
}
static graph_node *no_product(graph *g, graph_node *a)
{
    return op_matmul(g, a, a, false, false);
}
static graph_node *no_image(graph *g, graph_node *a)
{
    return op_conv(g, a, a, 1, OP_SAME);
}
static graph_node *too_small(graph *g, graph_node *a)
{
    (void)a;
    return op_conv(g, op_input(g, "x", 0, 4, (int64_t[]){1, 2, 2, 1}),
                   op_input(g, "w", 0, 4, (int64_t[]){3, 3, 1, 1}), 1, OP_VALID);
}
static graph_node *other_count(graph *g, graph_node *a)
{
    return op_reshape(g, a, 1, (int64_t[]){13});
}
static graph_node *make_slice_past_end(graph *g, graph_node *a)
{
    return op_slice(g, a, 1, 2, 3);
}
static graph_node *whole_but_shifted(graph *g, graph_node *a)
{
    return op_slice(g, a, 1, 1, 4);
}
static graph_node *no_axis(graph *g, graph_node *a)
{
    return op_slice(g, a, 4, 0, 1);
}
static graph_node *narrow_hole(graph *g, graph_node *a)
{
    return op_pad_slice(g, a, 1, 3, 6);
}
static graph_node *no_axes(graph *g, graph_node *a)
{
    return op_sum(g, a, 1, 2);
}
static graph_node *too_deep(graph *g, graph_node *a)
{
    return op_broadcast(g, a, 0, 4, (int64_t[]){1, 1, 1, 1});
}
static graph_node *make_smaller_broadcast(graph *g, graph_node *a)
{
    return op_broadcast_like(g, a, op_sum(g, a, 0, 1));
}
static graph_node *make_unequal_concat(graph *g, graph_node *a)
{
    return op_concat(g, (graph_node *[]){a, matrix_input(g, "b", 4, 3)}, 2, 0);
}
static graph_node *odd_image(graph *g, graph_node *a)
{
    (void)a;
    return op_sum_pool2(g, op_input(g, "x", 0, 4, (int64_t[]){1, 3, 2, 1}));
}
static graph_node *wrong_seed(graph *g, graph_node *a)
{
    graph_node *d, *y = op_tanh(g, a), *seed = matrix_input(g, "seed", 4, 3);
    graph_gradient(g, &d, &a, 1, &y, &seed, 1);
    return d;
}

TEST(a_shape_error_is_one_line_and_stays)
{
    static const struct {
        mistake *make;
        const char *words;
    } row[] = {
        {make_unequal_sum, "(3, 4) and (4, 3)"},
        {unequal_zero, "(3, 4) and (4, 3)"},
        {unequal_factor, "(3) and (3, 4)"},
        {no_product, "(3, 4) times (3, 4)"},
        {no_image, "cannot be convolved"},
        {too_small, "(1, 2, 2, 1) cannot be convolved with weights (3, 3, 1, 1)"},
        {other_count, "(3, 4) cannot be reshaped to (13)"},
        {make_slice_past_end, "(3, 4) has no 3 elements from 2"},
        {whole_but_shifted, "(3, 4) has no 4 elements from 1"},
        {no_axis, "along axis 4"},
        {narrow_hole, "(3, 4) does not fit from 3"},
        {no_axes, "(3, 4) has no axes 1 to 2"},
        {too_deep, "(3, 4) cannot be broadcast over 4 more axes"},
        {make_smaller_broadcast, "(3, 4) cannot be broadcast over -1 more axes"},
        {make_unequal_concat, "(3, 4) and (4, 3) cannot be joined"},
        {odd_image, "(1, 3, 2, 1) is not a set of images of even size"},
        {wrong_seed, "a seed (4, 3) for the gradient of (3, 4)"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        graph *g = new_graph();
        graph_node *a = matrix_input(g, "a", 3, 4), *d;
        graph_node *y = row[i].make(g, a);
        CHECK_FAILS(graph_status(g), PLUMB_ESHAPE, row[i].words);
        CHECK(!strchr(plumb_last_error(), '\n'));
        // What follows, right or wrong, changes neither the status nor the line.
        graph_node *z = op_matmul(g, op_slice(g, op_tanh(g, y), 0, 7, 9), a, false, false);
        z = op_layer_norm(g, op_add(g, z, a), z, z, 1e-5);
        graph_gradient(g, &d, &a, 1, &z, NULL, 1);
        CHECK_FAILS(graph_status(g), PLUMB_ESHAPE, row[i].words);
        graph_program *p;
        CHECK_FAILS(program_build(&p, g, &z, 1, PROGRAM_FAST), PLUMB_ESHAPE, row[i].words);
        graph_free(g);
    }
}
