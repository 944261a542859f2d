// SPDX-License-Identifier: MIT
// Probes of latents whose content is known: all of the state, half of it, none of it.
#include "plumb/probe.h"

#include "measures/fixtures.h"

enum { TRAJECTORIES = 24, STEPS = 20 };

typedef struct probe_case {
    double *truth, *latent;
    plumb_array truth_array, latent_array, half;
    plumb_probe_target target;
    plumb_probe_input in;
} probe_case;

// Two springs; the latents are sums and differences of q and p of the first.
static void make_case(probe_case *c)
{
    const int64_t shape[] = {TRAJECTORIES, STEPS, 4}, narrow[] = {TRAJECTORIES, STEPS, 2};
    c->truth = forge_room(TRAJECTORIES * STEPS * 4);
    c->latent = forge_room(TRAJECTORIES * STEPS * 2);
    forge_springs(c->truth, 2, TRAJECTORIES, STEPS);
    for (int i = 0; i < TRAJECTORIES * STEPS; i++) {
        const double q = c->truth[4 * i], p = c->truth[4 * i + 2];
        c->latent[2 * i] = 3.0 * q + p;
        c->latent[2 * i + 1] = q - 2.0 * p + 5.0;
    }
    c->truth_array = plumb_array_view(c->truth, PLUMB_FLOAT64, 3, shape);
    c->latent_array = plumb_array_view(c->latent, PLUMB_FLOAT64, 3, narrow);
    c->target = (plumb_probe_target){.name = "truth", .array = &c->truth_array};
    c->in = (plumb_probe_input){
        .size = sizeof c->in, .latent = &c->latent_array, .targets = &c->target, .target_count = 1};
}

static void free_case(probe_case *c)
{
    free(c->truth);
    free(c->latent);
}

TEST(what_the_latents_hold_has_r2_1_and_what_they_do_not_hold_has_not)
{
    probe_case c;
    make_case(&c);
    plumb_probe result;
    CHECK_OK(plumb_probe_measure(&result, &c.in, NULL));
    CHECK_EQUAL(result.count, 4);
    CHECK_EQUAL(result.group_count, 1);
    CHECK_TEXT(result.line[1].name, "truth[1]");
    CHECK_TEXT(result.group[0].name, "truth");
    for (int k = 0; k < 4; k += 2) {
        CHECK_NEAR(result.line[k].linear.r2, 1.0, 1e-10);
        CHECK_NEAR(result.line[k].linear.r, 1.0, 1e-10);
        CHECK_NEAR(result.line[k].linear.nmse, 0.0, 1e-10);
        CHECK_EQUAL(result.line[k].found, PLUMB_PROBE_FOUND_LINEAR);
        CHECK(result.line[k].shuffled_max < 0.3);
        // q and p of the second spring are independent of the first.
        CHECK(result.line[k + 1].linear.r2 < 0.1);
        CHECK_EQUAL(result.line[k + 1].found, PLUMB_PROBE_FOUND_NONE);
    }
    CHECK_EQUAL(result.rows, TRAJECTORIES * STEPS);
    CHECK_EQUAL(result.folds, 5);
    plumb_probe_clear(&result);
    free_case(&c);
}

TEST(scores_do_not_depend_on_units_of_latents_and_targets)
{
    probe_case c;
    make_case(&c);
    plumb_probe plain, scaled;
    plumb_probe_options opt = plumb_probe_defaults();
    opt.nonlinear = false;
    // Noise, so that the numbers are not all 1.
    rng r = rng_at(5, 0);
    for (int i = 0; i < TRAJECTORIES * STEPS * 2; i++) c.latent[i] += rng_normal(&r);
    CHECK_OK(plumb_probe_measure(&plain, &c.in, &opt));
    for (int i = 0; i < TRAJECTORIES * STEPS; i++) c.latent[2 * i] *= 1e-6;
    for (int i = 0; i < TRAJECTORIES * STEPS * 4; i++) c.truth[i] = 1e3 * c.truth[i] + 1e4;
    CHECK_OK(plumb_probe_measure(&scaled, &c.in, &opt));
    for (int k = 0; k < 4; k++) {
        CHECK_NEAR(plain.line[k].linear.r2, scaled.line[k].linear.r2, 1e-9);
        CHECK_NEAR(plain.line[k].linear.nmse, scaled.line[k].linear.nmse, 1e-9);
        CHECK_NEAR(plain.line[k].linear.r2_ci.low, scaled.line[k].linear.r2_ci.low, 1e-9);
    }
    plumb_probe_clear(&plain);
    plumb_probe_clear(&scaled);
    free_case(&c);
}

TEST(a_square_is_found_by_the_nonlinear_probe_alone)
{
    probe_case c;
    make_case(&c);
    double *square = forge_room(TRAJECTORIES * STEPS);
    for (int i = 0; i < TRAJECTORIES * STEPS; i++)
        square[i] = c.truth[4 * i] * c.truth[4 * i] - c.truth[4 * i + 2] * c.truth[4 * i + 2];
    const plumb_array array =
        plumb_array_view(square, PLUMB_FLOAT64, 2, (int64_t[]){TRAJECTORIES, STEPS});
    c.target = (plumb_probe_target){.name = "square", .array = &array};
    plumb_probe result;
    CHECK_OK(plumb_probe_measure(&result, &c.in, NULL));
    CHECK_TEXT(result.line[0].name, "square");
    CHECK(result.line[0].linear.r2 < 0.2);
    CHECK(result.line[0].nonlinear.r2 > 0.98);
    CHECK_EQUAL(result.line[0].found, PLUMB_PROBE_FOUND_NONLINEAR);
    plumb_probe_clear(&result);
    free(square);
    free_case(&c);
}

TEST(wrong_arguments_are_refused)
{
    probe_case c;
    make_case(&c);
    plumb_probe result = {0};
    CHECK_FAILS(plumb_probe_measure(NULL, &c.in, NULL), PLUMB_EVALUE, "out is NULL");
    CHECK_FAILS(plumb_probe_measure(&result, NULL, NULL), PLUMB_EVALUE, "input is NULL");
    plumb_probe_options opt = plumb_probe_defaults();
    opt.folds = 2;
    CHECK_FAILS(plumb_probe_measure(&result, &c.in, &opt), PLUMB_EVALUE, "folds is 2");
    plumb_probe_input in = c.in;
    in.latent = NULL;
    CHECK_FAILS(plumb_probe_measure(&result, &in, NULL), PLUMB_EVALUE, "latent is NULL");
    in = c.in;
    in.target_count = 0;
    CHECK_FAILS(plumb_probe_measure(&result, &in, NULL), PLUMB_EVALUE, "no target");
    in = c.in;
    in.action = &c.target.array[0];
    plumb_array two = c.truth_array;
    two.ndim = 2;
    in.action = &two;
    CHECK_FAILS(plumb_probe_measure(&result, &in, NULL), PLUMB_ESHAPE, "action has shape");
    in = c.in;
    in.frames = &c.truth_array;
    CHECK_FAILS(plumb_probe_measure(&result, &in, NULL), PLUMB_ESHAPE, "frames has shape");
    in = c.in;
    in.ood = &c.truth_array;
    CHECK_FAILS(plumb_probe_measure(&result, &in, NULL), PLUMB_ESHAPE, "ood has 4 columns");
    CHECK(result.memory == NULL);
    plumb_probe_clear(NULL);
    plumb_probe_record(NULL, &result, NULL);
    free_case(&c);
}

TEST(a_call_can_be_stopped)
{
    probe_case c;
    make_case(&c);
    plumb_probe result;
    plumb_set_stop(true);
    CHECK_FAILS(plumb_probe_measure(&result, &c.in, NULL), PLUMB_ESTOPPED, "");
    plumb_set_stop(false);
    free_case(&c);
}
