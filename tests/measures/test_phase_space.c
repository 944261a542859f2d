// SPDX-License-Identifier: MIT
// SyMetric, kappa and the verdict together: one rule decides, and the record has the decision.
#include "plumb/phase_space.h"

#include <string.h>

#include "fixtures.h"
#include "plumb/record.h"

enum { TRAJECTORIES = 40, STEPS = 40 };

static void rotate(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    latent[0] = 0.6 * truth[0] + 0.8 * truth[1];
    latent[1] = -0.8 * truth[0] + 0.6 * truth[1];
}

// Areas depend on the radius: (q, p) (1 + q^2 + p^2) is no canonical map.
static void stretch(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    const double by = 1.0 + 2.0 * (truth[0] * truth[0] + truth[1] * truth[1]);
    latent[0] = truth[0] * by;
    latent[1] = truth[1] * by;
}

// Right coordinates that lose 0.5 % of their size per step.
static void fade(double *S, const double *s, int64_t step, rng *noise)
{
    (void)noise;
    for (int i = 0; i < 2; i++) S[i] = s[i] * exp(-0.005 * (double)step);
}

// Positions hold the whole state, momenta never change.
static void freeze(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    latent[0] = truth[0], latent[1] = truth[1];
    latent[2] = latent[3] = 0.0;
}

static plumb_phase_space measure(const forged *f, const plumb_phase_space_options *opt)
{
    const plumb_phase_space_input in = {
        .size = sizeof in, .latent = &f->latent, .truth = &f->truth};
    plumb_phase_space r;
    CHECK_OK(plumb_phase_space_measure(&r, &in, opt));
    return r;
}

// One orbit of an oscillator, the same for all trajectories but for the phase: no area at all.
static void one_orbit(forged *f)
{
    for (int64_t r = 0; r < TRAJECTORIES * STEPS; r++) {
        double *s = f->truth_data + 2 * r, *z = f->latent_data + 2 * r;
        const double radius = sqrt(s[0] * s[0] + s[1] * s[1]);
        s[0] /= radius, s[1] /= radius;
        z[0] = s[0], z[1] = 0.0;
    }
}

TEST(symetric_never_decides)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, rotate);
    one_orbit(&f);
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.coordinates_only = true;
    plumb_phase_space r = measure(&f, &opt);
    CHECK(r.polynomial.degenerate);
    CHECK_EQUAL(r.coordinates, r.kappa.canonical);
    CHECK_EQUAL(r.verdict, r.coordinates);
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(a_canonical_map_is_learnt_and_a_stretch_is_not)
{
    forged good = forge(1, 1, TRAJECTORIES, STEPS, rotate);
    plumb_phase_space r = measure(&good, NULL);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    CHECK(r.has_polynomial && !r.has_network && r.kappa.measured);
    CHECK_EQUAL(r.coordinates, PLUMB_VERDICT_LEARNT);
    CHECK_EQUAL(r.flow.verdict, PLUMB_VERDICT_LEARNT);
    CHECK(strstr(r.why, r.kappa.why) && strstr(r.why, r.flow.why));
    CHECK(r.sym_floor < 1e-6);
    plumb_phase_space_clear(&r);
    CHECK_EQUAL(r.why == NULL, true);
    forged_free(&good);

    forged bad = forge(1, 1, TRAJECTORIES, STEPS, stretch);
    r = measure(&bad, NULL);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_LEARNT);
    plumb_phase_space_clear(&r);
    forged_free(&bad);
}

TEST(latents_without_area_are_not_learnt)
{
    forged f = forge(1, 2, TRAJECTORIES, STEPS, freeze);
    plumb_phase_space r = measure(&f, NULL);
    CHECK(r.polynomial.degenerate);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_LEARNT);
    CHECK_EQUAL(r.kappa.canonical, PLUMB_VERDICT_NOT_LEARNT);
    CHECK(strstr(r.why, r.kappa.why));
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(right_coordinates_that_lose_area_are_not_learnt)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, fade);
    plumb_phase_space r = measure(&f, NULL);
    CHECK_EQUAL(r.kappa.canonical, PLUMB_VERDICT_LEARNT);
    CHECK_EQUAL(r.coordinates, PLUMB_VERDICT_LEARNT);
    CHECK_EQUAL(r.flow.verdict, PLUMB_VERDICT_NOT_LEARNT);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_LEARNT);
    CHECK(strstr(r.why, "coordinates: ") && strstr(r.why, "flow: the area changes by -"));
    plumb_phase_space_clear(&r);
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.coordinates_only = true;
    r = measure(&f, &opt);
    CHECK(!r.flow.measured);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(the_flow_contradicts_and_never_confirms)
{
    const plumb_verdict yes = PLUMB_VERDICT_LEARNT, no = PLUMB_VERDICT_NOT_LEARNT,
                        open = PLUMB_VERDICT_NOT_DETERMINED;
    CHECK_EQUAL(plumb_phase_space_join(yes, yes), yes);
    CHECK_EQUAL(plumb_phase_space_join(yes, open), yes);
    CHECK_EQUAL(plumb_phase_space_join(yes, no), no);
    CHECK_EQUAL(plumb_phase_space_join(no, yes), no);
    CHECK_EQUAL(plumb_phase_space_join(no, open), no);
    CHECK_EQUAL(plumb_phase_space_join(open, yes), open);
    CHECK_EQUAL(plumb_phase_space_join(open, no), no);
}

TEST(published_numbers_alone_determine_nothing)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, rotate);
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.published_only = true;
    plumb_phase_space r = measure(&f, &opt);
    CHECK_NEAR(r.polynomial.symetric, 1.0, 0.0);
    CHECK(!r.kappa.measured && isnan(r.sym_floor));
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_DETERMINED);
    CHECK(strstr(r.why, "not measured"));
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(an_undefined_kappa_is_a_reason_and_not_a_failure)
{
    forged f = forge(1, 1, 3, STEPS, rotate);
    plumb_phase_space r = measure(&f, NULL);
    CHECK(!r.kappa.measured);
    CHECK(strstr(r.kappa.why, "at least 4"));
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_DETERMINED);
    plumb_record *record = plumb_record_create();
    const char *text;
    plumb_phase_space_record(record, &r, NULL);
    CHECK_OK(plumb_record_to_json(&text, record));
    CHECK(strstr(text, "\"verdict\": \"not determined\"") ||
          strstr(text, "\"verdict\":\"not determined\""));
    CHECK(strstr(text, "kappa"));
    plumb_record_free(record);
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(wrong_input_is_rejected_and_leaves_the_result_alone)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, rotate);
    plumb_phase_space r = {.sym_floor = 7.0};
    plumb_phase_space_input in = {.size = sizeof in, .latent = &f.latent};
    CHECK_FAILS(plumb_phase_space_measure(&r, NULL, NULL), PLUMB_EVALUE, "input is NULL");
    CHECK_FAILS(plumb_phase_space_measure(&r, &in, NULL), PLUMB_EVALUE, "truth is NULL");
    in.truth = &f.truth;
    const plumb_array fewer =
        plumb_array_view(f.truth_data, PLUMB_FLOAT64, 3, (int64_t[]){5, STEPS, 2});
    in.canonical = &fewer;
    CHECK_FAILS(plumb_phase_space_measure(&r, &in, NULL), PLUMB_ESHAPE, "canonical is (5, 40, 2)");
    in.canonical = NULL;
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.polynomial = false;
    CHECK_FAILS(plumb_phase_space_measure(&r, &in, &opt), PLUMB_EVALUE, "nothing to measure");
    in.size = 0;
    CHECK_FAILS(plumb_phase_space_measure(&r, &in, NULL), PLUMB_EVALUE,
                "plumb_phase_space_input.size");
    CHECK_NEAR(r.sym_floor, 7.0, 0.0);
    forged_free(&f);
}

TEST(kappa_takes_seed_and_resamples_of_symetric_unless_it_has_its_own)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, rotate);
    plumb_symetric_options symetric = plumb_symetric_defaults();
    symetric.resamples = 0;
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.symetric = &symetric;
    plumb_phase_space r = measure(&f, &opt);
    CHECK(isnan(r.kappa.kappa_ci.low));
    plumb_phase_space_clear(&r);
    const plumb_kappa_options kappa = plumb_kappa_defaults();
    opt.kappa = &kappa;
    r = measure(&f, &opt);
    CHECK(isfinite(r.kappa.kappa_ci.low));
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

// ---- shift and scale ----

static void bend(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    latent[0] = truth[0];
    latent[1] = truth[1] + truth[1] * truth[1] * truth[1]; // areas grow with p^2
}

// A canonical map in a latent space of two pairs, the second of which is noise.
static void add_noise(double *latent, const double *truth, int64_t step, rng *noise)
{
    (void)step;
    latent[0] = truth[0];
    latent[2] = truth[1] + 0.3 * truth[0] * truth[0];
    latent[1] = rng_normal(noise);
    latent[3] = rng_normal(noise);
}

static plumb_phase_space measure_changed(const forged *plain, double latent_scale,
                                         double latent_shift, double truth_scale,
                                         double truth_shift, const plumb_phase_space_options *opt)
{
    forged f = *plain;
    const int64_t latents = plumb_array_count(&f.latent), truths = plumb_array_count(&f.truth);
    double *latent = forge_room(latents), *truth = forge_room(truths);
    for (int64_t i = 0; i < latents; i++)
        latent[i] = plain->latent_data[i] * latent_scale + latent_shift;
    for (int64_t i = 0; i < truths; i++)
        truth[i] = plain->truth_data[i] * truth_scale + truth_shift;
    f.latent.data = latent, f.truth.data = truth;
    const plumb_phase_space r = measure(&f, opt);
    free(latent);
    free(truth);
    return r;
}

TEST(neither_shift_nor_unit_changes_a_verdict)
{
    static const struct {
        forge_map *map;
        int64_t m;
    } models[] = {{rotate, 1}, {bend, 1}, {stretch, 1}, {freeze, 2}, {add_noise, 2}};
    static const double changes[][4] = {{1, 1e6, 1, 0},        {1, 0, 1, 1e6},
                                        {1, -1e7, 1, 1e7},     {1e50, 0, 1, 0},
                                        {1e-50, 0, 1, 0},      {1, 0, 1e50, 0},
                                        {1, 0, 1e-50, 0},      {1e100, 0, 1e100, 0},
                                        {1e-100, 0, 1e100, 0}, {1e50, 1e56, 1e-50, 1e-44}};
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        forged f = forge(1, models[k].m, TRAJECTORIES, STEPS, models[k].map);
        plumb_phase_space plain = measure(&f, NULL);
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
            const double *by = changes[i];
            plumb_phase_space r = measure_changed(&f, by[0], by[1], by[2], by[3], NULL);
            CHECK_EQUAL(r.verdict, plain.verdict);
            CHECK_EQUAL(r.kappa.canonical, plain.kappa.canonical);
            CHECK(r.kappa.measured);
            CHECK_NEAR(r.kappa.kappa, plain.kappa.kappa, 1e-6);
            CHECK_NEAR(r.kappa.r2_state, plain.kappa.r2_state, 1e-6);
            CHECK_NEAR(r.polynomial.r2, plain.polynomial.r2, 1e-6);
            CHECK_EQUAL(r.polynomial.degenerate, plain.polynomial.degenerate);
            // Without area Sym is a ratio of roundings and has no meaning.
            if (!plain.polynomial.degenerate) {
                CHECK_NEAR(r.polynomial.sym, plain.polynomial.sym, 1e-6);
                CHECK_NEAR(r.polynomial.symetric, plain.polynomial.symetric, 0);
            }
            // c is in units of the arrays.
            const double c = plain.kappa.c * (by[0] / by[2]) * (by[0] / by[2]);
            CHECK_NEAR(r.kappa.c, c, 1e-6 * fabs(c));
            plumb_phase_space_clear(&r);
        }
        plumb_phase_space_clear(&plain);
        forged_free(&f);
    }
}

TEST(no_estimator_of_kappa_depends_on_shift_or_unit)
{
    static const double changes[][4] = {
        {1, 1e6, 1, 0}, {1, 0, 1, 1e6}, {1e50, 0, 1, 0}, {1e-50, 0, 1, 0}, {1, 0, 1e50, 0}};
    forge_map *const maps[] = {rotate, bend};
    for (int e = PLUMB_KAPPA_ESTIMATOR_GAUSSIAN; e <= PLUMB_KAPPA_ESTIMATOR_POLYNOMIAL; e++) {
        plumb_kappa_options kappa = plumb_kappa_defaults();
        kappa.estimator = (plumb_kappa_estimator)e;
        plumb_phase_space_options opt = plumb_phase_space_defaults();
        opt.kappa = &kappa;
        for (int k = 0; k < 2; k++) {
            forged f = forge(1, 1, TRAJECTORIES, STEPS, maps[k]);
            plumb_phase_space plain = measure(&f, &opt);
            for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
                const double *by = changes[i];
                plumb_phase_space r = measure_changed(&f, by[0], by[1], by[2], by[3], &opt);
                CHECK_EQUAL(r.verdict, plain.verdict);
                CHECK_NEAR(r.kappa.kappa, plain.kappa.kappa, 1e-6);
                plumb_phase_space_clear(&r);
            }
            plumb_phase_space_clear(&plain);
            forged_free(&f);
        }
    }
}

// A right model of which two trajectories run away.
static void run_away(forged *f)
{
    const int64_t which[] = {7, 30};
    for (int i = 0; i < 2; i++)
        for (int64_t t = 0; t < STEPS; t++)
            for (int j = 0; j < 2; j++)
                f->latent_data[(which[i] * STEPS + t) * 2 + j] *= exp(0.2 * (double)t);
}

TEST(diverged_trajectories_are_left_out_of_symetric_too)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, rotate);
    run_away(&f);
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    plumb_phase_space r = measure(&f, &opt);
    CHECK_EQUAL(r.kappa.canonical, PLUMB_VERDICT_LEARNT);
    CHECK_EQUAL(r.kappa.diverged_count, 2);
    CHECK(strstr(r.why, "it diverges: 7, 30"));
    CHECK_EQUAL(r.polynomial.dropped, 0);
    plumb_phase_space_clear(&r);
    opt.drop_diverged = true;
    r = measure(&f, &opt);
    CHECK_NEAR(r.polynomial.symetric, 1.0, 0.0);
    CHECK_EQUAL(r.polynomial.dropped, 2);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

// Two trajectories of another map, that do not diverge.
static void spoil_two(forged *f)
{
    const int64_t which[] = {4, 9};
    for (int i = 0; i < 2; i++)
        for (int64_t t = 0; t < STEPS; t++) {
            double *z = f->latent_data + (which[i] * STEPS + t) * 2;
            z[0] *= 6.0, z[1] *= 6.0;
        }
}

TEST(trajectories_that_carry_the_loss_are_named)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, rotate);
    spoil_two(&f);
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.coordinates_only = true;
    plumb_phase_space r = measure(&f, &opt);
    CHECK(r.verdict != PLUMB_VERDICT_LEARNT);
    CHECK(strstr(r.why, "is in trajectories "));
    CHECK(strstr(r.why, " 4") && strstr(r.why, " 9"));
    plumb_phase_space_clear(&r);
    forged_free(&f);
}
