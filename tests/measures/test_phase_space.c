// SPDX-License-Identifier: MIT
// SyMetric, kappa and the verdict together: one rule decides, and the record holds what was
// decided.
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

TEST(the_rule_takes_kappa_and_never_symetric_alone)
{
    CHECK_EQUAL(plumb_phase_space_decide(false, PLUMB_VERDICT_LEARNT), PLUMB_VERDICT_LEARNT);
    CHECK_EQUAL(plumb_phase_space_decide(false, PLUMB_VERDICT_NOT_LEARNT),
                PLUMB_VERDICT_NOT_LEARNT);
    CHECK_EQUAL(plumb_phase_space_decide(false, PLUMB_VERDICT_NOT_DETERMINED),
                PLUMB_VERDICT_NOT_DETERMINED);
    CHECK_EQUAL(plumb_phase_space_decide(true, PLUMB_VERDICT_LEARNT), PLUMB_VERDICT_NOT_LEARNT);
    CHECK_EQUAL(plumb_phase_space_decide(true, PLUMB_VERDICT_NOT_DETERMINED),
                PLUMB_VERDICT_NOT_LEARNT);
}

TEST(a_canonical_map_is_learnt_and_a_stretch_is_not)
{
    forged good = forge(1, 1, TRAJECTORIES, STEPS, rotate);
    plumb_phase_space r = measure(&good, NULL);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    CHECK(r.has_polynomial && !r.has_network && r.kappa.measured);
    CHECK(r.why == r.kappa.why);
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
    CHECK(r.why == r.polynomial.why);
    plumb_phase_space_clear(&r);
    forged_free(&f);
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
