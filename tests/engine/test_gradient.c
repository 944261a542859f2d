// SPDX-License-Identifier: MIT
#include "engine/op.h"

#include <math.h>

#include "engine/run_graph.h"

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

TEST(the_gradient_of_an_output_that_does_not_depend_on_x_is_zero)
{
    graph *g = new_graph();
    graph_node *x = matrix_input(g, "x", 3, 2), *other = matrix_input(g, "other", 3, 2), *d;
    graph_node *y = op_tanh(g, other);
    graph_gradient(g, &d, &x, 1, &y, NULL, 1);
    CHECK(d == op_zeros_like(g, x));
    // A leaf made after y.
    graph_node *late = matrix_input(g, "late", 5, 1);
    graph_gradient(g, &d, &late, 1, &y, NULL, 1);
    CHECK(d == op_zeros_like(g, late));
    // A step is flat: so is what comes before it.
    graph_node *s = op_leaky_relu_grad(g, x, 0.1);
    graph_gradient(g, &d, &x, 1, &s, NULL, 1);
    for (int form = 0; form < 2; form++) {
        graph_runner m = runner_start(g, &d, 1, form ? PROGRAM_FAST : PROGRAM_REFERENCE);
        double got[6] = {1, 1, 1, 1, 1, 1};
        runner_run(m);
        instance_get(m.i, 0, got);
        for (int i = 0; i < 6; i++) CHECK(got[i] == 0.0);
        runner_stop(m);
    }
    graph_free(g);
}

TEST(the_gradient_of_x_by_itself_is_its_seed)
{
    graph *g = new_graph();
    graph_node *x = matrix_input(g, "x", 3, 2), *seed = matrix_input(g, "seed", 3, 2), *d;
    graph_gradient(g, &d, &x, 1, &x, &seed, 1);
    CHECK(d == seed);
    graph_gradient(g, &d, &x, 1, &x, NULL, 1);
    CHECK(d == op_constant(g, 1.0, &x->shape));
    graph_free(g);
}

TEST(a_gradient_made_twice_makes_no_new_nodes)
{
    graph *g = new_graph();
    graph_node *x = matrix_input(g, "x", 3, 4), *w = matrix_input(g, "w", 4, 4), *d[2], *again[2];
    graph_node *y = op_sum_per_item(g, op_swish(g, op_matmul(g, op_tanh(g, x), w, false, false)));
    graph_gradient(g, d, (graph_node *[]){x, w}, 2, &y, NULL, 1);
    int size = graph_size(g);
    graph_gradient(g, again, (graph_node *[]){x, w}, 2, &y, NULL, 1);
    CHECK(again[0] == d[0] && again[1] == d[1]);
    // Alone too: nothing of the way to w is made anew.
    graph_gradient(g, again, &x, 1, &y, NULL, 1);
    CHECK(again[0] == d[0]);
    CHECK_EQUAL(graph_size(g), size);
    graph_free(g);
}

TEST(gradients_of_two_outputs_share_what_they_have_in_common)
{
    graph *g = new_graph();
    graph_node *x = matrix_input(g, "x", 3, 4), *w = matrix_input(g, "w", 4, 4);
    graph_node *h = op_tanh(g, op_matmul(g, x, w, false, false)), *d[2];
    graph_node *a = op_sin(g, h), *b = op_cos(g, h);
    graph_gradient(g, &d[0], &x, 1, &a, NULL, 1);
    graph_gradient(g, &d[1], &x, 1, &b, NULL, 1);
    graph_runner m = runner_start(g, d, 2, PROGRAM_FAST);
    CHECK_EQUAL(steps_of(m.p, "matmul"), 3); // x w once, and one product back for each
    runner_stop(m);
    // Asked for together, cotangents are added before the product.
    graph_gradient(g, d, &x, 1, (graph_node *[]){a, b}, NULL, 2);
    m = runner_start(g, d, 1, PROGRAM_FAST);
    CHECK_EQUAL(steps_of(m.p, "matmul"), 2);
    runner_stop(m);
    graph_free(g);
}

TEST(a_derivative_holds_the_other_variables_constant)
{
    // p was made from q: dH/dq at (q, p) is q alone, not q + p dp/dq.
    graph *g = new_graph();
    graph_node *q = matrix_input(g, "q", 1, 1), *p = op_scale(g, op_square(g, q), 3.0), *d[2],
               *total;
    graph_node *H = op_scale(g, op_add(g, op_square(g, q), op_square(g, p)), 0.5);
    graph_gradient(g, d, (graph_node *[]){q, p}, 2, &H, NULL, 1);
    graph_gradient(g, &total, &q, 1, &H, NULL, 1);
    graph_runner m = runner_start(g, (graph_node *[]){d[0], d[1], total}, 3, PROGRAM_REFERENCE);
    double at = 0.5, got[3];
    instance_set(m.i, q, &at);
    runner_run(m);
    for (int i = 0; i < 3; i++) instance_get(m.i, i, &got[i]);
    CHECK_NEAR(got[0], 0.5, 1e-15);
    CHECK_NEAR(got[1], 0.75, 1e-15);
    CHECK_NEAR(got[2], 0.5 + 0.75 * 3.0, 1e-15);
    runner_stop(m);
    graph_free(g);
}

TEST(layer_norm_is_what_its_definition_says)
{
    enum { ITEMS = 3, ROWS = 2, COLUMNS = 5, PLACES = ROWS * COLUMNS };
    graph *g = new_graph();
    graph_node *x = op_input(g, "x", 0, 3, (int64_t[]){ITEMS, ROWS, COLUMNS});
    graph_node *gain = op_input(g, "gain", 0, 1, (int64_t[]){COLUMNS});
    graph_node *bias = op_input(g, "bias", 0, 1, (int64_t[]){COLUMNS});
    graph_node *seed = op_input(g, "seed", 0, 3, x->shape.size), *d;
    graph_node *y = op_layer_norm(g, x, gain, bias, 1e-5);
    graph_gradient(g, &d, &x, 1, &y, &seed, 1);
    double *a = random_numbers(ITEMS * PLACES, 1), *k = random_numbers(COLUMNS, 2),
           *b = random_numbers(COLUMNS, 3);
    double *s = random_numbers(ITEMS * PLACES, 4);
    for (int form = 0; form < 2; form++) {
        graph_runner m =
            runner_start(g, (graph_node *[]){y, d}, 2, form ? PROGRAM_FAST : PROGRAM_REFERENCE);
        double got[ITEMS * PLACES], slope[ITEMS * PLACES], near = form ? 2e-6 : 1e-14;
        instance_set(m.i, x, a);
        instance_set(m.i, gain, k);
        instance_set(m.i, bias, b);
        instance_set(m.i, seed, s);
        runner_run(m);
        instance_get(m.i, 0, got);
        instance_get(m.i, 1, slope);
        runner_stop(m);
        for (int n = 0; n < ITEMS; n++) {
            const double *row = a + n * PLACES, *seeds = s + n * PLACES;
            double mean = 0.0, variance = 0.0, along = 0.0, sum = 0.0;
            for (int i = 0; i < PLACES; i++) mean += row[i] / PLACES;
            for (int i = 0; i < PLACES; i++) variance += (row[i] - mean) * (row[i] - mean) / PLACES;
            double root = sqrt(variance + 1e-5);
            for (int i = 0; i < PLACES; i++) {
                double c = seeds[i] * k[i % COLUMNS];
                sum += c / PLACES;
                along += c * (row[i] - mean) / root / PLACES;
                CHECK_NEAR(got[n * PLACES + i],
                           (row[i] - mean) / root * k[i % COLUMNS] + b[i % COLUMNS], near);
            }
            for (int i = 0; i < PLACES; i++) {
                double normal = (row[i] - mean) / root;
                double want = (seeds[i] * k[i % COLUMNS] - sum - normal * along) / root;
                CHECK_NEAR(slope[n * PLACES + i], want, 10.0 * near);
            }
        }
    }
    free(a), free(k), free(b), free(s);
    graph_free(g);
}

// Activations by name, at points where a piecewise definition changes its branch.
TEST(activations_have_their_slope_also_at_zero)
{
    const double x_values[3] = {-0.5, 0.0, 0.5};
    const double slopes[4][3] = {{exp(-0.5), 1.0, 1.0},
                                 {0.0, 0.0, 1.0},
                                 {0.1, 1.0, 1.0},
                                 {0.13250487534383712, 0.5, 0.8674951246561629}};
    graph *g = new_graph();
    graph_node *x = matrix_input(g, "x", 3, 1), *d[4];
    graph_node *y[4] = {op_elu(g, x), op_leaky_relu(g, x, 0.0), op_leaky_relu(g, x, 0.1),
                        op_gelu(g, x)};
    for (int i = 0; i < 4; i++) graph_gradient(g, &d[i], &x, 1, &y[i], NULL, 1);
    for (int form = 0; form < 2; form++) {
        graph_runner m = runner_start(g, d, 4, form ? PROGRAM_FAST : PROGRAM_REFERENCE);
        instance_set(m.i, x, x_values);
        runner_run(m);
        for (int i = 0; i < 4; i++) {
            double got[3];
            instance_get(m.i, i, got);
            for (int k = 0; k < 3; k++) CHECK_NEAR(got[k], slopes[i][k], 1e-6);
        }
        runner_stop(m);
    }
    graph_free(g);
}
