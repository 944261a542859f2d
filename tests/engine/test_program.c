// SPDX-License-Identifier: MIT
// The planner: no product is computed twice, values share memory, a run allocates none, stages.
#include "engine/program.h"

#include "support/alloc_failure.h"
// after the allocator
#include "engine/run_graph.h"
#include "models/latent_dynamics/decoder.h"
#include "models/latent_dynamics/energy.h"
#include "models/latent_dynamics/rollout_graph.h"

enum { ITEMS = 4, PAIRS = 3, WIDTH = 6, HIDDEN = 3 };

typedef struct mechanics {
    params params;
    network_builder net;
    energy e;
    vector_field f;
    phase_state start;
} mechanics;

static void mechanics_start(mechanics *m)
{
    *m = (mechanics){.net = {.params = &m->params}};
    CHECK_OK(graph_create(&m->net.g));
    m->e = (energy){
        .net = &m->net,
        .layers = {.layers = HIDDEN + 1, .width = {WIDTH, WIDTH, WIDTH}, .act = ACT_SWISH}};
    m->f = energy_flow(&m->e);
    m->start.q = op_input(m->net.g, "q", 0, 2, (int64_t[]){ITEMS, PAIRS});
    m->start.p = op_input(m->net.g, "p", 0, 2, (int64_t[]){ITEMS, PAIRS});
}

static void mechanics_stop(mechanics *m)
{
    graph_free(m->net.g);
    params_clear(&m->params);
}

// Several products of one sum may be one step: "matmul 2 parts".
static void count_parts(void *count, const char *text)
{
    const char *at = strstr(text, "matmul"), *parts = strstr(text, " parts");
    if (!at) return;
    while (parts && parts > at && parts[-1] != ' ') parts--;
    *(int *)count += parts ? atoi(parts) : 1;
}

static int count_products(graph *g, graph_node *const *output, int outputs)
{
    graph_runner m = runner_start(g, output, outputs, PROGRAM_FAST);
    int count = 0;
    program_print(m.p, count_parts, &count);
    runner_stop(m);
    return count;
}

TEST(a_force_and_its_reverse_pass_take_six_products_a_hidden_layer)
{
    // Besides them: the last weights times ones, which start the force, and its gradient.
    mechanics m;
    mechanics_start(&m);
    graph *g = m.net.g;
    graph_node *force = m.f.force(m.f.context, m.start), *output[16] = {force};
    CHECK_EQUAL(count_products(g, output, 1), 2 * HIDDEN + 1);

    graph_node *seed = op_input(g, "seed", 0, 2, force->shape.size);
    int outputs = 1 + network_gradients(&m.net, output + 1, &force, &seed, 1);
    graph_gradient(g, &output[outputs++], &m.start.q, 1, &force, &seed, 1);
    CHECK_EQUAL(count_products(g, output, outputs), 6 * HIDDEN + 2);
    mechanics_stop(&m);
}

TEST(a_leapfrog_step_takes_two_gradients)
{
    enum { STEPS = 5 };
    mechanics m;
    mechanics_start(&m);
    const integrator_method *s = integrator_find("leap_frog");
    phase_state at = m.start;
    for (int t = 0; t < STEPS; t++) at = integrator_step(s, m.net.g, &m.f, at, 0.125, NULL, 1);
    // Each force is of use to two kicks; only the very first and last are not shared. The ends of
    // the two networks are made once for all steps.
    CHECK_EQUAL(count_products(m.net.g, (graph_node *[]){at.q, at.p}, 2),
                (2 * STEPS + 1) * 2 * HIDDEN + 2);
    mechanics_stop(&m);
}

TEST(backward_steps_share_the_force_at_the_start)
{
    mechanics m;
    mechanics_start(&m);
    const integrator_method *s = integrator_find("leap_frog");
    phase_state ahead = integrator_step(s, m.net.g, &m.f, m.start, 0.125, NULL, 1);
    phase_state back = integrator_step(s, m.net.g, &m.f, m.start, -0.125, NULL, 1);
    CHECK_EQUAL(count_products(m.net.g, (graph_node *[]){ahead.q, ahead.p, back.q, back.p}, 4),
                5 * 2 * HIDDEN + 2);
    mechanics_stop(&m);
}

// x <- swish(x W) W^T over many steps, with parameters in the caller's memory, as in a model.
typedef struct long_chain {
    params params;
    network_builder net;
    graph_node *x, *output[4];
    int outputs;
} long_chain;

static void chain_start(long_chain *c, int64_t rows, int64_t width, int steps)
{
    *c = (long_chain){.net = {.params = &c->params}};
    CHECK_OK(graph_create(&c->net.g));
    graph *g = c->net.g;
    graph_node *w =
        network_param(&c->net, "w", 2, (int64_t[]){width, 2 * width}, PARAM_INIT_VALUE, 0.0);
    graph_node *at = c->x = op_input(g, "x", 0, 2, (int64_t[]){rows, width});
    for (int t = 0; t < steps; t++)
        at = op_add(g, at,
                    op_matmul(g, op_swish(g, op_matmul(g, at, w, false, false)), w, false, true));
    graph_node *total = op_sum(g, op_square(g, at), 0, 2);
    c->output[c->outputs++] = total;
    graph_gradient(g, &c->output[c->outputs++], (graph_node *[]){w}, 1, &total, NULL, 1);
    graph_gradient(g, &c->output[c->outputs++], &c->x, 1, &total, NULL, 1);
    CHECK_OK(graph_status(g));
}

static void chain_check(int64_t rows, int64_t width, int steps)
{
    long_chain c;
    chain_start(&c, rows, width, steps);
    float *w = calloc((size_t)c.params.size, sizeof *w);
    double *x = calloc((size_t)(rows * width), sizeof *x), *w8 = calloc((size_t)c.params.size, 8);
    CHECK(w && x && w8);
    rng r = rng_at(3, (uint64_t)rows);
    for (int64_t i = 0; i < c.params.size; i++) w8[i] = w[i] = (float)(0.1 * rng_normal(&r));
    for (int64_t i = 0; i < rows * width; i++) x[i] = (double)(float)rng_normal(&r);
    graph_node *leaf = c.net.leaves[0].node;
    graph_runner fast = runner_start(c.net.g, c.output, c.outputs, PROGRAM_FAST),
                 frozen = runner_start(c.net.g, c.output, c.outputs, PROGRAM_FAST),
                 want = runner_start(c.net.g, c.output, c.outputs, PROGRAM_REFERENCE);
    CHECK(steps_of(fast.p, " parts") > 0);
    instance_bind(fast.i, leaf, w), instance_bind(frozen.i, leaf, w),
        instance_set(want.i, leaf, w8);
    CHECK_OK(instance_freeze_parameters(frozen.i, NULL));
    graph_runner all[] = {fast, frozen, want};
    for (int k = 0; k < 3; k++) instance_set(all[k].i, c.x, x), instance_run(all[k].i, 0);
    for (int o = 0; o < c.outputs; o++) {
        const int64_t n = shape_count(&c.output[o]->shape);
        double *got[3], most = 0.0;
        for (int k = 0; k < 3; k++) {
            CHECK((got[k] = calloc((size_t)n, sizeof *x)) != NULL);
            instance_get(all[k].i, o, got[k]);
        }
        CHECK(!memcmp(got[0], got[1], (size_t)n * sizeof *x));
        for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(got[2][i]));
        for (int64_t i = 0; i < n; i++) CHECK(fabs(got[0][i] - got[2][i]) <= 3e-6 * most);
        for (int k = 0; k < 3; k++) free(got[k]);
    }
    for (int k = 0; k < 3; k++) runner_stop(all[k]);
    graph_free(c.net.g);
    params_clear(&c.params);
    free(w), free(x), free(w8);
}

TEST(many_products_of_one_parameter_give_what_the_reference_gives)
{
    chain_check(3, 20, 30); // groups of 21 products, and a rest
    chain_check(16, 24, 9); // groups of 4
    chain_check(1, 16, 40); // one row
    chain_check(32, 33, 2); // pairs
}

static hgn_config make_tiny_model(void)
{
    hgn_config c = hgn_config_plus_plus();
    c.height = c.width = 16;
    c.latent = 4;
    c.window = 3;
    c.targets = 12;
    c.encoder_blocks = c.decoder_blocks = 2;
    c.decoder_input_channels = 2;
    for (int b = 0; b < 2; b++) {
        c.encoder[b].layers = b ? 3 : 2;
        for (int i = 0; i < 3; i++) c.encoder[b].width[i] = 4, c.encoder[b].kernel[i] = 3;
        for (int i = 0; i < 2; i++) c.decoder_width[b][i] = 4;
    }
    c.energy = (energy_net){.layers = 3, .width = {8, 8}, .act = ACT_SWISH};
    return c;
}

TEST(one_block_is_smaller_than_all_activations_together)
{
    hgn_config c = make_tiny_model();
    params p = {0};
    hgn_rollout_graph roll;
    hgn_decoder_graph decode;
    CHECK_OK(hgn_rollout_build(&roll, &p, &c,
                               &(hgn_rollout_spec){.batch = 8,
                                                   .backward = 0,
                                                   .forward = 11,
                                                   .decode_start = true,
                                                   .masked = false,
                                                   .train = true}));
    CHECK_OK(hgn_decoder_build(&decode, &p, &c, 8, true));
    graph_program *a, *b;
    CHECK_OK(program_build(&a, roll.net.g, roll.outputs, roll.output_count, PROGRAM_FAST));
    CHECK_OK(program_build(&b, decode.net.g, decode.outputs, decode.output_count, PROGRAM_FAST));
    program_statistics of_roll = program_stats(a), of_decode = program_stats(b);
    CHECK_EQUAL(of_roll.stages, 2);
    CHECK_EQUAL(of_decode.stages, 1);
    CHECK(of_roll.block_bytes < of_roll.total_bytes);
    CHECK(of_decode.block_bytes < of_decode.total_bytes);
    CHECK(of_roll.largest_bytes <= of_roll.block_bytes &&
          of_decode.largest_bytes <= of_decode.block_bytes);
    CHECK(of_roll.fused_ops > of_roll.fused_loops); // chains, not single operations
    program_free(a), program_free(b);
    graph_free(roll.net.g), graph_free(decode.net.g);
    params_clear(&p);
}

TEST(a_chain_needs_memory_for_two_values_however_long_it_is)
{
    graph *g;
    CHECK_OK(graph_create(&g));
    graph_node *x = op_input(g, "x", 0, 2, (int64_t[]){16, 16}), *y = x;
    for (int i = 0; i < 50; i++) y = op_matmul(g, y, y, false, false);
    graph_program *p;
    CHECK_OK(program_build(&p, g, &y, 1, PROGRAM_FAST));
    program_statistics r = program_stats(p);
    CHECK_EQUAL(r.total_bytes, 51 * r.largest_bytes);
    CHECK(r.block_bytes <
          r.total_bytes / 10); // the leaf, two places in turn, and the product's scratch
    program_free(p);
    graph_free(g);
}

TEST(running_allocates_no_memory)
{
    hgn_config c = make_tiny_model();
    params p = {0};
    hgn_rollout_graph roll;
    CHECK_OK(hgn_rollout_build(&roll, &p, &c,
                               &(hgn_rollout_spec){.batch = 4,
                                                   .backward = 0,
                                                   .forward = 11,
                                                   .decode_start = true,
                                                   .masked = false,
                                                   .train = true}));
    float *block = calloc((size_t)p.size, sizeof *block);
    params_init_values(&p, block, 1);
    graph_runner m = runner_start(roll.net.g, roll.outputs, roll.output_count, PROGRAM_FAST);
    for (int k = 0; k < roll.net.leaf_count; k++)
        instance_bind(m.i, roll.net.leaves[k].node, block + p.at[roll.net.leaves[k].param].offset);
    const graph_node *leaf[] = {roll.frames, roll.noise, roll.dq, roll.kl_weight};
    for (int k = 0; k < 4; k++) {
        double *x = random_numbers(shape_count(&leaf[k]->shape), (uint64_t)k);
        instance_set(m.i, leaf[k], x);
        free(x);
    }
    runner_run(m);
    int last = roll.output_count - 1;
    int64_t n = shape_count(&roll.outputs[last]->shape);
    double *first = new_numbers(n), *again = new_numbers(n);
    instance_get(m.i, last, first);
#if STARVE
    starve_live = 0;
    starve_until = 0; // every request is refused
    starve_counting = true;
    for (int k = 0; k < 3; k++) runner_run(m);
    starve_counting = false;
    starve_until = -1;
    CHECK_EQUAL(starve_live, 0);
#else
    for (int k = 0; k < 3; k++) runner_run(m);
#endif
    instance_get(m.i, last, again);
    CHECK(!memcmp(first, again, (size_t)n * sizeof *first));
    runner_stop(m);
    free(first), free(again), free(block);
    graph_free(roll.net.g);
    params_clear(&p);
}

TEST(a_stage_needs_nothing_of_the_next_one)
{
    graph *g;
    CHECK_OK(graph_create(&g));
    int64_t size[] = {5, 5};
    graph_node *x = op_input(g, "x", 0, 2, size), *late = op_input(g, "late", 1, 2, size);
    graph_node *early = op_tanh(g, op_matmul(g, x, x, false, true));
    graph_node *y[] = {early, op_add_n(g,
                                       (graph_node *[]){op_matmul(g, early, late, false, false),
                                                        op_matmul(g, x, early, false, false),
                                                        op_matmul(g, late, late, true, false)},
                                       3)};
    double *a = random_numbers(25, 1), *b = random_numbers(25, 2), got[4][25];
    double nan[25];
    for (int i = 0; i < 25; i++) nan[i] = NAN;
    for (int form = 0; form < 2; form++) {
        graph_runner m = runner_start(g, y, 2, form ? PROGRAM_FAST : PROGRAM_REFERENCE);
        CHECK_EQUAL(program_stats(m.p).stages, 2);
        for (int round = 0; round < 2; round++) { // the second on what the first has left behind
            instance_set(m.i, x, a);
            instance_set(m.i, late, nan);
            instance_run(m.i, 0);
            instance_get(m.i, 0, got[2 * form]);
            instance_set(m.i, late, b);
            instance_run(m.i, 1);
            instance_get(m.i, 1, got[2 * form + 1]);
        }
        runner_stop(m);
    }
    for (int i = 0; i < 25; i++) {
        double sum = 0.0;
        for (int k = 0; k < 5; k++) sum += a[i / 5 * 5 + k] * a[i % 5 * 5 + k];
        CHECK_NEAR(got[0][i], tanh(sum), 1e-14);
        CHECK_NEAR(got[2][i], tanh(sum), 1e-6);
    }
    for (int i = 0; i < 25; i++) {
        double sum = 0.0;
        for (int k = 0; k < 5; k++)
            sum += got[0][i / 5 * 5 + k] * b[k * 5 + i % 5] +
                   a[i / 5 * 5 + k] * got[0][k * 5 + i % 5] + b[k * 5 + i / 5] * b[k * 5 + i % 5];
        CHECK_NEAR(got[1][i], sum, 1e-14);
        CHECK_NEAR(got[3][i], sum, 5e-6);
    }
    free(a), free(b);
    graph_free(g);
}

TEST(a_bias_that_comes_later_is_not_added_before)
{
    // conv and bias are one call, unless the bias is of another stage.
    graph *g;
    CHECK_OK(graph_create(&g));
    graph_node *x = op_input(g, "x", 0, 4, (int64_t[]){1, 3, 3, 2});
    graph_node *w = op_input(g, "w", 0, 4, (int64_t[]){3, 3, 2, 2});
    graph_node *bias = op_input(g, "bias", 1, 1, (int64_t[]){2});
    graph_node *y = op_leaky_relu(g, op_bias(g, op_conv(g, x, w, 1, OP_SAME), bias), 0.1);
    double *a = random_numbers(18, 1), *b = random_numbers(36, 2), late[2] = {3.0, -3.0},
           got[2][18];
    for (int form = 0; form < 2; form++) {
        graph_runner m = runner_start(g, &y, 1, form ? PROGRAM_FAST : PROGRAM_REFERENCE);
        instance_set(m.i, x, a);
        instance_set(m.i, w, b);
        instance_run(m.i, 0);
        instance_set(m.i, bias, late);
        instance_run(m.i, 1);
        instance_get(m.i, 0, got[form]);
        runner_stop(m);
    }
    for (int i = 0; i < 18; i++) CHECK_NEAR(got[1][i], got[0][i], 1e-5);
    free(a), free(b);
    graph_free(g);
}

enum { SIDE = 12, CHANNELS = 16, PIXELS = 2 * SIDE * SIDE * CHANNELS };
enum { TAPS = 9 * CHANNELS * CHANNELS };

typedef struct picture_net {
    graph *g;
    graph_node *x, *w;
    float first[TAPS], second[TAPS]; // weights
} picture_net;

static void picture_net_start(picture_net *n)
{
    CHECK_OK(graph_create(&n->g));
    n->x = op_input(n->g, "x", 0, 4, (int64_t[]){2, SIDE, SIDE, CHANNELS});
    n->w = op_parameter(n->g, "w", 4, (int64_t[]){3, 3, CHANNELS, CHANNELS});
    double *drawn_weights = random_numbers(2 * TAPS, 3);
    for (int i = 0; i < TAPS; i++) {
        n->first[i] = (float)(0.05 * drawn_weights[i]);
        n->second[i] = (float)(0.05 * drawn_weights[TAPS + i]);
    }
    free(drawn_weights);
}

static void picture_run(program_instance *i, const picture_net *n, const double *x, const float *w,
                        double *out)
{
    instance_set(i, n->x, x);
    instance_bind(i, n->w, w);
    instance_run(i, 0);
    instance_get(i, 0, out);
}

TEST(weights_of_many_steps_are_packed_in_every_run)
{
    // They change between runs where they are kept, as an optimiser changes them.
    static picture_net n;
    picture_net_start(&n);
    graph *g = n.g;
    graph_node *y = op_conv(g, op_conv(g, n.x, n.w, 1, OP_SAME), n.w, 1, OP_SAME), *dx, *loss;
    loss = op_sum(g, op_square(g, y), 0, 4);
    graph_gradient(g, &dx, &n.x, 1, &loss, NULL, 1);
    graph_runner m = runner_start(g, &dx, 1, PROGRAM_FAST);
    CHECK(program_stats(m.p).packed_bytes >= 2 * 36 * CHANNELS * CHANNELS * (int64_t)sizeof(float));

    double *x = random_numbers(PIXELS, 1), *got = random_numbers(PIXELS, 1),
           *want = random_numbers(PIXELS, 1);
    float *kept = malloc(sizeof n.first);
    CHECK(kept);
    for (int turn = 0; turn < 2; turn++) {
        memcpy(kept, turn ? n.second : n.first, sizeof n.first);
        picture_run(m.i, &n, x, kept, got);
        double *w = random_numbers(TAPS, 1);
        for (int i = 0; i < TAPS; i++) w[i] = (double)kept[i];
        graph_runner reference = runner_start(g, &dx, 1, PROGRAM_REFERENCE);
        instance_set(reference.i, n.x, x);
        instance_set(reference.i, n.w, w);
        instance_run(reference.i, 0);
        instance_get(reference.i, 0, want);
        runner_stop(reference);
        double most = 0.0;
        for (int i = 0; i < PIXELS; i++) most = fmax(most, fabs(want[i]));
        for (int i = 0; i < PIXELS; i++) CHECK_NEAR(got[i], want[i], 1e-5 * most);
        free(w);
    }
    runner_stop(m);
    free(x), free(got), free(want), free(kept);
    graph_free(g);
}

TEST(frozen_instances_give_the_same_bits)
{
    static picture_net n;
    picture_net_start(&n);
    graph_node *y = op_conv(n.g, n.x, n.w, 1, OP_SAME);
    graph_runner m = runner_start(n.g, &y, 1, PROGRAM_FAST);
    CHECK_EQUAL(program_stats(m.p).packed_bytes, 0); // one use a run is not worth the memory

    double *x = random_numbers(PIXELS, 1), *want = random_numbers(PIXELS, 1),
           *got = random_numbers(PIXELS, 1);
    picture_run(m.i, &n, x, n.first, want);
    CHECK_OK(instance_freeze_parameters(m.i, NULL));
    program_instance *other;
    CHECK_OK(instance_create(&other, m.p));
    CHECK_OK(instance_freeze_parameters(other, m.i));
    for (int turn = 0; turn < 4; turn++) {
        memset(got, 0, PIXELS * sizeof *got);
        picture_run(turn % 2 ? other : m.i, &n, x, n.first, got);
        CHECK(memcmp(got, want, PIXELS * sizeof *got) == 0);
    }
    // What was made ready stays, so these are still the first weights.
    picture_run(m.i, &n, x, n.second, got);
    CHECK(memcmp(got, want, PIXELS * sizeof *got) == 0);
    instance_free(other);
    runner_stop(m);
    free(x), free(want), free(got);
    graph_free(n.g);
}
