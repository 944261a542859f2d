// SPDX-License-Identifier: MIT
#include "models/latent_dynamics/energy.h"

#include "engine/run_graph.h"

enum { ITEMS = 2, PAIRS = 3 };

typedef struct bench {
    params params;
    network_builder net;
    energy e;
    graph_node *q, *p; // leaves
} bench;

static void bench_start(bench *b, energy_form potential, energy_form kinetic)
{
    *b = (bench){.net = {.params = &b->params}};
    CHECK_OK(graph_create(&b->net.g));
    b->e = (energy){.net = &b->net,
                    .potential = potential,
                    .kinetic = kinetic,
                    .layers = {.layers = 3, .width = {5, 4}, .act = ACT_SWISH}};
    b->q = op_input(b->net.g, "q", 0, 2, (int64_t[]){ITEMS, PAIRS});
    b->p = op_input(b->net.g, "p", 0, 2, (int64_t[]){ITEMS, PAIRS});
}

static void bench_stop(bench *b)
{
    graph_free(b->net.g);
    params_clear(&b->params);
}

// Parameters off their start, states, one run in double.
static void run_node(bench *b, graph_node *output, const double *q, const double *p, double *out)
{
    graph_runner m = runner_start(b->net.g, &output, 1, PROGRAM_REFERENCE);
    for (int k = 0; k < b->net.leaf_count; k++) {
        const graph_node *leaf = b->net.leaves[k].node;
        double *x = random_numbers(shape_count(&leaf->shape), 100 + (uint64_t)k);
        instance_set(m.i, leaf, x);
        free(x);
    }
    instance_set(m.i, b->q, q);
    instance_set(m.i, b->p, p);
    runner_run(m);
    instance_get(m.i, 0, out);
    runner_stop(m);
}

// dq/dt = dH/dp and dp/dt = -dH/dq against differences of H, at a state whose p was made from q.
static void check_flow(energy_form potential, energy_form kinetic)
{
    bench b;
    bench_start(&b, potential, kinetic);
    graph *g = b.net.g;
    phase_state leaves = {b.q, b.p}, bent = {b.q, op_add(g, b.p, op_sin(g, b.q))};
    vector_field f = energy_flow(&b.e);
    graph_node *velocity = f.velocity(f.context, bent), *force = f.force(f.context, bent);
    graph_node *H = op_add(g, energy_potential(&b.e, leaves), energy_kinetic(&b.e, leaves));
    CHECK_OK(graph_status(g));
    enum { N = ITEMS * PAIRS };
    double *q = random_numbers(N, 1), *p = random_numbers(N, 2), at[N], v[N], F[N], low[ITEMS],
           high[ITEMS];
    run_node(&b, velocity, q, p, v);
    run_node(&b, force, q, p, F);
    for (int i = 0; i < N; i++) at[i] = p[i] + sin(q[i]);
    for (int k = 0; k < 2 * N; k++) {
        double *x = k < N ? &q[k] : &at[k - N], keep = *x, h = 1e-5;
        *x = keep + h;
        run_node(&b, H, q, at, high);
        *x = keep - h;
        run_node(&b, H, q, at, low);
        *x = keep;
        int item = k % N / PAIRS;
        double slope = (high[item] - low[item]) / (2 * h);
        double got = k < N ? -F[k] : v[k - N];
        if (!(fabs(got - slope) <= 1e-7 * (1.0 + fabs(slope))))
            fail_msg("%s and %s: derivative %d is %.12g, by differences %.12g",
                     energy_names[potential], energy_names[kinetic], k, got, slope);
    }
    free(q), free(p);
    bench_stop(&b);
}

TEST(flows_are_the_partial_derivatives_of_every_energy)
{
    static const energy_form potentials[] = {ENERGY_NET, ENERGY_DEP_NET, ENERGY_EMBED_QUAD,
                                             ENERGY_REST_QUAD};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < ENERGY_FORMS; k++) check_flow(potentials[i], (energy_form)k);
}

// Kinetic energies whose parameters are at their start have closed forms.
static void check_start(energy_form kinetic, double mass, double grade)
{
    bench b;
    bench_start(&b, ENERGY_NET, kinetic);
    graph_node *K = energy_kinetic(&b.e, (phase_state){b.q, b.p});
    float *block = calloc((size_t)b.params.size + 1, sizeof *block);
    params_init_values(&b.params, block, 3);
    graph_runner m = runner_start(b.net.g, &K, 1, PROGRAM_FAST);
    for (int k = 0; k < b.net.leaf_count; k++)
        instance_bind(m.i, b.net.leaves[k].node, block + b.params.at[b.net.leaves[k].param].offset);
    double *p = random_numbers(ITEMS * PAIRS, 2), got[ITEMS];
    instance_set(m.i, b.p, p);
    runner_run(m);
    instance_get(m.i, 0, got);
    runner_stop(m);
    for (int i = 0; i < ITEMS; i++) {
        double sum = 0.0;
        for (int k = 0; k < PAIRS; k++) sum += pow(grade, k) * p[i * PAIRS + k] * p[i * PAIRS + k];
        CHECK_NEAR(got[i], 0.5 * mass * sum, 1e-5);
    }
    free(p), free(block);
    bench_stop(&b);
}

TEST(quadratic_energies_start_as_multiples_of_the_square)
{
    check_start(ENERGY_PURE_QUAD, 1.0, 1.0);
    check_start(ENERGY_DIAG_QUAD, 2.0, 1.0);   // exp(0) + 1
    check_start(ENERGY_MATRIX_QUAD, 2.0, 1.0); // U = 1, and U'U + 1
    check_start(ENERGY_GRADED_QUAD, 1.0, 0.1);
}

TEST(a_free_matrix_is_the_upper_triangle_row_after_row)
{
    bench b;
    bench_start(&b, ENERGY_NET, ENERGY_MATRIX_QUAD);
    graph_node *K = energy_kinetic(&b.e, (phase_state){b.q, b.p});
    double *q = random_numbers(ITEMS * PAIRS, 1), *p = random_numbers(ITEMS * PAIRS, 2), got[ITEMS];
    run_node(&b, K, q, p, got);
    CHECK_EQUAL(b.net.leaf_count, 1);
    double *u = random_numbers(6, 100); // 1 + u on the diagonal
    const double U[3][3] = {{1 + u[0], u[1], u[2]}, {0, 1 + u[3], u[4]}, {0, 0, 1 + u[5]}};
    for (int i = 0; i < ITEMS; i++) {
        double sum = 0.0;
        for (int r = 0; r < 3; r++) {
            double row = 0.0;
            for (int c = 0; c < 3; c++) row += U[r][c] * p[i * PAIRS + c];
            sum += 0.5 * (row * row + p[i * PAIRS + r] * p[i * PAIRS + r]);
        }
        CHECK_NEAR(got[i], sum, 1e-13);
    }
    free(q), free(p), free(u);
    bench_stop(&b);
}

// By how much the energy of the first item changes when one of its positions does.
static double energy_change(bench *b, graph_node *of, int position)
{
    double *q = random_numbers(ITEMS * PAIRS, 1), *p = random_numbers(ITEMS * PAIRS, 2),
           before[ITEMS], after[ITEMS];
    run_node(b, of, q, p, before);
    q[position] += 1.0;
    run_node(b, of, q, p, after);
    free(q), free(p);
    return fabs(after[0] - before[0]);
}

TEST(masses_depend_on_what_stands_still_and_forces_on_what_moves)
{
    bench b;
    bench_start(&b, ENERGY_NET, ENERGY_GRADED_MASSES);
    graph_node *V = energy_potential(&b.e, (phase_state){b.q, b.p}),
               *K = energy_kinetic(&b.e, (phase_state){b.q, b.p});
    double moves = energy_change(&b, V, 0);
    CHECK(moves > 1e-3);
    CHECK(energy_change(&b, V, 1) < 0.1 * moves);
    CHECK(energy_change(&b, V, 2) < 1e-3 * moves);
    CHECK(energy_change(&b, K, 0) == 0.0);
    CHECK(energy_change(&b, K, 1) > 1e-3 && energy_change(&b, K, 2) > 1e-3);
    bench_stop(&b);
}
