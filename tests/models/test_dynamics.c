// SPDX-License-Identifier: MIT
// Dynamics with a known answer: Euler's and Lagrange's equation by finite differences, an
// oscillator with weights set by hand, a Runge-Kutta step of a linear field, and reversed time.
#include "models/latent_dynamics/dynamics.h"

#include "engine/run_graph.h"
#include "models/latent_dynamics/lagrangian.h"

enum { ITEMS = 2, PAIRS = 3, N = ITEMS * PAIRS };

typedef struct bench {
    params params;
    network_builder net;
    hgn_config c;
    graph_node *q, *p; // leaves
} bench;

static void bench_start(bench *b, hgn_dynamics dynamics, const char *integrator)
{
    *b = (bench){.net = {.params = &b->params}};
    CHECK_OK(graph_create(&b->net.g));
    b->c = (hgn_config){.dynamics = dynamics,
                        .latent = 2 * PAIRS,
                        .energy = {.layers = 3, .width = {5, 4}, .act = ACT_SWISH},
                        .integrator = integrator,
                        .substeps = 1};
    b->q = op_input(b->net.g, "q", 0, 2, (int64_t[]){ITEMS, PAIRS});
    b->p = op_input(b->net.g, "p", 0, 2, (int64_t[]){ITEMS, PAIRS});
}

static void bench_stop(bench *b)
{
    graph_free(b->net.g);
    params_clear(&b->params);
}

// A parameter's values by its name; those that are not set by hand are drawn.
typedef struct given {
    const char *name;
    double value; // on the diagonal of a matrix, everywhere in a vector
} given;

static double *values_of(const graph_node *leaf, const given *g, uint64_t stream)
{
    int64_t n = shape_count(&leaf->shape), columns = leaf->shape.size[leaf->shape.rank - 1];
    for (; g && g->name; g++)
        if (!strcmp(g->name, leaf->name)) {
            double *x = new_numbers(n);
            for (int64_t i = 0; i < n; i++)
                if (leaf->shape.rank == 1 || i / columns == i % columns) x[i] = g->value;
            return x;
        }
    return g ? new_numbers(n) : random_numbers(n, stream); // beside what is set by hand all is zero
}

static void run_nodes(bench *b, graph_node *const *output, int outputs, const given *g,
                      const double *q, const double *p, double **out)
{
    graph_runner m = runner_start(b->net.g, output, outputs, PROGRAM_REFERENCE);
    for (int k = 0; k < b->net.leaf_count; k++) {
        double *x = values_of(b->net.leaves[k].node, g, 100 + (uint64_t)k);
        instance_set(m.i, b->net.leaves[k].node, x);
        free(x);
    }
    instance_set(m.i, b->q, q);
    instance_set(m.i, b->p, p);
    runner_run(m);
    for (int i = 0; i < outputs; i++) instance_get(m.i, i, out[i]);
    runner_stop(m);
}

static void run_node(bench *b, graph_node *output, const double *q, const double *p, double *out)
{
    run_nodes(b, &output, 1, NULL, q, p, &out);
}

TEST(momenta_are_the_slope_of_the_lagrangian_by_the_velocity)
{
    bench b;
    bench_start(&b, HGN_LAGRANGIAN, "rk2");
    state_dynamics m = dynamics_make(&b.c, &b.net, NULL, NULL);
    phase_state at = {b.q, b.p};
    graph_node *K = lagrangian_kinetic(&m.energy, at), *momenta = lagrangian_momenta(&m.energy, at);
    double *q = random_numbers(N, 1), *v = random_numbers(N, 2), p[N], low[ITEMS], high[ITEMS],
           h = 1e-5;
    run_node(&b, momenta, q, v, p);
    for (int k = 0; k < N; k++) {
        double keep = v[k];
        v[k] = keep + h;
        run_node(&b, K, q, v, high);
        v[k] = keep - h;
        run_node(&b, K, q, v, low);
        v[k] = keep;
        CHECK_NEAR(p[k], (high[k / PAIRS] - low[k / PAIRS]) / (2 * h), 1e-8);
    }
    free(q), free(v);
    bench_stop(&b);
}

// d/dt dL/dv = dL/dq along (v, a), both sides by differences of what is known to be right.
TEST(accelerations_obey_the_equation_of_euler_and_lagrange)
{
    bench b;
    bench_start(&b, HGN_LAGRANGIAN, "rk2");
    state_dynamics m = dynamics_make(&b.c, &b.net, NULL, NULL);
    phase_state at = {b.q, b.p};
    vector_field f = lagrangian_flow(&m.energy);
    graph_node *acceleration = f.force(f.context, at), *momenta = lagrangian_momenta(&m.energy, at);
    graph_node *L =
        op_subtract(b.net.g, lagrangian_kinetic(&m.energy, at), energy_potential(&m.energy, at));
    double *q = random_numbers(N, 1), *v = random_numbers(N, 2), a[N], p[2][N], l[2][ITEMS],
           h = 1e-5;
    run_node(&b, acceleration, q, v, a);
    for (int side = 0; side < 2; side++) {
        double q1[N], v1[N], s = side ? h : -h;
        for (int k = 0; k < N; k++) q1[k] = q[k] + s * v[k], v1[k] = v[k] + s * a[k];
        run_node(&b, momenta, q1, v1, p[side]);
    }
    double largest = 0.0;
    for (int k = 0; k < N; k++) {
        double keep = q[k];
        for (int side = 0; side < 2; side++) {
            q[k] = keep + (side ? h : -h);
            run_node(&b, L, q, v, l[side]);
        }
        q[k] = keep;
        double slope = (l[1][k / PAIRS] - l[0][k / PAIRS]) / (2 * h);
        CHECK_NEAR((p[1][k] - p[0][k]) / (2 * h), slope, 1e-7 * (1.0 + fabs(slope)));
        largest = fmax(largest, fabs(a[k]));
    }
    CHECK(largest > 1e-2);
    free(q), free(v);
    bench_stop(&b);
}

// M = u^2 + 1 and V = k q^2 / 2 by hand: cos(w t), w^2 = k / M.
TEST(an_oscillator_set_by_hand_follows_the_exact_solution)
{
    enum { STEPS = 200 };
    const double u = 0.7, stiffness = 2.3, dt = 0.05;
    const double w = sqrt(stiffness / (u * u + 1.0));
    bench b;
    bench_start(&b, HGN_LAGRANGIAN, "rk4");
    b.c.energy = (energy_net){.layers = 1, .width = {PAIRS}, .act = ACT_NONE};
    b.c.potential = ENERGY_EMBED_QUAD;
    state_dynamics m = dynamics_make(&b.c, &b.net, NULL, NULL);
    phase_state at = {b.q, b.p};
    graph_node *V = energy_potential(&m.energy, at);
    for (int t = 0; t < STEPS; t++) at = dynamics_step(&m, at, dt, NULL);
    graph_node *E = dynamics_energy(&m, at);
    // The triangle of U, row after row, has its diagonal at 0, 3 and 5: from the bias of the net.
    given set[] = {{"pot.ff0.w", sqrt(stiffness)}, {"kin.ff0.b", 0.0}, {NULL, 0.0}};
    double *q = random_numbers(N, 1), *v = random_numbers(N, 2), qT[N], vT[N], e[ITEMS], e0[ITEMS];
    graph_runner run =
        runner_start(b.net.g, (graph_node *[]){at.q, at.p, E, V}, 4, PROGRAM_REFERENCE);
    for (int k = 0; k < b.net.leaf_count; k++) {
        const graph_node *leaf = b.net.leaves[k].node;
        double *x = values_of(leaf, set, 0);
        if (!strcmp(leaf->name, "kin.ff0.b")) x[0] = x[3] = x[5] = u;
        instance_set(run.i, leaf, x);
        free(x);
    }
    instance_set(run.i, b.q, q);
    instance_set(run.i, b.p, v);
    runner_run(run);
    instance_get(run.i, 0, qT);
    instance_get(run.i, 1, vT);
    instance_get(run.i, 2, e);
    instance_get(run.i, 3, e0);
    for (int k = 0; k < N; k++) {
        double t = w * dt * STEPS;
        CHECK_NEAR(qT[k], q[k] * cos(t) + v[k] / w * sin(t), 1e-5);
        CHECK_NEAR(vT[k], v[k] * cos(t) - w * q[k] * sin(t), 1e-5);
        e0[k / PAIRS] += 0.5 * (u * u + 1.0) * v[k] * v[k];
    }
    for (int i = 0; i < ITEMS; i++) CHECK_NEAR(e[i], e0[i], 1e-5);
    runner_stop(run);
    free(q), free(v);
    bench_stop(&b);
}

TEST(a_learnt_lagrangian_conserves_its_energy)
{
    bench b;
    bench_start(&b, HGN_LAGRANGIAN, "rk4");
    state_dynamics m = dynamics_make(&b.c, &b.net, NULL, NULL);
    phase_state at = {b.q, b.p};
    graph_node *before = dynamics_energy(&m, at);
    for (int t = 0; t < 40; t++) at = dynamics_step(&m, at, 0.02, NULL);
    graph_node *output[] = {before, dynamics_energy(&m, at), at.q};
    double *q = random_numbers(N, 1), *v = random_numbers(N, 2), e0[ITEMS], e1[ITEMS], end[N],
           moved = 0.0;
    run_nodes(&b, output, 3, NULL, q, v, (double *[]){e0, e1, end});
    for (int i = 0; i < ITEMS; i++) CHECK_NEAR(e1[i], e0[i], 1e-7);
    for (int k = 0; k < N; k++) moved = fmax(moved, fabs(end[k] - q[k]));
    CHECK(moved > 0.1);
    free(q), free(v);
    bench_stop(&b);
}

// dz/dt = a z + b: the midpoint rule gives z + h (a + h a^2 / 2) (z + b / a).
TEST(a_linear_field_takes_the_midpoint_step)
{
    const double a = -0.8, shift = 0.3, h = 0.25;
    bench b;
    bench_start(&b, HGN_FIELD, "rk2");
    b.c.energy = (energy_net){.layers = 1, .act = ACT_NONE};
    state_dynamics m = dynamics_make(&b.c, &b.net, NULL, NULL);
    phase_state next = dynamics_step(&m, (phase_state){b.q, b.p}, h, NULL);
    const given set[] = {{"ode.ff0.w", a}, {"ode.ff0.b", shift}, {NULL, 0.0}};
    double *q = random_numbers(N, 1), *p = random_numbers(N, 2), q1[N], p1[N];
    run_nodes(&b, (graph_node *[]){next.q, next.p}, 2, set, q, p, (double *[]){q1, p1});
    for (int k = 0; k < N; k++) {
        CHECK_NEAR(q1[k], q[k] + h * (a + h * a * a / 2) * (q[k] + shift / a), 1e-14);
        CHECK_NEAR(p1[k], p[k] + h * (a + h * a * a / 2) * (p[k] + shift / a), 1e-14);
    }
    free(q), free(p);
    bench_stop(&b);
}

// There and back again, by a sign of each item; a map has no way back.
TEST(time_turned_round_leads_back)
{
    static const hgn_dynamics turns[] = {HGN_LAGRANGIAN, HGN_FIELD};
    for (int d = 0; d < 2; d++) {
        bench b;
        bench_start(&b, turns[d], "rk4");
        graph *g = b.net.g;
        state_dynamics m = dynamics_make(&b.c, &b.net, NULL, NULL);
        phase_state at = {b.q, b.p};
        graph_node *back = op_constant(g, -1.0, &b.q->shape);
        for (int t = 0; t < 10; t++) at = dynamics_step(&m, at, 0.02, NULL);
        phase_state far = at;
        for (int t = 0; t < 10; t++) at = dynamics_step(&m, at, 0.02, back);
        double *q = random_numbers(N, 1), *p = random_numbers(N, 2), q0[N], p0[N], q1[N],
               away = 0.0;
        run_nodes(&b, (graph_node *[]){at.q, at.p, far.q}, 3, NULL, q, p, (double *[]){q0, p0, q1});
        for (int k = 0; k < N; k++) {
            CHECK_NEAR(q0[k], q[k], 1e-8);
            CHECK_NEAR(p0[k], p[k], 1e-8);
            away = fmax(away, fabs(q1[k] - q[k]));
        }
        CHECK(away > 1e-2);
        free(q), free(p);
        bench_stop(&b);
    }
}

TEST(a_map_gives_the_next_state_or_adds_to_it)
{
    for (int residual = 0; residual < 2; residual++) {
        bench b;
        bench_start(&b, HGN_MAP, "rk2");
        b.c.residual = residual;
        b.c.energy = (energy_net){.layers = 1, .act = ACT_NONE};
        state_dynamics m = dynamics_make(&b.c, &b.net, NULL, NULL);
        phase_state next = dynamics_step(&m, (phase_state){b.q, b.p}, 0.1, NULL);
        const given set[] = {{"map.ff0.w", 0.5}, {"map.ff0.b", 2.0}, {NULL, 0.0}};
        double *q = random_numbers(N, 1), *p = random_numbers(N, 2), q1[N], p1[N];
        run_nodes(&b, (graph_node *[]){next.q, next.p}, 2, set, q, p, (double *[]){q1, p1});
        for (int k = 0; k < N; k++) {
            CHECK_NEAR(q1[k], (0.5 + residual) * q[k] + 2.0, 1e-14);
            CHECK_NEAR(p1[k], (0.5 + residual) * p[k] + 2.0, 1e-14);
        }
        free(q), free(p);
        bench_stop(&b);
    }
}

TEST(what_dynamics_cannot_do_is_refused)
{
    hgn_config c = hgn_config_plus_plus();
    CHECK_OK(hgn_config_check(&c));
    c.dynamics = HGN_MAP;
    CHECK_OK(hgn_config_check(&c));
    CHECK(!hgn_config_reversible(&c));
    CHECK_EQUAL(hgn_first_step(&c), 4);
    c.direction = HGN_FORWARD_BACKWARD;
    CHECK_FAILS(hgn_config_check(&c), PLUMB_EVALUE, "backward");
    c.direction = false;
    c.split = HGN_INCLUDE;
    CHECK_FAILS(hgn_config_check(&c), PLUMB_EVALUE, "backward");
    c = hgn_config_original();
    CHECK_OK(hgn_config_check(&c));
    c.dynamics = HGN_FIELD;
    CHECK_FAILS(hgn_config_check(&c), PLUMB_EVALUE, "Hamiltonian");
    c = hgn_config_plus_plus();
    c.dynamics = HGN_RECURRENT;
    CHECK_OK(hgn_config_check(&c));
    CHECK_EQUAL(hgn_first_step(&c), 1);
    c.targets = 1;
    CHECK_FAILS(hgn_config_check(&c), PLUMB_EVALUE, "targets=1");
}
