// SPDX-License-Identifier: MIT
// The training step of HGN++: microbatches give the same step, unused pairs do not move, and the
// published sizes need little memory.
#include "models/latent_dynamics/decoder.h"
#include "models/latent_dynamics/rollout_graph.h"
#include "models/latent_dynamics/train_step.h"

#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "models/latent_dynamics/rollout.h"
#include "support/test.h"

enum { BATCH = 3, TARGETS = 7, IMAGE = 16 };

static hgn_config small_config(void)
{
    hgn_config c = hgn_config_plus_plus();
    c.height = c.width = IMAGE;
    c.window = 3;
    c.targets = TARGETS;
    c.latent = 8;
    c.encoder_blocks = c.decoder_blocks = 2;
    c.encoder[1].layers = 3;
    for (int b = 0; b < 2; b++) {
        for (int i = 0; i < 3; i++) c.encoder[b].width[i] = 6, c.encoder[b].kernel[i] = 3;
        for (int i = 0; i < 2; i++) c.decoder_width[b][i] = 6;
    }
    c.decoder_input_channels = 3;
    c.energy = (energy_net){.layers = 3, .width = {10, 10}, .act = ACT_SWISH};
    return c;
}

// The same with other dynamics.
static hgn_config config_of_dynamics(hgn_dynamics dynamics)
{
    hgn_config c = small_config();
    c.dynamics = dynamics;
    c.integrator = dynamics == HGN_HAMILTONIAN ? "leap_frog" : "rk2";
    c.residual = true;
    c.decoder_input = dynamics >= HGN_FIELD;
    if (dynamics == HGN_RECURRENT) c.targets++, c.objective = HGN_MSE;
    return c;
}

// One step on a fixed clip and noise.
typedef struct trial {
    hgn_config c;
    params p;
    hgn_step *step;
    hgn_replica *replica;
    float *value, *gradient;
    double l2[BATCH * TARGETS], kl[BATCH], state[BATCH];
    hgn_item item[BATCH];
    float noise[BATCH * 8];
    int64_t times[TARGETS];
    double weight[TARGETS];
    uint8_t *clips;
} trial;

static void begin_trial(trial *t, hgn_config c, int64_t group, bool nested)
{
    *t = (trial){.c = c};
    CHECK_OK(hgn_config_check(&t->c));
    CHECK_OK(hgn_step_create(
        &t->step, &t->p, &t->c,
        &(hgn_step_spec){
            .batch = BATCH, .decoded = TARGETS, .microbatch = group, .nested = nested}));
    t->value = calloc((size_t)t->p.size, sizeof(float));
    t->gradient = calloc((size_t)t->p.size, sizeof(float));
    params_init_values(&t->p, t->value, 5);
    CHECK_OK(hgn_replica_create(&t->replica, t->step, t->value));
    int64_t length = hgn_frame_plan_make(&t->c).length, bytes = length * IMAGE * IMAGE * 3;
    t->clips = malloc((size_t)(BATCH * bytes));
    rng r = rng_at(3, 1);
    for (int64_t i = 0; i < BATCH * bytes; i++) t->clips[i] = (uint8_t)rng_below(&r, 256);
    for (int i = 0; i < BATCH * 8; i++) t->noise[i] = (float)rng_normal(&r);
    for (int i = 0; i < TARGETS; i++) t->times[i] = i, t->weight[i] = 1e-3 * (1 + i);
    for (int b = 0; b < BATCH; b++)
        t->item[b] = (hgn_item){.clip = t->clips + b * bytes,
                                .pairs = 4,
                                .noise = t->noise + 8 * b,
                                .times = t->times,
                                .weight = t->weight};
}

static void run_step(trial *t)
{
    memset(t->gradient, 0, (size_t)t->p.size * sizeof(float));
    hgn_step_errors errors = {.kl_weight = 1e-3,
                              .state_weight = t->c.state_weight,
                              .l2 = t->l2,
                              .kl = t->kl,
                              .state = t->state};
    hgn_replica_run(t->replica, t->item, t->gradient, &errors);
}

static void end_trial(trial *t)
{
    hgn_replica_free(t->replica);
    hgn_step_free(t->step);
    params_clear(&t->p);
    free(t->value), free(t->gradient), free(t->clips);
}

static double largest_difference(const trial *a, const trial *b)
{
    double worst = 0.0, most = 0.0;
    for (int64_t i = 0; i < a->p.size; i++) {
        worst = fmax(worst, fabs((double)(a->gradient[i] - b->gradient[i])));
        most = fmax(most, fabs((double)a->gradient[i]));
    }
    CHECK(most > 1e-4);
    return worst / most;
}

TEST(frames_in_groups_give_the_step_of_all_frames_at_once)
{
    trial whole, parts;
    begin_trial(&whole, small_config(), BATCH * TARGETS, false);
    begin_trial(&parts, small_config(), 4, false); // 21 frames: the last group is not full
    run_step(&whole), run_step(&parts);
    CHECK(largest_difference(&whole, &parts) < 1e-5);
    for (int i = 0; i < BATCH * TARGETS; i++) CHECK_NEAR(whole.l2[i], parts.l2[i], 1e-3);
    end_trial(&whole), end_trial(&parts);
}

TEST(the_same_step_gives_the_same_bits)
{
    trial a;
    begin_trial(&a, small_config(), 4, false);
    run_step(&a);
    float *first = malloc((size_t)a.p.size * sizeof(float));
    memcpy(first, a.gradient, (size_t)a.p.size * sizeof(float));
    run_step(&a);
    CHECK(!memcmp(first, a.gradient, (size_t)a.p.size * sizeof(float)));
    free(first);
    end_trial(&a);
}

// What the preset for small machines adds: each is a choice of its own.
enum {
    ANGLES = 1,
    WHOLE_STATE = 2,
    PIXELS = 4,
    STANDARDISED = 8,
    MAGNITUDES = 16,
    COLOUR_GATE = 32,
    VARIANTS = 64
};

static hgn_config config_of_variant(int which)
{
    hgn_config c = small_config();
    c.angular_positions = which & ANGLES;
    c.decoder_input = c.add_spring_energy = which & WHOLE_STATE;
    c.decoder = which & PIXELS;
    c.standardise_frames = which & STANDARDISED;
    c.add_magnitudes = which & MAGNITUDES;
    c.colour_gate = c.add_magnitudes && which & COLOUR_GATE;
    if (c.add_magnitudes) c.kinetic = ENERGY_GRADED_QUAD;
    c.initial_scale = c.standardise_frames ? 0.3 : 0.0;
    c.log_scale_bound = c.colour_gate ? 0.5 : 0.0;
    return c;
}

static void set_param(trial *t, const char *name, float to)
{
    int i = params_find(&t->p, name);
    if (i >= 0) t->value[t->p.at[i].offset] = to;
}

static void check_slope(hgn_config c)
{
    trial a;
    begin_trial(&a, c, 8, false);
    set_param(&a, "circle_softness", 0.4f), set_param(&a, "frames.mean", 0.45f),
        set_param(&a, "frames.std", 0.3f);
    run_step(&a);
    // Along the gradient itself, by differences in float: a coarse check of the whole chain; the
    // sharp one is golden.
    double square = 0.0, low = 0.0, high = 0.0, h = 3e-4;
    float *value = malloc((size_t)a.p.size * sizeof(float));
    float *slope = malloc((size_t)a.p.size * sizeof(float));
    memcpy(value, a.value, (size_t)a.p.size * sizeof(float));
    memcpy(slope, a.gradient, (size_t)a.p.size * sizeof(float));
    for (int64_t i = 0; i < a.p.size; i++) square += (double)slope[i] * (double)slope[i];
    for (int side = -1; side <= 1; side += 2) {
        double loss = 0.0;
        for (int64_t i = 0; i < a.p.size; i++)
            a.value[i] = value[i] + (float)(side * h / sqrt(square)) * slope[i];
        run_step(&a);
        for (int i = 0; i < BATCH * TARGETS; i++) loss += a.weight[i % TARGETS] * a.l2[i];
        for (int b = 0; b < BATCH; b++) loss += 1e-3 * a.kl[b] + a.c.state_weight * a.state[b];
        *(side < 0 ? &low : &high) = loss;
    }
    CHECK_NEAR((high - low) / (2 * h), sqrt(square), 0.02 * sqrt(square) + 1e-3);
    free(value), free(slope);
    end_trial(&a);
}

TEST(the_gradient_is_the_slope_of_the_loss)
{
    for (int d = HGN_HAMILTONIAN; d <= HGN_RECURRENT; d++)
        check_slope(config_of_dynamics((hgn_dynamics)d));
    for (int k = HGN_LSTM; k <= HGN_GRU; k++) {
        hgn_config c = config_of_dynamics(HGN_RECURRENT);
        c.recurrent_core = (hgn_recurrent_core)k;
        check_slope(c);
    }
    hgn_config c = config_of_dynamics(HGN_MAP);
    c.residual = false;
    check_slope(c);
    for (int which = 0; which < VARIANTS; which++) check_slope(config_of_variant(which));
    c = config_of_variant(STANDARDISED | MAGNITUDES | COLOUR_GATE);
    c.kinetic = ENERGY_GRADED_MASSES;
    check_slope(c);
}

// What the paper tried on the way from HGN to HGN++, each alone and all together.
static hgn_config config_of_choice(int which)
{
    hgn_config c = small_config();
    const bool all = which == 5;
    if (which == 0) c.decoder = HGN_DECODER_BROADCAST;
    if (which == 1 || all) c.separate_encoders = true;
    if (which == 2 || all) c.state_weight = 0.7;
    if (which == 3 || all) {
        c.decoder_kernel = 5;
        c.encoder[0].kernel[0] = 4, c.encoder[1].kernel[1] = 1;
    }
    if (which == 4 || all) c.encoder_act = ACT_SOFTPLUS, c.decoder_act = ACT_TANH;
    return c;
}

TEST(the_gradient_of_each_choice_of_the_paper_is_the_slope_of_the_loss)
{
    for (int which = 0; which <= 5; which++) check_slope(config_of_choice(which));
    // With angles, backward in time, all of the state decoded, and without q and p apart.
    hgn_config c = config_of_choice(5);
    c.angular_positions = true;
    check_slope(c);
    c.angular_positions = false;
    c.direction = HGN_FORWARD_BACKWARD;
    c.split = HGN_INCLUDE;
    c.targets = TARGETS - c.window;
    check_slope(c);
    c = config_of_dynamics(HGN_FIELD);
    c.state_weight = 0.7;
    c.decoder = HGN_DECODER_BROADCAST;
    check_slope(c);
    c = config_of_dynamics(HGN_LAGRANGIAN);
    c.state_weight = 0.7;
    c.separate_encoders = true;
    check_slope(c);
}

// The KL of q does not depend on the encoder of p, and a posterior of p = prior leaves it alone.
TEST(separate_encoders_share_no_parameter)
{
    trial a;
    begin_trial(&a, config_of_choice(1), 8, false);
    run_step(&a);
    const double first = a.l2[0]; // decoded from the inferred q alone
    for (int i = 0; i < a.p.count; i++)
        if (!strncmp(a.p.at[i].name, "enc_p.", 6))
            for (int64_t k = 0; k < shape_count(&a.p.at[i].shape); k++)
                a.value[a.p.at[i].offset + k] += 0.05f;
    run_step(&a);
    CHECK(a.l2[0] == first);
    CHECK(a.l2[TARGETS - 1] != 0.0);
    // p moves q, so later frames do change.
    trial b;
    begin_trial(&b, config_of_choice(1), 8, false);
    run_step(&b);
    CHECK(a.l2[TARGETS - 1] != b.l2[TARGETS - 1]);
    end_trial(&a), end_trial(&b);
}

// A clip that stands still and a model that does not move: the far state is the inferred one.
TEST(the_state_error_is_zero_where_nothing_moves)
{
    trial a;
    hgn_config c = config_of_choice(2);
    c.dt = 1e-7;
    begin_trial(&a, c, 8, false);
    const int64_t frame = IMAGE * IMAGE * 3, length = hgn_frame_plan_make(&a.c).length;
    for (int b = 0; b < BATCH; b++)
        for (int64_t t = 1; t < length; t++)
            memcpy(a.clips + (b * length + t) * frame, a.clips + b * length * frame, (size_t)frame);
    memset(a.noise, 0, sizeof a.noise);
    run_step(&a);
    for (int b = 0; b < BATCH; b++) CHECK_NEAR(a.state[b], 0.0, 1e-9);
    // Another last frame is another state there.
    for (int b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < frame; i++) a.clips[((b + 1) * length - 1) * frame + i] ^= 0x80;
    run_step(&a);
    for (int b = 0; b < BATCH; b++) CHECK(a.state[b] > 1e-6);
    end_trial(&a);
}

// The far end of every split is the frame that the far window infers.
TEST(the_far_state_is_the_one_the_far_window_infers)
{
    hgn_config c = small_config();
    for (int split = HGN_OVERLAP; split < HGN_SPLITS; split++) {
        c.split = (hgn_split)split;
        const hgn_frame_plan plan = hgn_frame_plan_make(&c);
        CHECK_EQUAL(plan.first_target + hgn_frame_plan_end(&c), plan.length - 1);
    }
    c.direction = HGN_FORWARD_BACKWARD;
    CHECK_EQUAL(hgn_frame_plan_end(&c), hgn_frame_plan_make(&c).length - 1 - c.window / 2);
    c.direction = HGN_FORWARD;
    c.targets = 0;
    c.state_weight = 1.0;
    CHECK_FAILS(hgn_config_check(&c), PLUMB_EVALUE, "needs frames after the window");
}

// A picture less the mean, and its negative, differ in the first half of what the encoder sees.
TEST(sizes_are_alike_in_all_colours)
{
    trial a;
    begin_trial(&a, config_of_variant(STANDARDISED | MAGNITUDES), 8, false);
    set_param(&a, "frames.mean", 0.5f), set_param(&a, "frames.std", 0.3f);
    const param *w = &a.p.at[params_find(&a.p, "enc.block0.conv0.w")];
    const int64_t out = w->shape.size[3], half = w->shape.size[2] / 2;
    const int64_t bytes = BATCH * hgn_frame_plan_make(&a.c).length * IMAGE * IMAGE * 3;
    CHECK_EQUAL(w->shape.size[2], 2 * a.c.window * 3);
    for (int way = 0; way < 2; way++) {
        double before[BATCH], most = 0.0;
        for (int64_t i = 0; i < w->shape.size[0] * w->shape.size[1]; i++)
            for (int64_t k = 0; k < half * out; k++)
                a.value[w->offset + 2 * i * half * out + k] = way ? 0.1f : 0.0f;
        run_step(&a);
        memcpy(before, a.kl, sizeof before);
        for (int64_t i = 0; i < bytes; i++) a.clips[i] = (uint8_t)(255 - a.clips[i]);
        run_step(&a);
        for (int i = 0; i < BATCH; i++) most = fmax(most, fabs(before[i] - a.kl[i]));
        if (!way) CHECK(most < 1e-3);
        else CHECK(most > 1e-2);
    }
    end_trial(&a);
}

// By how much the KL changes when red and blue are exchanged.
static double colour_effect(hgn_config c, float hue)
{
    trial a;
    begin_trial(&a, c, 8, false);
    const param *w = &a.p.at[params_find(&a.p, "enc.colours.w")];
    for (int64_t k = 0; k < shape_count(&w->shape); k++) {
        CHECK(a.value[w->offset + k] == 0.0f); // they disturb nothing when they come
        a.value[w->offset + k] = 0.1f * (float)(k % 7);
    }
    set_param(&a, "frames.mean", 0.5f), set_param(&a, "frames.std", 0.3f),
        set_param(&a, "colour_gate", hue);
    const int64_t pixels = BATCH * hgn_frame_plan_make(&a.c).length * IMAGE * IMAGE;
    double before[BATCH], most = 0.0;
    run_step(&a);
    memcpy(before, a.kl, sizeof before);
    for (int64_t i = 0; i < pixels; i++) {
        const uint8_t red = a.clips[3 * i];
        a.clips[3 * i] = a.clips[3 * i + 2];
        a.clips[3 * i + 2] = red;
    }
    run_step(&a);
    for (int i = 0; i < BATCH; i++) most = fmax(most, fabs(before[i] - a.kl[i]));
    end_trial(&a);
    return most;
}

// Without a hue red is as blue.
TEST(colours_come_with_the_hue)
{
    hgn_config c = config_of_variant(STANDARDISED | MAGNITUDES | COLOUR_GATE);
    CHECK(colour_effect(c, 0.0f) < 1e-3);
    CHECK(colour_effect(c, 1.0f) > 1e-2);
}

// The first pair moves, and is all there is of one.
TEST(moving_pairs_do_not_see_colours_where_masses_differ)
{
    hgn_config c = config_of_variant(STANDARDISED | MAGNITUDES | COLOUR_GATE);
    c.kinetic = ENERGY_GRADED_MASSES;
    CHECK(colour_effect(c, 1.0f) > 1e-2);
    c.latent = 2;
    CHECK(colour_effect(c, 1.0f) < 1e-3);
    c.kinetic = ENERGY_GRADED_QUAD;
    CHECK(colour_effect(c, 1.0f) > 1e-2);
}

TEST(an_angle_and_the_same_angle_a_turn_on_are_drawn_alike)
{
    trial a, b;
    begin_trial(&a, config_of_variant(ANGLES), 8, false);
    begin_trial(&b, config_of_variant(ANGLES), 8, false);
    // log_scale is 0 where the last layer is: the noise is then what is added to the angle.
    for (trial *t = &a; t; t = t == &a ? &b : NULL) {
        int w = params_find(&t->p, "enc.proj.w"), from = 8, to = 16;
        for (int64_t i = 0; i < t->p.at[w].shape.size[0]; i++)
            for (int k = from; k < to; k++) t->value[t->p.at[w].offset + i * 20 + k] = 0.0f;
    }
    for (int i = 0; i < BATCH; i++) b.noise[8 * i] += 6.28318530718f; // the first q
    run_step(&a), run_step(&b);
    for (int i = 0; i < BATCH * TARGETS; i++) CHECK_NEAR(a.l2[i], b.l2[i], 1e-3 * a.l2[i]);
    for (int i = 0; i < BATCH; i++) b.noise[8 * i] += 1.0f;
    run_step(&b);
    CHECK(fabs(a.l2[0] - b.l2[0]) > 1e-6 * a.l2[0]);
    end_trial(&a), end_trial(&b);
}

TEST(only_a_decoder_of_the_whole_state_sees_momenta)
{
    for (int whole = 0; whole < 2; whole++) {
        trial a;
        begin_trial(&a, config_of_variant(whole ? WHOLE_STATE : 0), 8, false);
        run_step(&a);
        double first = a.l2[0]; // the inferred state itself
        for (int i = 0; i < BATCH; i++)
            for (int k = 4; k < 8; k++) a.noise[8 * i + k] += 3.0f;
        run_step(&a);
        CHECK(whole ? first != a.l2[0] : first == a.l2[0]);
        end_trial(&a);
    }
}

TEST(a_rollout_ends_when_asked_to_stop)
{
    enum { LONG = 500, LATENTS = 8 };
    trial a;
    begin_trial(&a, small_config(), 8, false);
    float *latent = malloc(LONG * LATENTS * sizeof *latent);
    const model_rollout_job job = {.frames = a.clips,
                                   .count = 1,
                                   .steps = LONG,
                                   .input_steps = hgn_frame_plan_make(&a.c).length,
                                   .threads = 1,
                                   .latent = latent};
    for (int stop = 1; stop >= 0; stop--) {
        latent[LONG * LATENTS - 1] = 1e30f;
        plumb_set_stop(stop);
        CHECK_EQUAL(hgn_rollout(&a.c, &a.p, a.value, &job), stop ? PLUMB_ESTOPPED : PLUMB_OK);
        CHECK((latent[LONG * LATENTS - 1] == 1e30f) == stop);
    }
    free(latent);
    end_trial(&a);
}

static void check_unused(hgn_config c)
{
    trial a, b;
    c.nested_pairs = true;
    begin_trial(&a, c, 8, true);
    begin_trial(&b, c, 8, true);
    for (int i = 0; i < BATCH; i++) a.item[i].pairs = b.item[i].pairs = 2;
    // Other noise in the two pairs that are left out: (q, p) are columns 2, 3 and 6, 7.
    for (int i = 0; i < BATCH; i++)
        for (int k = 0; k < 8; k++)
            if (k % 4 >= 2) b.noise[8 * i + k] += 3.0f;
    run_step(&a), run_step(&b);
    CHECK(!memcmp(a.l2, b.l2, sizeof a.l2) && !memcmp(a.kl, b.kl, sizeof a.kl));
    CHECK(!memcmp(a.gradient, b.gradient, (size_t)a.p.size * sizeof(float)));
    // The same, decided by the model and not by the item.
    float *keep = b.value + b.p.at[params_find(&b.p, "pair_mask")].offset;
    keep[2] = keep[3] = 0.0f;
    for (int i = 0; i < BATCH; i++) b.item[i].pairs = 4;
    run_step(&b);
    CHECK(!memcmp(a.l2, b.l2, sizeof a.l2) && !memcmp(a.kl, b.kl, sizeof a.kl));
    // And what is in use matters.
    for (int i = 0; i < BATCH; i++) b.noise[8 * i] += 3.0f;
    run_step(&b);
    CHECK(memcmp(a.l2, b.l2, sizeof a.l2));
    end_trial(&a), end_trial(&b);
}

TEST(pairs_that_are_not_in_use_change_nothing)
{
    for (int d = HGN_HAMILTONIAN; d < HGN_RECURRENT; d++)
        check_unused(config_of_dynamics((hgn_dynamics)d));
    check_unused(small_config());
    check_unused(config_of_variant(ANGLES | WHOLE_STATE | PIXELS));
}

TEST(relatives_have_as_many_parameters_as_published)
{
    static const int64_t want[] = {882561, 916446, 705687, 705687};
    for (int d = HGN_HAMILTONIAN; d < HGN_RECURRENT; d++) {
        hgn_config c = hgn_config_plus_plus();
        c.dynamics = (hgn_dynamics)d;
        c.decoder_input = d >= HGN_FIELD;
        params p = {0};
        hgn_rollout_graph roll;
        hgn_decoder_graph decode;
        CHECK_OK(hgn_rollout_build(&roll, &p, &c,
                                   &(hgn_rollout_spec){.batch = 1,
                                                       .backward = 0,
                                                       .forward = 1,
                                                       .decode_start = true,
                                                       .masked = false,
                                                       .train = false}));
        CHECK_OK(hgn_decoder_build(&decode, &p, &c, 1, false));
        CHECK_EQUAL(p.size, want[d]);
        graph_free(roll.net.g), graph_free(decode.net.g);
        params_clear(&p);
    }
}

TEST(a_batch_of_32_rollouts_of_60_frames_at_64_channels_takes_less_than_2_GiB)
{
    hgn_config c = hgn_config_plus_plus();
    params p = {0};
    hgn_step *step;
    CHECK_OK(hgn_step_create(
        &step, &p, &c,
        &(hgn_step_spec){.batch = 32, .decoded = 60, .microbatch = 8, .nested = false}));
    int64_t parameters = 0;
    for (int i = 0; i < p.count; i++) parameters += shape_count(&p.at[i].shape);
    CHECK_EQUAL(parameters, 882561); // as published
    program_statistics roll = program_stats(hgn_step_rollout_program(step));
    program_statistics decode = program_stats(hgn_step_decoder_program(step));
    CHECK(roll.block_bytes + roll.scratch_bytes + decode.block_bytes + decode.scratch_bytes <
          INT64_C(2) << 30);
    CHECK(roll.block_bytes < roll.total_bytes && decode.block_bytes < decode.total_bytes);
    hgn_step_free(step);
    params_clear(&p);
}
