// SPDX-License-Identifier: MIT
// The flow of latents whose area, energy and clock are known exactly.
#include "plumb/flow.h"

#include "measures/fixtures.h"

enum { TRAJECTORIES = 60, STEPS = 48 };

// Oscillators whose latents lose amplitude by `loss` per step, run by a factor `clock`, and have
// noise of the deviation `noise`.
typedef struct oscillator {
    double loss, clock, noise;
} oscillator;

typedef struct arrays {
    double *z, *s, *e;
    plumb_array latent, truth, energy;
} arrays;

static arrays make_arrays(oscillator o)
{
    const int64_t rows = TRAJECTORIES * STEPS;
    arrays a = {.z = forge_room(rows * 2), .s = forge_room(rows * 2), .e = forge_room(rows)};
    rng r = rng_at(29, 0);
    for (int64_t k = 0; k < TRAJECTORIES; k++) {
        const double radius = 0.3 + 1.2 * rng_uniform(&r), phase = 6.2831853 * rng_uniform(&r);
        for (int64_t t = 0; t < STEPS; t++) {
            const int64_t i = k * STEPS + t;
            const double angle = phase + 0.2 * (double)t;
            const double ahead = phase + 0.2 * o.clock * (double)t;
            const double size = radius * exp(-o.loss * (double)t);
            a.s[2 * i] = radius * cos(angle), a.s[2 * i + 1] = -radius * sin(angle);
            a.z[2 * i] = size * cos(ahead) + o.noise * (rng_uniform(&r) - 0.5) * 3.4641;
            a.z[2 * i + 1] = -size * sin(ahead) + o.noise * (rng_uniform(&r) - 0.5) * 3.4641;
            a.e[i] = 0.5 * radius * radius;
        }
    }
    const int64_t shape[] = {TRAJECTORIES, STEPS, 2};
    a.latent = plumb_array_view(a.z, PLUMB_FLOAT64, 3, shape);
    a.truth = plumb_array_view(a.s, PLUMB_FLOAT64, 3, shape);
    a.energy = plumb_array_view(a.e, PLUMB_FLOAT64, 2, shape);
    return a;
}

static void free_arrays(arrays *a)
{
    free(a->z), free(a->s), free(a->e);
}

static plumb_flow measure_arrays(const arrays *a, const plumb_flow_options *opt)
{
    plumb_flow r;
    const plumb_flow_input in = {
        .size = sizeof in, .latent = &a->latent, .truth = &a->truth, .energy = &a->energy};
    CHECK_OK(plumb_flow_measure(&r, &in, opt));
    return r;
}

static plumb_flow measure_oscillator(oscillator o)
{
    arrays a = make_arrays(o);
    plumb_flow r = measure_arrays(&a, NULL);
    free_arrays(&a);
    return r;
}

TEST(an_exact_model_keeps_area_energy_and_time)
{
    plumb_flow r = measure_oscillator((oscillator){.clock = 1.0});
    CHECK(r.measured && r.lag > 0);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    CHECK_NEAR(r.area_rate, 1.0, 1e-9);
    CHECK_NEAR(r.volume_rate, 1.0, 1e-9);
    CHECK_NEAR(r.true_area_rate, 1.0, 1e-9);
    CHECK_NEAR(r.area_change, 0.0, 1e-9);
    CHECK_NEAR(r.energy_change, 0.0, 1e-6);
    CHECK_NEAR(r.clock, 1.0, 1e-9);
    CHECK_NEAR(r.r2, 1.0, 1e-9);
    CHECK(strstr(r.why, "area and energy"));
    plumb_flow_clear(&r);
    CHECK(!r.why);
}

TEST(a_damped_model_has_the_rate_of_its_damping)
{
    plumb_flow r = measure_oscillator((oscillator){.loss = 0.025, .clock = 1.0});
    CHECK_NEAR(r.area_rate, 0.951229424500714, 1e-9);
    CHECK_NEAR(r.volume_rate, 0.951229424500714, 1e-9);
    CHECK_NEAR(r.true_area_rate, 1.0, 1e-9);
    CHECK_NEAR(r.area_change, exp(-0.05 * (STEPS - 1)) - 1.0, 0.02);
    CHECK(r.energy_change < -0.5);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_LEARNT);
    CHECK(strstr(r.why, "the area changes by -9"));
    plumb_flow_clear(&r);
    // It gains.
    r = measure_oscillator((oscillator){.loss = -0.004, .clock = 1.0});
    CHECK_NEAR(r.area_rate, exp(0.008), 1e-9);
    CHECK_NEAR(r.area_change, exp(0.008 * (STEPS - 1)) - 1.0, 0.01);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_LEARNT);
    plumb_flow_clear(&r);
    // It loses less than the bar.
    r = measure_oscillator((oscillator){.loss = 0.0005, .clock = 1.0});
    CHECK_NEAR(r.area_change, exp(-0.001 * (STEPS - 1)) - 1.0, 0.005);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_flow_clear(&r);
}

TEST(a_clock_that_is_fast_is_no_loss_of_area)
{
    plumb_flow r = measure_oscillator((oscillator){.clock = 1.02});
    CHECK_NEAR(r.clock, 1.02, 0.001);
    CHECK(r.clock_ci.low < r.clock && r.clock < r.clock_ci.high);
    CHECK(r.r2 < 0.999 && r.r2_clock > 0.9995);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_flow_clear(&r);
}

TEST(noise_in_the_latents_is_no_loss_of_area)
{
    plumb_flow r = measure_oscillator((oscillator){.clock = 1.0, .noise = 0.05});
    // One lag alone would give 1 - 2 * 0.05^2 / 0.46 per lag.
    CHECK(r.area_rate_ci.low < 1.0 && 1.0 < r.area_rate_ci.high);
    CHECK_NEAR(r.area_rate, 1.0, 0.001);
    CHECK(r.area_change_ci.low < 0.0 && 0.0 < r.area_change_ci.high);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_flow_clear(&r);
}

TEST(without_the_truth_there_are_rates_and_no_verdict)
{
    arrays a = make_arrays((oscillator){.loss = 0.025, .clock = 1.0});
    const plumb_flow_input in = {.size = sizeof in, .latent = &a.latent};
    plumb_flow r;
    CHECK_OK(plumb_flow_measure(&r, &in, NULL));
    CHECK_NEAR(r.area_rate, 0.951229424500714, 1e-9);
    CHECK(isnan(r.true_area_rate) && isnan(r.area_change) && isnan(r.clock));
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_DETERMINED);
    plumb_flow_clear(&r);
    // The lag may be given.
    plumb_flow_options opt = plumb_flow_defaults();
    opt.lag = 7;
    CHECK_OK(plumb_flow_measure(&r, &in, &opt));
    CHECK_EQUAL(r.lag, 7);
    CHECK_NEAR(r.area_rate, 0.951229424500714, 1e-9);
    plumb_flow_clear(&r);
    free_arrays(&a);
}

TEST(a_truth_that_is_damped_is_what_is_expected)
{
    // Latents and truth lose alike.
    arrays a = make_arrays((oscillator){.loss = 0.025, .clock = 1.0});
    const plumb_flow_input in = {.size = sizeof in, .latent = &a.latent, .truth = &a.latent};
    plumb_flow r;
    CHECK_OK(plumb_flow_measure(&r, &in, NULL));
    CHECK_NEAR(r.true_area_rate, 0.951229424500714, 1e-9);
    CHECK_NEAR(r.area_change, 0.0, 1e-9);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_flow_clear(&r);
    free_arrays(&a);
}

TEST(data_that_are_too_few_or_wrong)
{
    arrays a = make_arrays((oscillator){.clock = 1.0});
    plumb_flow r = {.lag = 77};
    plumb_flow_input in = {.size = sizeof in, .latent = &a.latent, .truth = &a.truth};
    // Three trajectories, eight steps: not measured, and no failure.
    const int64_t few[] = {3, STEPS, 2}, brief[] = {TRAJECTORIES, 8, 2};
    const plumb_array three = plumb_array_view(a.z, PLUMB_FLOAT64, 3, few);
    const plumb_array eight = plumb_array_view(a.z, PLUMB_FLOAT64, 3, brief);
    for (int i = 0; i < 2; i++) {
        in.latent = in.truth = i ? &eight : &three;
        CHECK_OK(plumb_flow_measure(&r, &in, NULL));
        CHECK(!r.measured && strstr(r.why, "at least"));
        CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_DETERMINED);
        plumb_flow_clear(&r);
    }
    // Latents that stand still have no flow.
    double *still = forge_room(TRAJECTORIES * STEPS * 2);
    for (int64_t i = 0; i < TRAJECTORIES * STEPS * 2; i++) still[i] = 1.0;
    const plumb_array dead = plumb_array_view(still, PLUMB_FLOAT64, 3, a.latent.shape);
    in.latent = &dead, in.truth = &a.truth;
    CHECK_OK(plumb_flow_measure(&r, &in, NULL));
    CHECK(isnan(r.area_rate) && isnan(r.area_change) && isnan(r.clock));
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_DETERMINED);
    plumb_flow_clear(&r);
    free(still);
    // NaN, unless such trajectories are left out.
    in.latent = &a.latent;
    a.z[5] = (double)NAN;
    r.lag = 77;
    CHECK_EQUAL(plumb_flow_measure(&r, &in, NULL), PLUMB_ENUMERIC);
    CHECK_EQUAL(r.lag, 77);
    plumb_flow_options opt = plumb_flow_defaults();
    opt.drop_nonfinite = true;
    CHECK_OK(plumb_flow_measure(&r, &in, &opt));
    CHECK_EQUAL(r.trajectories, TRAJECTORIES - 1);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_flow_clear(&r);
    // Shapes.
    const int64_t odd[] = {TRAJECTORIES * 2, STEPS / 3, 3};
    const plumb_array three_columns = plumb_array_view(a.s, PLUMB_FLOAT64, 3, odd);
    in.latent = &three_columns;
    CHECK_EQUAL(plumb_flow_measure(&r, &in, NULL), PLUMB_ESHAPE);
    in.latent = &a.truth, in.energy = &a.truth;
    CHECK_EQUAL(plumb_flow_measure(&r, &in, NULL), PLUMB_ESHAPE);
    in.latent = NULL;
    CHECK_EQUAL(plumb_flow_measure(&r, &in, NULL), PLUMB_EVALUE);
    opt.change_bar = -1.0;
    in.latent = &a.truth, in.energy = NULL;
    CHECK_EQUAL(plumb_flow_measure(&r, &in, &opt), PLUMB_EVALUE);
    free_arrays(&a);
}

// Two pairs, the second damped; a map of two pairs has a volume that is no power of its mean area.
TEST(volume_of_two_pairs)
{
    enum { D = 4 };
    double *z = forge_room(TRAJECTORIES * STEPS * D);
    forge_springs(z, 2, TRAJECTORIES, STEPS);
    for (int64_t r = 0; r < TRAJECTORIES * STEPS; r++)
        for (int i = 1; i < D; i += 2) z[r * D + i] *= exp(-0.01 * (double)(r % STEPS));
    const plumb_array latent =
        plumb_array_view(z, PLUMB_FLOAT64, 3, (int64_t[]){TRAJECTORIES, STEPS, D});
    const plumb_flow_input in = {.size = sizeof in, .latent = &latent};
    plumb_flow r;
    CHECK_OK(plumb_flow_measure(&r, &in, NULL));
    CHECK_NEAR(r.volume_rate, exp(-0.02), 1e-9);
    CHECK(r.area_rate < 0.995 && r.area_rate > 0.98 && r.kappa < 1.0);
    plumb_flow_clear(&r);
    free(z);
}

// A rotor: the angle grows without bound, so late latents lie where no early ones do.
TEST(an_angle_that_grows_does_not_change_the_energy)
{
    arrays a = make_arrays((oscillator){.clock = 1.0});
    rng r = rng_at(31, 0);
    for (int64_t k = 0; k < TRAJECTORIES; k++) {
        const double p = 2.0 * rng_uniform(&r) - 1.0, q = 6.0 * rng_uniform(&r);
        for (int64_t t = 0; t < STEPS; t++) {
            const int64_t i = k * STEPS + t;
            a.s[2 * i] = a.z[2 * i] = q + 0.4 * p * (double)t;
            a.s[2 * i + 1] = a.z[2 * i + 1] = p;
            a.e[i] = 0.5 * p * p;
        }
    }
    plumb_flow f = measure_arrays(&a, NULL);
    CHECK(f.verdict != PLUMB_VERDICT_NOT_LEARNT);
    CHECK(isnan(f.energy_change) || fabs(f.energy_change) < 0.05);
    plumb_flow_clear(&f);
    free_arrays(&a);
}

// Two bodies whose masses differ between trajectories, on circles: the states lie on a surface. The
// latents are both places and both momenta, whose momenta lose `loss` per step.
static plumb_flow measure_bodies(double loss)
{
    enum { COUNT = 50, TIME = 36, D = 8 };
    double *z = forge_room(COUNT * TIME * D), *s = forge_room(COUNT * TIME * 4);
    rng r = rng_at(37, 0);
    for (int64_t k = 0; k < COUNT; k++) {
        const double m1 = 0.5 + rng_uniform(&r), m2 = 0.5 + rng_uniform(&r);
        const double radius = 1.0 + rng_uniform(&r), phase = 6.2831853 * rng_uniform(&r);
        const double all = m1 + m2, rate = sqrt(all / (radius * radius * radius));
        const double p = m1 * m2 / all * rate * radius;
        for (int64_t t = 0; t < TIME; t++) {
            const double angle = phase + 0.1 * rate * (double)t, left = exp(-loss * (double)t);
            double *state = s + (k * TIME + t) * 4, *latent = z + (k * TIME + t) * D;
            state[0] = radius * cos(angle), state[1] = radius * sin(angle);
            state[2] = -p * sin(angle), state[3] = p * cos(angle);
            for (int i = 0; i < 2; i++) {
                latent[i] = 0.2 * m2 / all * state[i];
                latent[2 + i] = -0.2 * m1 / all * state[i];
                latent[4 + i] = 0.1 * left * state[2 + i];
                latent[6 + i] = -latent[4 + i];
            }
            for (int i = 0; i < D; i++) latent[i] += 2e-4 * (rng_uniform(&r) - 0.5);
        }
    }
    const plumb_array latent = plumb_array_view(z, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, TIME, D}),
                      truth = plumb_array_view(s, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, TIME, 4});
    const plumb_flow_input in = {.size = sizeof in, .latent = &latent, .truth = &truth};
    plumb_flow f;
    CHECK_OK(plumb_flow_measure(&f, &in, NULL));
    free(z), free(s);
    return f;
}

TEST(masses_that_differ_do_not_hide_or_make_a_loss)
{
    plumb_flow f = measure_bodies(0.0);
    CHECK_EQUAL(f.verdict, PLUMB_VERDICT_LEARNT);
    CHECK_NEAR(f.area_change, 0.0, 0.03);
    plumb_flow_clear(&f);
    f = measure_bodies(0.01);
    CHECK_EQUAL(f.verdict, PLUMB_VERDICT_NOT_LEARNT);
    CHECK_NEAR(f.area_change, exp(-0.35) - 1.0, 0.06);
    plumb_flow_clear(&f);
}

// An oscillator with feedback: the action -0.4 p plus noise is added to p in each step. Areas of
// the open loop stay; what the model loses is `loss` per step. One step less of actions.
static arrays make_driven(double loss, double *action)
{
    arrays a = make_arrays((oscillator){.clock = 1.0});
    rng r = rng_at(31, 0);
    for (int64_t k = 0; k < TRAJECTORIES; k++)
        for (int64_t t = 0; t + 1 < STEPS; t++) {
            const double *s = a.s + 2 * (k * STEPS + t);
            double *next = a.s + 2 * (k * STEPS + t + 1);
            const double noise = 3.0 * (rng_uniform(&r) - 0.5);
            double *u = action + k * (STEPS - 1) + t;
            *u = -2.0 * s[1] + noise;
            next[0] = cos(0.2) * s[0] + sin(0.2) * s[1];
            next[1] = -sin(0.2) * s[0] + cos(0.2) * s[1] + 0.2 * *u;
            a.e[k * STEPS + t + 1] = 0.5 * (next[0] * next[0] + next[1] * next[1]);
        }
    // The model moves by the same actions and loses area.
    for (int64_t k = 0; k < TRAJECTORIES; k++)
        for (int64_t t = 0; t < STEPS; t++) {
            double *z = a.z + 2 * (k * STEPS + t);
            const double *s = a.s + 2 * (k * STEPS + t);
            if (t == 0) {
                z[0] = s[0], z[1] = s[1];
                continue;
            }
            const double size = exp(-loss), u = action[k * (STEPS - 1) + t - 1];
            z[0] = size * (cos(0.2) * z[-2] + sin(0.2) * z[-1]);
            z[1] = size * (-sin(0.2) * z[-2] + cos(0.2) * z[-1]) + 0.2 * u;
        }
    return a;
}

TEST(an_action_is_a_known_input_of_the_map)
{
    static double action[TRAJECTORIES * (STEPS - 1)];
    arrays a = make_driven(0.01, action);
    const plumb_array driving =
        plumb_array_view(action, PLUMB_FLOAT64, 3, (int64_t[]){TRAJECTORIES, STEPS - 1, 1});
    plumb_flow_options opt = plumb_flow_defaults();
    opt.lag = 2;
    opt.resamples = 0;
    plumb_flow_input in = {
        .size = sizeof in, .latent = &a.latent, .truth = &a.truth, .energy = &a.energy};
    plumb_flow r;
    // Without the actions the feedback looks like friction.
    CHECK_OK(plumb_flow_measure(&r, &in, &opt));
    CHECK(!r.driven && r.true_area_rate < 0.8);
    plumb_flow_clear(&r);
    in.action = &driving;
    CHECK_OK(plumb_flow_measure(&r, &in, &opt));
    CHECK(r.driven);
    CHECK_NEAR(r.true_area_rate, 1.0, 1e-6);
    CHECK_NEAR(r.area_rate, exp(-0.02), 1e-6);
    plumb_flow_clear(&r);
    free_arrays(&a);
}

TEST(the_energy_of_a_driven_system_decides_nothing)
{
    static double action[TRAJECTORIES * (STEPS - 1)];
    arrays a = make_arrays((oscillator){.clock = 1.0});
    const plumb_array driving =
        plumb_array_view(action, PLUMB_FLOAT64, 3, (int64_t[]){TRAJECTORIES, STEPS - 1, 1});
    const plumb_flow_input in = {.size = sizeof in,
                                 .latent = &a.latent,
                                 .truth = &a.truth,
                                 .energy = &a.energy,
                                 .action = &driving};
    plumb_flow r;
    // An energy that rises while the latents are right.
    for (int64_t i = 0; i < TRAJECTORIES * STEPS; i++) a.e[i] *= 1.0 + 0.02 * (double)(i % STEPS);
    for (int driven = 0; driven < 2; driven++) {
        action[7] = driven;
        CHECK_OK(plumb_flow_measure(&r, &in, NULL));
        CHECK(r.driven == (driven == 1) && r.energy_change < -0.3);
        CHECK_EQUAL(r.verdict, driven ? PLUMB_VERDICT_LEARNT : PLUMB_VERDICT_NOT_LEARNT);
        plumb_flow_clear(&r);
    }
    // Actions of another number of steps are refused.
    const plumb_array few =
        plumb_array_view(action, PLUMB_FLOAT64, 3, (int64_t[]){TRAJECTORIES, STEPS - 2, 1});
    plumb_flow_input wrong = in;
    wrong.action = &few;
    CHECK_FAILS(plumb_flow_measure(&r, &wrong, NULL), PLUMB_ESHAPE, "action is (60, 46, 1)");
    free_arrays(&a);
}
