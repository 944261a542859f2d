// SPDX-License-Identifier: MIT
// kappa of maps whose kappa is known, in both directions, and input that is rejected.
#include "measures/kappa/lagrangian_momenta.h"
#include "plumb/kappa.h"

#include "measures/fixtures.h"
#include "plumb/world.h"

enum { TRAJECTORIES = 60, STEPS = 40 };

static plumb_kappa measured(forged *f, const plumb_kappa_options *opt)
{
    plumb_kappa r;
    CHECK_OK(plumb_kappa_measure(&r, &f->latent, NULL, &f->truth, opt));
    return r;
}

// The verdict and kappa of one map; r stays with the caller.
static void check_map(int64_t n, int64_t m, forge_map *map, int canonical, double kappa,
                      double tolerance)
{
    forged f = forge(n, m, TRAJECTORIES, STEPS, map);
    plumb_kappa r = measured(&f, NULL);
    if (r.canonical != canonical) print_message("kappa %g: %s\n", r.kappa, r.why);
    CHECK_EQUAL(r.canonical, canonical);
    CHECK_NEAR(r.kappa, kappa, tolerance);
    CHECK(r.kappa_ci.low <= r.kappa && r.kappa <= r.kappa_ci.high);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// --- right models -------------------------------------------------------------------------------

static void swap_and_scale(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    S[0] = 7.0 * s[1] + 3.0, S[1] = 7.0 * s[0]; // c = -49
}

// Three shears: canonical, and bent.
static void shears(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    double q = s[0], p = s[1];
    p += 0.8 * tanh(1.5 * q);
    q -= 0.6 * sin(p);
    p += 0.5 * q * q;
    S[0] = q, S[1] = p;
}

// One pair turned into two, and a pair that is a function and a function of that.
static void spread_out(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    const double g = sin(s[0] + s[1]);
    S[0] = 0.6 * s[0], S[1] = 0.8 * s[0], S[2] = g;
    S[3] = 0.6 * s[1], S[4] = 0.8 * s[1], S[5] = g * g;
}

// n = 2: 45 degrees in both, which SyMetric refuses when the pairs differ in size.
static void turn_both(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    const double c = 0.7071067811865476;
    S[0] = c * (s[0] + 0.1 * s[1]), S[1] = c * (0.1 * s[1] - s[0]);
    S[2] = c * (s[2] + 10.0 * s[3]), S[3] = c * (10.0 * s[3] - s[2]);
}

static void with_noise(double *S, const double *s, int64_t step, rng *noise)
{
    shears(S, s, step, noise);
    S[0] += 0.02 * rng_normal(noise), S[1] += 0.02 * rng_normal(noise);
}

// Hundreds of latents, none of which tells much.
enum { CROWD = 200 };
static void crowd(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step;
    for (int64_t i = 0; i < CROWD; i++) {
        S[i] = s[0] + rng_normal(noise);
        S[CROWD + i] = s[1] + rng_normal(noise);
    }
}

TEST(a_crowd_of_latents_holds_the_state)
{
    forged f = forge(1, CROWD, TRAJECTORIES, STEPS, crowd);
    plumb_kappa r = measured(&f, NULL);
    CHECK(r.r2_state > 0.9);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

TEST(canonical_images_are_right)
{
    check_map(1, 1, swap_and_scale, PLUMB_VERDICT_LEARNT, 1.0, 1e-9);
    check_map(1, 1, shears, PLUMB_VERDICT_LEARNT, 1.0, 0.002);
    check_map(0, 1, shears, PLUMB_VERDICT_LEARNT, 1.0, 0.005);
    check_map(1, 3, spread_out, PLUMB_VERDICT_LEARNT, 1.0, 0.002);
    check_map(2, 2, turn_both, PLUMB_VERDICT_LEARNT, 1.0, 1e-9);
    check_map(1, 1, with_noise, PLUMB_VERDICT_LEARNT, 1.0, 0.01);
}

TEST(the_constant_is_found_with_its_sign)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, swap_and_scale);
    plumb_kappa r = measured(&f, NULL);
    CHECK_NEAR(r.c, -49.0, 1e-6);
    CHECK_NEAR(r.form_low, 1.0, 1e-9);
    CHECK_NEAR(r.pairs[0], 1.0, 1e-9);
    CHECK_EQUAL(r.trajectories, TRAJECTORIES);
    double lost = 0.0;
    for (int64_t k = 0; k < r.trajectories; k++) {
        CHECK_EQUAL(r.items[k].trajectory, k);
        CHECK_NEAR(r.items[k].kappa, 1.0, 1e-9);
        lost += r.items[k].lost;
    }
    CHECK(lost == 0.0 || fabs(lost - 1.0) < 1e-9);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// --- wrong models -------------------------------------------------------------------------------

static void stretch_one(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    S[0] = 2.0 * s[0], S[1] = s[1], S[2] = 2.0 * s[2], S[3] = s[3];
}

static void exchange(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    S[0] = s[0], S[1] = s[1], S[2] = s[3], S[3] = s[2];
}

static void mirror_one(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    S[0] = s[0], S[1] = s[1], S[2] = s[2], S[3] = -s[3];
}

// q -> q + q^3: area 1 + 3 q^2.
static void bend(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    S[0] = s[0] + s[0] * s[0] * s[0], S[1] = s[1];
}

// The paper's cheat: all in the positions, time among them, momenta dead.
static void cheat(double *S, const double *s, int64_t step, rng *noise)
{
    (void)noise;
    S[0] = s[0], S[1] = s[1], S[2] = (double)step, S[3] = S[4] = S[5] = 0.0;
}

static void positions(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step;
    S[0] = s[0], S[1] = 0.01 * rng_normal(noise);
}

TEST(what_breaks_the_form_is_wrong)
{
    check_map(2, 2, stretch_one, PLUMB_VERDICT_NOT_LEARNT, 25.0 / 34.0, 1e-6);
    check_map(2, 2, exchange, PLUMB_VERDICT_NOT_LEARNT, 0.0, 1e-9);
    check_map(2, 2, mirror_one, PLUMB_VERDICT_NOT_LEARNT, 0.0, 1e-9);
    check_map(1, 3, cheat, PLUMB_VERDICT_NOT_LEARNT, 0.0, 1e-9);
    check_map(1, 1, positions, PLUMB_VERDICT_NOT_LEARNT, 0.0, 1e-9);
    // <1 + 3 q^2>^2 / <(1 + 3 q^2)^2> over the states themselves
    forged f = forge(1, 1, TRAJECTORIES, STEPS, bend);
    double mean = 0.0, square = 0.0;
    for (int64_t i = 0; i < TRAJECTORIES * STEPS; i++) {
        const double area = 1.0 + 3.0 * f.truth_data[2 * i] * f.truth_data[2 * i];
        mean += area / (TRAJECTORIES * STEPS), square += area * area / (TRAJECTORIES * STEPS);
    }
    forged_free(&f);
    check_map(1, 1, bend, PLUMB_VERDICT_NOT_LEARNT, mean * mean / square, 1e-6);
}

// --- constants, angles, redundancy --------------------------------------------------------------

// A squeeze that each trajectory has for itself, told by a latent that is constant along it.
static void squeeze(double *S, const double *s, int64_t step, rng *noise)
{
    static double factor;
    if (step == 0) factor = exp(1.4 * rng_uniform(noise) - 0.7);
    S[0] = factor * s[0], S[1] = log(factor), S[2] = s[1] / factor, S[3] = 0.0;
}

// The pair moves about a place that a few of many constants tell: fewer trajectories than would
// show which, were all of them to have a say.
enum { CONSTANTS = 20 };
static void displaced(double *S, const double *s, int64_t step, rng *noise)
{
    enum { M = CONSTANTS + 1 };
    static double constant[2 * CONSTANTS];
    for (int i = 0; i < 2 * CONSTANTS && step == 0; i++) constant[i] = rng_normal(noise);
    S[0] = s[0] + 0.5 * constant[0], S[M] = s[1] - 0.5 * constant[1];
    memcpy(S + 1, constant, CONSTANTS * sizeof *S);
    memcpy(S + M + 1, constant + CONSTANTS, CONSTANTS * sizeof *S);
}

TEST(a_state_that_hangs_on_few_of_many_constants_is_held)
{
    forged f = forge(1, CONSTANTS + 1, TRAJECTORIES, STEPS, displaced);
    plumb_kappa r = measured(&f, NULL);
    CHECK(r.r2_state > 0.99);
    CHECK(r.canonical != PLUMB_VERDICT_NOT_LEARNT);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// A learnt constant drifts a little, and its momentum as the force on it adds up.
static void drifting(double *S, const double *s, int64_t step, rng *noise)
{
    static double constant;
    if (step == 0) constant = rng_normal(noise);
    S[0] = s[0], S[1] = constant + 0.005 * s[0] * s[1], S[2] = s[1];
    S[3] = 0.2 * constant * ((double)step - 0.5 * (STEPS - 1));
}

static void drifting_and_bent(double *S, const double *s, int64_t step, rng *noise)
{
    drifting(S, s, step, noise);
    S[0] += 4.0 * S[0] * S[0] * S[0];
}

// All that is known stands in the positions, and each has a constant for its momentum.
static void no_momenta(double *S, const double *s, int64_t step, rng *noise)
{
    static double constant[2];
    for (int i = 0; i < 2 && step == 0; i++) constant[i] = rng_normal(noise);
    S[0] = s[0], S[1] = s[1], S[2] = constant[0], S[3] = constant[1];
}

TEST(partners_of_constants_are_not_asked)
{
    check_map(1, 2, drifting, PLUMB_VERDICT_LEARNT, 1.0, 0.01);
    check_map(1, 2, drifting_and_bent, PLUMB_VERDICT_NOT_LEARNT, 0.5, 0.3); // not "not determined"
    check_map(1, 2, no_momenta, PLUMB_VERDICT_NOT_LEARNT, 0.0, 0.01);
}

// The angle and the action of a spring: the action is constant along a trajectory, yet no
// parameter; the angle runs on, so that it is a function of the state only up to turns.
static void action_angle(double *S, const double *s, int64_t step, rng *noise)
{
    static double angle;
    (void)noise;
    const double now = atan2(s[0], s[1]);
    angle = step ? angle + remainder(now - angle, 6.283185307179586) : now;
    S[0] = angle, S[1] = 0.5 * (s[0] * s[0] + s[1] * s[1]);
}

TEST(constants_of_a_trajectory_are_parameters_unless_they_are_functions_of_the_state)
{
    check_map(1, 2, squeeze, PLUMB_VERDICT_LEARNT, 1.0, 0.01);
    forged f = forge(1, 1, TRAJECTORIES, 3 * STEPS, action_angle);
    plumb_kappa r = measured(&f, NULL);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
    CHECK_NEAR(r.kappa, 1.0, 0.01);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// A rotor: the angle runs on, the picture of it does not know how often it went round.
static void rotor(forged *f, bool right)
{
    *f = forge(1, 1, TRAJECTORIES, STEPS, swap_and_scale);
    rng r = rng_at(5, 0);
    for (int64_t k = 0; k < TRAJECTORIES; k++) {
        const double p = 0.5 + rng_uniform(&r), phase = 6.2831853 * rng_uniform(&r);
        for (int64_t t = 0; t < STEPS; t++) {
            const double q = phase + 0.3 * p * (double)t;
            const double radius = right ? sqrt(2.0 * p) : p * p;
            double *s = f->truth_data + 2 * (k * STEPS + t),
                   *S = f->latent_data + 2 * (k * STEPS + t);
            s[0] = q, s[1] = p;
            S[0] = radius * sin(q), S[1] = radius * cos(q); // q0 dp0 - ... = radius d radius dq
        }
    }
}

TEST(angles_are_compared_on_the_circle)
{
    forged f;
    rotor(&f, true);
    plumb_kappa r = measured(&f, NULL);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
    CHECK(r.kappa > 0.99 && r.r2_state > 0.95);
    plumb_kappa_clear(&r);
    // Told that it is no angle, the turns that the latents do not hold count.
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.angles = (bool[]){false};
    r = measured(&f, &opt);
    CHECK(r.r2_state < 0.9);
    plumb_kappa_clear(&r);
    forged_free(&f);
    rotor(&f, false);
    r = measured(&f, NULL);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_NOT_LEARNT);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

static void copy_four(double *S, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    for (int i = 0; i < 4; i++) S[i] = s[i];
}

TEST(redundant_truth_is_reduced_and_said)
{
    // Two bodies about a centre at rest: q2 = -q1, p2 = -p1.
    forged f = forge(2, 2, TRAJECTORIES, STEPS, copy_four);
    for (int64_t i = 0; i < TRAJECTORIES * STEPS; i++) {
        f.truth_data[4 * i + 1] = -f.truth_data[4 * i];
        f.truth_data[4 * i + 3] = -f.truth_data[4 * i + 2];
        memcpy(f.latent_data + 4 * i, f.truth_data + 4 * i, 4 * sizeof(double));
    }
    plumb_kappa r = measured(&f, NULL);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
    CHECK_EQUAL(r.n_used, 1);
    CHECK(r.reduced && strstr(r.reduced, "2 dimensions"));
    CHECK(!r.pairs);
    plumb_kappa_clear(&r);
    // Circles: the momentum follows from the place. p = (-y, x) / r^1.5
    for (int64_t i = 0; i < TRAJECTORIES * STEPS; i++) {
        double *s = f.truth_data + 4 * i;
        rng g = rng_at(9, (uint64_t)(i / STEPS));
        const double radius = 0.7 + rng_uniform(&g), phase = 6.28 * rng_uniform(&g);
        const double turn = phase + 0.1 * (double)(i % STEPS) / pow(radius, 1.5);
        s[0] = radius * cos(turn), s[1] = radius * sin(turn);
        s[2] = -s[1] / pow(radius, 1.5), s[3] = s[0] / pow(radius, 1.5);
        memcpy(f.latent_data + 4 * i, s, 4 * sizeof(double));
    }
    r = measured(&f, NULL);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
    CHECK_EQUAL(r.n_used, 1);
    CHECK(r.kappa > 0.99 && strstr(r.reduced, "a surface of 2 dimensions"));
    plumb_kappa_clear(&r);
    // The same with an area that is not the true one: p = (-y, x) r^2
    for (int64_t i = 0; i < TRAJECTORIES * STEPS; i++) {
        double *S = f.latent_data + 4 * i;
        const double r2 = S[0] * S[0] + S[1] * S[1];
        S[2] = -S[1] * r2, S[3] = S[0] * r2;
    }
    r = measured(&f, NULL);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_NOT_LEARNT);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// --- estimators, determinism, refusals ----------------------------------------------------------

TEST(every_estimator_knows_right_from_wrong)
{
    for (int i = PLUMB_KAPPA_ESTIMATOR_NETWORK; i <= PLUMB_KAPPA_ESTIMATOR_POLYNOMIAL; i++) {
        plumb_kappa_options opt = plumb_kappa_defaults();
        opt.estimator = (plumb_kappa_estimator)i;
        forged f = forge(1, 1, TRAJECTORIES, STEPS, shears);
        plumb_kappa r = measured(&f, &opt);
        CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
        CHECK_NEAR(r.kappa, 1.0, 0.02);
        plumb_kappa_clear(&r);
        forged_free(&f);
        f = forge(1, 1, TRAJECTORIES, STEPS, bend);
        r = measured(&f, &opt);
        CHECK_EQUAL(r.canonical, PLUMB_VERDICT_NOT_LEARNT);
        plumb_kappa_clear(&r);
        forged_free(&f);
    }
}

TEST(two_runs_give_the_same_bits)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, with_noise);
    plumb_kappa a = measured(&f, NULL), b = measured(&f, NULL);
    CHECK(a.kappa == b.kappa && a.kappa_ci.low == b.kappa_ci.low && a.r2_state == b.r2_state);
    CHECK_TEXT(a.input_hash, b.input_hash);
    plumb_kappa_clear(&a);
    plumb_kappa_clear(&b);
    forged_free(&f);
}

TEST(what_cannot_be_measured_is_refused)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, shears);
    plumb_kappa r = {.kappa = 42.0};
    plumb_array bad = f.truth;
    bad.shape[0] = 3;
    CHECK_FAILS(plumb_kappa_measure(&r, &f.latent, NULL, &bad, NULL), PLUMB_ESHAPE,
                "number of trajectories must be equal");
    bad = f.latent;
    bad.shape[2] = 1;
    CHECK_FAILS(plumb_kappa_measure(&r, &bad, NULL, &f.truth, NULL), PLUMB_ESHAPE, "even");
    plumb_array few = f.latent, three = f.truth;
    few.shape[0] = three.shape[0] = 3;
    CHECK_FAILS(plumb_kappa_measure(&r, &few, NULL, &three, NULL), PLUMB_ENUMERIC, "at least 4");
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.centres = 0;
    CHECK_FAILS(plumb_kappa_measure(&r, &f.latent, NULL, &f.truth, &opt), PLUMB_EVALUE, "centres");
    opt = plumb_kappa_defaults();
    opt.size = 0;
    CHECK_FAILS(plumb_kappa_measure(&r, &f.latent, NULL, &f.truth, &opt), PLUMB_EVALUE, "size");

    f.latent_data[5] = (double)NAN;
    CHECK_FAILS(plumb_kappa_measure(&r, &f.latent, NULL, &f.truth, NULL), PLUMB_ENUMERIC, "latent");
    CHECK_NEAR(r.kappa, 42.0, 0.0);
    opt = plumb_kappa_defaults();
    opt.drop_nonfinite = true;
    r = measured(&f, &opt);
    CHECK_EQUAL(r.dropped, 1);
    CHECK_EQUAL(r.trajectories, TRAJECTORIES - 1);
    CHECK_EQUAL(r.items[0].trajectory, 1);
    plumb_kappa_clear(&r);
    f.latent_data[5] = 0.0;

    for (int64_t i = 0; i < TRAJECTORIES * STEPS; i++) f.truth_data[2 * i + 1] = 1.0;
    CHECK_FAILS(plumb_kappa_measure(&r, &f.latent, NULL, &f.truth, NULL), PLUMB_ENUMERIC,
                "no area");
    forged_free(&f);
}

TEST(latents_that_are_all_dead_are_wrong)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, shears);
    for (int64_t i = 0; i < TRAJECTORIES * STEPS * 2; i++) f.latent_data[i] = 3.0;
    plumb_kappa r = measured(&f, NULL);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_NOT_LEARNT);
    CHECK_NEAR(r.kappa, 0.0, 0.0);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// --- Lagrangian models --------------------------------------------------------------------------

// The double pendulum: v = M(q)^-1 p.
static void velocities(forged *f)
{
    enum { COUNT = 60, LONG = 60 };
    const plumb_world *world;
    CHECK_OK(plumb_world_find(&world, "double-pendulum"));
    const int64_t rows = COUNT * LONG;
    *f = (forged){forge_room(rows * 4), forge_room(rows * 4), {0}, {0}};
    double *slope = forge_room(rows * 4);
    for (int64_t k = 0; k < COUNT; k++)
        CHECK_OK(plumb_world_simulate(&(plumb_world_item){.state = f->truth_data + k * LONG * 4,
                                                          .derivative = slope + k * LONG * 4},
                                      world, 3, k, LONG, NULL));
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < 2; i++) {
            f->latent_data[4 * r + i] = f->truth_data[4 * r + i];
            f->latent_data[4 * r + 2 + i] = slope[4 * r + i];
        }
    free(slope);
    f->latent = plumb_array_view(f->latent_data, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, LONG, 4});
    f->truth = plumb_array_view(f->truth_data, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, LONG, 4});
}

TEST(velocities_are_not_canonical_and_the_momenta_of_a_lagrangian_are)
{
    forged f;
    velocities(&f);
    plumb_kappa r = measured(&f, NULL);
    CHECK(r.canonical != PLUMB_VERDICT_LEARNT && r.kappa < 0.9);
    plumb_kappa_clear(&r);
    const int64_t rows = f.truth.shape[0] * f.truth.shape[1];
    double *p = forge_room(rows * 2);
    CHECK_OK(kappa_fit_momenta(p, &f.latent));
    // They are the true momenta, up to one factor.
    double along = 0.0, own = 0.0, truth = 0.0;
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < 2; k++) {
            const double t = f.truth_data[4 * i + 2 + k];
            along += p[2 * i + k] * t, own += p[2 * i + k] * p[2 * i + k], truth += t * t;
        }
    CHECK(along * along / (own * truth) > 0.9999);
    plumb_kappa_options opt = plumb_kappa_defaults();
    const plumb_array momenta =
        plumb_array_view(p, PLUMB_FLOAT64, 3, (int64_t[]){f.truth.shape[0], f.truth.shape[1], 2});
    CHECK_OK(plumb_kappa_measure(&r, &f.latent, &momenta, &f.truth, &opt));
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
    CHECK(r.kappa > 0.99);
    plumb_kappa_clear(&r);
    // (q, p) is no position and its velocity.
    CHECK_FAILS(kappa_fit_momenta(p, &f.truth), PLUMB_ENUMERIC, "velocity");
    free(p);
    forged_free(&f);
}

// --- what is reported beside kappa --------------------------------------------------------------

// Half of the motion is noise, which kappa does not see.
static void half_noise(double *S, const double *s, int64_t step, rng *noise)
{
    shears(S, s, step, noise);
    for (int i = 0; i < 2; i++) S[i] += 0.15 * rng_normal(noise);
}

TEST(the_score_counts_what_is_explained_and_whether_the_state_is_held)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, half_noise);
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.r2_bar = 0.5;
    plumb_kappa r = measured(&f, &opt);
    CHECK(r.r2_latent < 0.95 && r.r2_state > 0.5 && r.kappa > 0.9);
    CHECK_NEAR(r.score, r.kappa * r.r2_latent, 1e-12);
    plumb_kappa_clear(&r);
    opt.r2_bar = 0.99; // now the latents do not hold the state
    r = measured(&f, &opt);
    CHECK(r.kappa > 0.9 && r.score == 0.0);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

TEST(each_true_coordinate_has_its_own_r2)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, positions);
    plumb_kappa r = measured(&f, NULL);
    CHECK(r.r2_coordinates[0] > 0.99 && r.r2_coordinates[1] < 0.1);
    CHECK_NEAR(0.5 * (r.r2_coordinates[0] + r.r2_coordinates[1]), r.r2_state, 1e-12);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// --- symplectic by design -----------------------------------------------------------------------

TEST(a_map_symplectic_by_design_fits_right_models_better_than_wrong_ones)
{
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.symplectic = true;
    forged f = forge(1, 1, TRAJECTORIES, STEPS, shears);
    plumb_kappa r = measured(&f, &opt);
    CHECK(r.symplectic_r2 > 0.999);
    plumb_kappa_clear(&r);
    forged_free(&f);
    f = forge(1, 1, TRAJECTORIES, STEPS, swap_and_scale); // c is negative
    r = measured(&f, &opt);
    CHECK(r.symplectic_r2 > 0.9999);
    plumb_kappa_clear(&r);
    forged_free(&f);
    f = forge(2, 2, TRAJECTORIES, STEPS, mirror_one);
    r = measured(&f, &opt);
    CHECK(r.symplectic_r2 < 0.99 && r.symplectic < 0.97);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// Positions alone: the map from truth to latents is perfect, but nothing leads back.
static void drop_momenta(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    latent[0] = truth[0], latent[1] = 0.0;
}

TEST(dead_momenta_do_not_pass_as_symplectic)
{
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.symplectic = true;
    forged f = forge(1, 1, TRAJECTORIES, STEPS, drop_momenta);
    plumb_kappa r = measured(&f, &opt);
    CHECK(r.symplectic_r2 > 0.99);
    CHECK(r.symplectic < 0.7);
    CHECK(r.symplectic_ci.low <= r.symplectic && r.symplectic <= r.symplectic_ci.high);
    plumb_kappa_clear(&r);
    forged_free(&f);
    f = forge(1, 1, TRAJECTORIES, STEPS, shears);
    r = measured(&f, &opt);
    CHECK(r.symplectic > 0.99 && r.symplectic_ci.low > 0.98);
    // The sums of the items give kappa back.
    double dot = 0.0, form = 0.0, truth = 0.0, halves = 0.0;
    for (int64_t k = 0; k < r.trajectories; k++) {
        dot += r.items[k].dot, form += r.items[k].form_norm2;
        truth += r.items[k].true_norm2, halves += r.items[k].halves_diff2;
    }
    CHECK_NEAR(dot * dot / truth / (form - 0.25 * halves), r.kappa, 1e-9);
    CHECK_NEAR(dot / truth, r.c, 1e-9 * fabs(r.c));
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// The whole state in two positions, and momenta that are 0: both maps can be perfect, because what
// never moves is no target of the one and no output of the other.
static void positions_only(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    latent[0] = truth[0], latent[1] = truth[1], latent[2] = 0.0, latent[3] = 0.0;
}

static void padded_shear(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    latent[0] = truth[0], latent[1] = 0.0;
    latent[2] = truth[1] + 0.3 * truth[0] * truth[0], latent[3] = 0.0;
}

TEST(a_state_in_positions_alone_does_not_pass_as_symplectic)
{
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.symplectic = true;
    forged f = forge(1, 2, TRAJECTORIES, STEPS, positions_only);
    plumb_kappa r = measured(&f, &opt);
    CHECK(r.symplectic_r2 > 0.99 && r.r2_state > 0.99);
    CHECK(r.symplectic < 0.1 && r.symplectic_ci.high < 0.1);
    plumb_kappa_clear(&r);
    forged_free(&f);
    f = forge(1, 2, TRAJECTORIES, STEPS, padded_shear);
    r = measured(&f, &opt);
    CHECK(r.symplectic > 0.99 && r.canonical == PLUMB_VERDICT_LEARNT);
    plumb_kappa_clear(&r);
    forged_free(&f);
}

// ---- maps without an inverse ----

// (r, angle) -> (r / sqrt k, k angle): keeps areas, is invertible everywhere locally, and maps k
// states to the same latents.
static void cover(double *latent, const double *truth, double k)
{
    const double angle = k * atan2(truth[1], truth[0]);
    const double radius = hypot(truth[0], truth[1]) / sqrt(k);
    latent[0] = radius * cos(angle);
    latent[1] = radius * sin(angle);
}

static void cover_twice(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    cover(latent, truth, 2.0);
}

static void cover_thrice_noisy(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step;
    cover(latent, truth, 3.0);
    for (int i = 0; i < 2; i++) latent[i] += 0.01 * rng_normal(noise);
}

// Two oscillators, the first covered twice, the second sheared.
static void cover_one_of_two(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    double covered[2];
    cover(covered, (double[]){truth[0], truth[2]}, 2.0);
    latent[0] = covered[0], latent[2] = covered[1];
    latent[1] = truth[1], latent[3] = truth[3] + 0.3 * truth[1] * truth[1];
}

TEST(a_map_that_is_many_to_one_is_not_canonical)
{
    static const struct {
        forge_map *map;
        int64_t n;
    } cases[] = {{cover_twice, 1}, {cover_thrice_noisy, 1}, {cover_one_of_two, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forged f = forge(cases[i].n, cases[i].n, 100, 60, cases[i].map);
        plumb_kappa r;
        CHECK_OK(plumb_kappa_measure(&r, &f.latent, NULL, &f.truth, NULL));
        CHECK(r.kappa > 0.9 && r.r2_local > 0.9); // locally it is canonical
        CHECK_EQUAL(r.canonical, PLUMB_VERDICT_NOT_LEARNT);
        CHECK(r.r2_nearest < 0.5);
        CHECK(strstr(r.why, "distant states have the same latents") != NULL);
        plumb_kappa_clear(&r);
        forged_free(&f);
    }
}
