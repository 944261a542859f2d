// SPDX-License-Identifier: MIT
// Where the data do not determine kappa, or where a plain fit would be wrong: states on one
// surface, latents that are angles, waves finer than the data, constants that differ, diverged
// trajectories. All answers are exact.
#include "plumb/kappa.h"

#include "measures/fixtures.h"

enum { TRAJECTORIES = 60, STEPS = 40 };
static const double turn = 6.283185307179586;

// Arrays of our own: `fill` sets the state and the latents of trajectory k at step t.
typedef void fill_row(double *S, double *s, int64_t k, int64_t t);

typedef struct planted {
    double *latent_data, *truth_data;
    plumb_array latent, truth;
} planted;

static planted plant(int64_t n, int64_t m, fill_row *fill)
{
    planted p;
    p.truth_data = forge_room(TRAJECTORIES * STEPS * 2 * n);
    p.latent_data = forge_room(TRAJECTORIES * STEPS * 2 * m);
    for (int64_t k = 0; k < TRAJECTORIES; k++)
        for (int64_t t = 0; t < STEPS; t++)
            fill(p.latent_data + (k * STEPS + t) * 2 * m, p.truth_data + (k * STEPS + t) * 2 * n, k,
                 t);
    p.truth =
        plumb_array_view(p.truth_data, PLUMB_FLOAT64, 3, (int64_t[]){TRAJECTORIES, STEPS, 2 * n});
    p.latent =
        plumb_array_view(p.latent_data, PLUMB_FLOAT64, 3, (int64_t[]){TRAJECTORIES, STEPS, 2 * m});
    return p;
}

static plumb_kappa measure_planted(planted *p, const plumb_kappa_options *opt)
{
    plumb_kappa r;
    CHECK_OK(plumb_kappa_measure(&r, &p->latent, NULL, &p->truth, opt));
    return r;
}

static void planted_free(planted *p)
{
    free(p->latent_data);
    free(p->truth_data);
}

// Checks verdict and kappa of one case; NaN: any kappa.
static void check_case(int64_t n, int64_t m, fill_row *fill, plumb_verdict verdict, double kappa)
{
    planted p = plant(n, m, fill);
    plumb_kappa r = measure_planted(&p, NULL);
    if (r.canonical != verdict) print_message("kappa %g: %s\n", r.kappa, r.why);
    CHECK_EQUAL(r.canonical, verdict);
    if (!isnan(kappa)) CHECK_NEAR(r.kappa, kappa, 0.02);
    plumb_kappa_clear(&r);
    planted_free(&p);
}

// A number in [0, 1) that depends on k alone.
static double random_of(int64_t k, int64_t which)
{
    rng r = rng_at(17, (uint64_t)which);
    double u = 0.0;
    for (int64_t i = 0; i <= k; i++) u = rng_uniform(&r);
    return u;
}

// An oscillator of a given radius; the phase differs between trajectories.
static void oscillate(double *s, double radius, double speed, int64_t k, int64_t t, int64_t which)
{
    const double phase = turn * random_of(k, which) + 0.17 * speed * (double)t;
    s[0] = radius * cos(phase), s[1] = -radius * sin(phase);
}

static double radius_of(int64_t k)
{
    return 0.4 + 1.1 * random_of(k, 3);
}

// ---- one surface ----

static void one_energy(double *S, double *s, int64_t k, int64_t t)
{
    oscillate(s, 1.0, 1.0, k, t, 1);
    S[0] = s[0], S[1] = s[1] + sin(3.0 * s[0]);
}

static void many_energies(double *S, double *s, int64_t k, int64_t t)
{
    oscillate(s, radius_of(k), 1.0, k, t, 1);
    S[0] = s[0], S[1] = s[1] + sin(3.0 * s[0]);
}

static void one_energy_truth(double *S, double *s, int64_t k, int64_t t)
{
    oscillate(s, 1.0, 1.0, k, t, 1);
    S[0] = s[0], S[1] = s[1];
}

// Two oscillators with two given actions: a torus, on which the form vanishes.
static void one_torus(double *S, double *s, int64_t k, int64_t t)
{
    double a[2], b[2];
    oscillate(a, 1.0, 1.0, k, t, 1);
    oscillate(b, 0.7, 1.618, k, t, 2);
    s[0] = a[0], s[1] = b[0], s[2] = a[1], s[3] = b[1];
    memcpy(S, s, 4 * sizeof *S);
}

// Two oscillators at one energy in all: the form is determined on a surface of three dimensions.
static void two_at_one_energy(double *s, int64_t k, int64_t t)
{
    const double share = 0.1 + 0.8 * random_of(k, 3);
    double a[2], b[2];
    oscillate(a, sqrt(share), 1.0, k, t, 1);
    oscillate(b, sqrt(1.0 - share), 1.618, k, t, 2);
    s[0] = a[0], s[1] = b[0], s[2] = a[1], s[3] = b[1];
}

static void shell_right(double *S, double *s, int64_t k, int64_t t)
{
    two_at_one_energy(s, k, t);
    memcpy(S, s, 4 * sizeof *S);
    S[2] += 0.8 * sin(s[0] + 0.5 * s[1]), S[3] += 0.4 * sin(s[0] + 0.5 * s[1]);
}

// One pair three times as large as the other.
static void shell_wrong(double *S, double *s, int64_t k, int64_t t)
{
    two_at_one_energy(s, k, t);
    S[0] = 3.0 * s[0], S[1] = s[1], S[2] = 3.0 * s[2], S[3] = s[3];
}

TEST(states_on_one_surface_without_area_determine_nothing)
{
    const double any = (double)NAN;
    check_case(1, 1, one_energy, PLUMB_VERDICT_NOT_DETERMINED, any);
    check_case(1, 1, one_energy_truth, PLUMB_VERDICT_NOT_DETERMINED, any);
    check_case(2, 2, one_torus, PLUMB_VERDICT_NOT_DETERMINED, any);
    check_case(1, 1, many_energies, PLUMB_VERDICT_LEARNT, 1.0);
    planted p = plant(1, 1, one_energy);
    plumb_kappa r = measure_planted(&p, NULL);
    CHECK(isnan(r.kappa) && r.kappa_ci.low == 0.0 && r.kappa_ci.high == 1.0);
    CHECK(strstr(r.why, "vary the energy"));
    plumb_kappa_clear(&r);
    planted_free(&p);
}

TEST(on_an_energy_surface_the_forms_are_compared_within_it)
{
    check_case(2, 2, shell_right, PLUMB_VERDICT_LEARNT, 1.0);
    check_case(2, 2, shell_wrong, PLUMB_VERDICT_NOT_LEARNT, (double)NAN);
    planted p = plant(2, 2, shell_right);
    plumb_kappa r = measure_planted(&p, NULL);
    CHECK_EQUAL(r.n_used, 1);
    CHECK(strstr(r.reduced, "a surface of 3 dimensions"));
    plumb_kappa_clear(&r);
    planted_free(&p);
}

// The energies of the trajectories differ by this share.
static double energy_spread;

static void some_energies(double *S, double *s, int64_t k, int64_t t)
{
    oscillate(s, sqrt(1.0 + energy_spread * (random_of(k, 3) - 0.5)), 1.0, k, t, 1);
    S[0] = s[0], S[1] = s[1] + sin(3.0 * s[0]);
}

TEST(the_interval_shrinks_as_the_states_leave_the_surface)
{
    static const double spreads[] = {0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0};
    double before = 1.0;
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        energy_spread = spreads[i];
        planted p = plant(1, 1, some_energies);
        plumb_kappa r = measure_planted(&p, NULL);
        const double width = r.kappa_ci.high - r.kappa_ci.low;
        CHECK(r.kappa_ci.high > 0.999); // the true value is 1
        CHECK(r.canonical != PLUMB_VERDICT_NOT_LEARNT);
        if (spreads[i] > 0.02) CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
        CHECK(width <= before + 0.02);
        before = width;
        plumb_kappa_clear(&r);
        planted_free(&p);
    }
    CHECK(before < 0.02);
}

// ---- angles ----

// The paper's Figure 1: action and angle of a mass on a spring; the angle is wrapped to one turn.
static void wrapped(double *S, double *s, int64_t k, int64_t t)
{
    oscillate(s, radius_of(k), 1.0, k, t, 1);
    S[0] = atan2(s[0], s[1]), S[1] = 0.5 * (s[0] * s[0] + s[1] * s[1]);
}

// The same in degrees, and with the square of the action, which has another area.
static void wrapped_wrong(double *S, double *s, int64_t k, int64_t t)
{
    wrapped(S, s, k, t);
    S[0] *= 360.0 / turn, S[1] *= S[1];
}

TEST(a_latent_that_is_an_angle_is_compared_on_its_circle)
{
    check_case(1, 1, wrapped, PLUMB_VERDICT_LEARNT, 1.0);
    check_case(1, 1, wrapped_wrong, PLUMB_VERDICT_NOT_LEARNT, (double)NAN);
}

// Rotors that turn up to eight times. The latent angle runs on, and is many times as large as the
// momentum, whose bend is periodic: it needs the angle, its sine and its cosine together.
static void many_turns(double *S, double *s, int64_t k, int64_t t)
{
    s[1] = 0.4 + random_of(k, 3);
    s[0] = turn * random_of(k, 1) + 0.9 * s[1] * (double)t;
    S[0] = s[0], S[1] = s[1] + 0.3 * sin(s[0]);
}

static void many_turns_wrong(double *S, double *s, int64_t k, int64_t t)
{
    many_turns(S, s, k, t);
    S[1] = s[1] * (1.0 + 0.8 * sin(s[0]));
}

TEST(rotors_that_turn_often_are_judged_by_the_angle_and_its_sine_and_cosine)
{
    check_case(1, 1, many_turns, PLUMB_VERDICT_LEARNT, 1.0);
    check_case(1, 1, many_turns_wrong, PLUMB_VERDICT_NOT_LEARNT, (double)NAN);
}

// ---- singularities ----

// A body on an ellipse about a mass at the origin, from Kepler's equation.
static void orbit(double *s, double axis, double eccentricity, double anomaly)
{
    double e = anomaly;
    for (int i = 0; i < 50; i++)
        e -= (e - eccentricity * sin(e) - anomaly) / (1.0 - eccentricity * cos(e));
    const double minor = sqrt(1.0 - eccentricity * eccentricity);
    const double rate = 1.0 / sqrt(axis) / (1.0 - eccentricity * cos(e));
    s[0] = axis * (cos(e) - eccentricity), s[1] = axis * minor * sin(e);
    s[2] = -rate * sin(e), s[3] = rate * minor * cos(e);
}

// Eccentric orbits in every direction; the latents are the state a little later, a canonical map
// whose slopes are large near the mass, where few of the states are.
static void perihelion(double *S, double *s, int64_t k, int64_t t)
{
    const double axis = 0.8 + 0.4 * random_of(k, 3), turned = turn * random_of(k, 1);
    const double eccentricity = 0.4 + 0.35 * random_of(k, 2), rate = 1.0 / pow(axis, 1.5);
    double *const states[] = {s, S};
    for (int later = 0; later < 2; later++) {
        double plane[4], *to = states[later];
        orbit(plane, axis, eccentricity,
              turn * random_of(k, 4) + rate * (0.12 * (double)t + 0.3 * later));
        for (int i = 0; i < 4; i += 2) {
            to[i] = cos(turned) * plane[i] - sin(turned) * plane[i + 1];
            to[i + 1] = sin(turned) * plane[i] + cos(turned) * plane[i + 1];
        }
    }
}

TEST(a_right_model_near_a_singularity_is_not_rejected)
{
    for (int64_t few = 10; few <= TRAJECTORIES; few *= 2) {
        planted p = plant(2, 2, perihelion);
        p.truth.shape[0] = p.latent.shape[0] = few;
        plumb_kappa r = measure_planted(&p, NULL);
        CHECK(r.canonical != PLUMB_VERDICT_NOT_LEARNT);
        plumb_kappa_clear(&r);
        planted_free(&p);
    }
}

// ---- fine waves ----

// q + 0.1 sin 12 q: the slopes are those of another form, and R2 is 0.9975.
static void ripple(double *S, double *s, int64_t k, int64_t t)
{
    oscillate(s, radius_of(k), 1.0, k, t, 1);
    S[0] = s[0] + 0.1 * sin(12.0 * s[0]), S[1] = s[1];
}

static void two_with_ripple(double *S, double *s, int64_t k, int64_t t)
{
    double a[2], b[2];
    oscillate(a, radius_of(k), 1.0, k, t, 1);
    oscillate(b, radius_of(k + 20), 1.618, k, t, 2);
    s[0] = a[0], s[1] = b[0], s[2] = a[1], s[3] = b[1];
    memcpy(S, s, 4 * sizeof *S);
    for (int i = 0; i < 2; i++) S[i] += 0.15 * sin(8.0 * s[i]);
}

TEST(a_wave_finer_than_the_fit_is_never_taken_for_right)
{
    fill_row *const waves[] = {ripple, two_with_ripple};
    for (int i = 0; i < 2; i++) {
        planted p = plant(1 + i, 1 + i, waves[i]);
        plumb_kappa r = measure_planted(&p, NULL);
        if (r.canonical == PLUMB_VERDICT_LEARNT) print_message("kappa %g: %s\n", r.kappa, r.why);
        CHECK(r.canonical != PLUMB_VERDICT_LEARNT);
        CHECK(r.kappa_ci.low < 0.75); // the true kappa is 0.58
        plumb_kappa_clear(&r);
        planted_free(&p);
    }
}

// A wave of the length `wave`, so high that kappa is about 0.58; 0: none.
static double wave;

static void wave_of_length(double *S, double *s, int64_t k, int64_t t)
{
    // Random phases and radii: states of other trajectories are at all distances.
    uint64_t bits = (uint64_t)k * 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    const double radius = 0.5 + (double)(bits >> 40) / (double)(1 << 24);
    const double phase = 6.2831853 * (double)((bits >> 16) & 0xffffff) / (double)(1 << 24);
    s[0] = radius * cos(0.1 * (double)t + phase), s[1] = -radius * sin(0.1 * (double)t + phase);
    const double waves = wave > 0.0 ? 6.2831853 / wave : 0.0;
    S[0] = s[0] + (wave > 0.0 ? 1.2 / waves * sin(waves * s[0]) : 0.0), S[1] = s[1];
}

TEST(waves_longer_than_the_stated_resolution_are_never_taken_for_right)
{
    wave = 0.0;
    planted exact = plant(1, 1, wave_of_length);
    plumb_kappa right = measure_planted(&exact, NULL);
    CHECK_EQUAL(right.canonical, PLUMB_VERDICT_LEARNT);
    CHECK(right.resolution > 0.0 && right.resolution < 0.4);
    const double deviation = 0.72; // of a coordinate
    for (int times = 1; times <= 8; times *= 2) {
        wave = times * right.resolution * deviation;
        planted p = plant(1, 1, wave_of_length);
        plumb_kappa r = measure_planted(&p, NULL);
        if (r.canonical == PLUMB_VERDICT_LEARNT)
            print_message("a wave of %d times the resolution: kappa %g: %s\n", times, r.kappa,
                          r.why);
        CHECK(r.canonical != PLUMB_VERDICT_LEARNT);
        plumb_kappa_clear(&r);
        planted_free(&p);
    }
    plumb_kappa_clear(&right);
    planted_free(&exact);
}

// ---- part of the trajectories ----

// Every fifth trajectory is that of another start.
static void mixture(double *S, double *s, int64_t k, int64_t t)
{
    double other[2];
    oscillate(s, radius_of(k), 1.0, k, t, 1);
    oscillate(other, radius_of(k + 1), 1.0, k + 1, t, 1);
    memcpy(S, k % 5 ? s : other, 2 * sizeof *S);
}

TEST(a_model_that_is_right_on_four_fifths_of_its_trajectories_is_not_accepted)
{
    planted p = plant(1, 1, mixture);
    plumb_kappa r = measure_planted(&p, NULL);
    CHECK(r.canonical != PLUMB_VERDICT_LEARNT);
    plumb_kappa_clear(&r);
    planted_free(&p);
}

static void one_diverges(double *S, double *s, int64_t k, int64_t t)
{
    many_energies(S, s, k, t);
    if (k == 23) S[0] *= exp(0.25 * (double)t), S[1] *= exp(0.25 * (double)t);
}

TEST(a_trajectory_that_diverges_is_named_and_left_out)
{
    planted p = plant(1, 1, one_diverges);
    plumb_kappa r = measure_planted(&p, NULL);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
    CHECK_EQUAL(r.diverged_count, 1);
    CHECK_EQUAL(r.diverged[0], 23);
    CHECK_EQUAL(r.trajectories, TRAJECTORIES - 1);
    CHECK(strstr(r.why, "23"));
    plumb_kappa_clear(&r);
    planted_free(&p);
}

// ---- constants ----

static double mass_of(int64_t k)
{
    return 0.5 + 1.5 * random_of(k, 5);
}

// The mass is a latent that stays constant, and the velocity stands for the momentum: c = 1 / mass.
static void velocity(double *S, double *s, int64_t k, int64_t t)
{
    oscillate(s, radius_of(k), 1.0 / sqrt(mass_of(k)), k, t, 1);
    s[1] *= sqrt(mass_of(k));
    S[0] = s[0], S[1] = mass_of(k), S[2] = s[1] / mass_of(k), S[3] = 0.0;
}

// c depends on the energy, which is no constant of the system.
static void by_energy(double *S, double *s, int64_t k, int64_t t)
{
    velocity(S, s, k, t);
    const double factor = 1.0 + s[0] * s[0] + s[1] * s[1] / mass_of(k);
    S[0] *= factor, S[2] = s[1] * factor;
}

// The same without a latent for the mass.
static void velocity_untold(double *S, double *s, int64_t k, int64_t t)
{
    double all[4];
    velocity(all, s, k, t);
    S[0] = all[0], S[1] = all[2];
}

TEST(c_may_depend_on_constants_but_not_on_the_energy)
{
    planted p = plant(1, 2, velocity);
    plumb_kappa r = measure_planted(&p, NULL);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
    CHECK(r.kappa < 0.9 && r.kappa_constants > 0.99);
    plumb_kappa_clear(&r);
    planted_free(&p);
    check_case(1, 2, by_energy, PLUMB_VERDICT_NOT_LEARNT, (double)NAN);
}

TEST(constants_may_be_given)
{
    double mass[TRAJECTORIES];
    for (int64_t k = 0; k < TRAJECTORIES; k++) mass[k] = mass_of(k);
    const plumb_array constants =
        plumb_array_view(mass, PLUMB_FLOAT64, 2, (int64_t[]){TRAJECTORIES, 1});
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.constants = &constants;
    planted p = plant(1, 1, velocity_untold);
    plumb_kappa r = measure_planted(&p, &opt);
    CHECK_EQUAL(r.canonical, PLUMB_VERDICT_LEARNT);
    CHECK(r.kappa_constants > 0.99);
    plumb_kappa_clear(&r);
    // Columns that do not differ are left out, and then there are no constants.
    double same[TRAJECTORIES];
    for (int64_t k = 0; k < TRAJECTORIES; k++) same[k] = 3.0;
    const plumb_array alike =
        plumb_array_view(same, PLUMB_FLOAT64, 2, (int64_t[]){TRAJECTORIES, 1});
    opt.constants = &alike;
    r = measure_planted(&p, &opt);
    CHECK(isnan(r.kappa_constants));
    plumb_kappa_clear(&r);
    const plumb_array few = plumb_array_view(mass, PLUMB_FLOAT64, 2, (int64_t[]){3, 1});
    opt.constants = &few;
    CHECK_FAILS(plumb_kappa_measure(&r, &p.latent, NULL, &p.truth, &opt), PLUMB_ESHAPE,
                "constants");
    planted_free(&p);
}
