// SPDX-License-Identifier: MIT
// Arrays in other layouts: they are recognised, named, and measured when the layout is set.
#include <math.h>
#include <string.h>

#include "fixtures.h"
#include "plumb/phase_space.h"

enum { TRAJECTORIES = 40, STEPS = 40 };

// Two pairs, sheared so that the exact pairing matters: z = (q, p + grad V(q)), V = q1 q2^2 / 2.
static void shear_pairs(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    z[0] = s[0], z[1] = s[1];
    z[2] = s[2] + 0.5 * s[1] * s[1], z[3] = s[3] + s[0] * s[1];
}

static void interleave(double *z, const double *s, int64_t step, rng *noise)
{
    double pairs[4];
    shear_pairs(pairs, s, step, noise);
    z[0] = pairs[0], z[1] = pairs[2], z[2] = pairs[1], z[3] = pairs[3];
}

static void momenta_first(double *z, const double *s, int64_t step, rng *noise)
{
    double pairs[4];
    shear_pairs(pairs, s, step, noise);
    z[0] = pairs[2], z[1] = pairs[3], z[2] = pairs[0], z[3] = pairs[1];
}

// Positions u = q + 0.5 q^3 and their velocity: du/dt = (1 + 1.5 q^2) p (rate 0.1 per step).
static void bend_velocity(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    z[0] = s[0] + 0.5 * s[0] * s[0] * s[0];
    z[1] = (1.0 + 1.5 * s[0] * s[0]) * s[1];
}

static void copy_pair(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    z[0] = s[0], z[1] = s[1];
}

static plumb_phase_space measure(const plumb_array *latent, const plumb_array *truth,
                                 plumb_layout layout, plumb_layout truth_layout)
{
    const plumb_phase_space_input in = {.size = sizeof in, .latent = latent, .truth = truth};
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.layout = layout, opt.truth_layout = truth_layout, opt.coordinates_only = true;
    plumb_phase_space r;
    CHECK_OK(plumb_phase_space_measure(&r, &in, &opt));
    return r;
}

// Columns of the truth in the order (q1, p1, q2, p2).
static void interleave_truth(forged *f)
{
    for (int64_t r = 0; r < TRAJECTORIES * STEPS; r++) {
        double *s = f->truth_data + 4 * r;
        const double q2 = s[1];
        s[1] = s[2], s[2] = q2;
    }
}

TEST(interleaved_latents_are_named_and_measured)
{
    forged f = forge(2, 2, TRAJECTORIES, STEPS, interleave);
    plumb_phase_space r =
        measure(&f.latent, &f.truth, PLUMB_LAYOUT_POSITIONS_FIRST, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_LEARNT);
    CHECK(r.kappa.hint && strstr(r.kappa.hint, "with the latents read as (q1, p1, q2, p2)"));
    CHECK(strstr(r.why, "option layout: interleaved"));
    plumb_phase_space_clear(&r);
    r = measure(&f.latent, &f.truth, PLUMB_LAYOUT_INTERLEAVED, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    CHECK_NEAR(r.kappa.kappa, 1.0, 1e-6);
    CHECK(!r.kappa.hint);
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(interleaved_truth_is_named_and_measured)
{
    forged f = forge(2, 2, TRAJECTORIES, STEPS, shear_pairs);
    interleave_truth(&f);
    plumb_phase_space r =
        measure(&f.latent, &f.truth, PLUMB_LAYOUT_POSITIONS_FIRST, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_NOT_LEARNT);
    CHECK(r.kappa.hint && strstr(r.kappa.hint, "option truth_layout: interleaved"));
    plumb_phase_space_clear(&r);
    r = measure(&f.latent, &f.truth, PLUMB_LAYOUT_POSITIONS_FIRST, PLUMB_LAYOUT_INTERLEAVED);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(both_interleaved_are_named)
{
    forged f = forge(2, 2, TRAJECTORIES, STEPS, interleave);
    interleave_truth(&f);
    plumb_phase_space r =
        measure(&f.latent, &f.truth, PLUMB_LAYOUT_POSITIONS_FIRST, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK(r.verdict != PLUMB_VERDICT_LEARNT);
    CHECK(r.kappa.hint && strstr(r.kappa.hint, "option layout and truth_layout: interleaved"));
    plumb_phase_space_clear(&r);
    r = measure(&f.latent, &f.truth, PLUMB_LAYOUT_INTERLEAVED, PLUMB_LAYOUT_INTERLEAVED);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(momenta_first_changes_the_sign_of_c)
{
    forged f = forge(2, 2, TRAJECTORIES, STEPS, momenta_first);
    plumb_phase_space r =
        measure(&f.latent, &f.truth, PLUMB_LAYOUT_POSITIONS_FIRST, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    CHECK_NEAR(r.kappa.c, -1.0, 1e-6);
    plumb_phase_space_clear(&r);
    r = measure(&f.latent, &f.truth, PLUMB_LAYOUT_MOMENTA_FIRST, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK_NEAR(r.kappa.c, 1.0, 1e-6);
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(velocities_are_named_and_their_momenta_fitted)
{
    forged f = forge(1, 1, TRAJECTORIES, STEPS, bend_velocity);
    plumb_phase_space r =
        measure(&f.latent, &f.truth, PLUMB_LAYOUT_POSITIONS_FIRST, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK(r.verdict != PLUMB_VERDICT_LEARNT);
    CHECK(r.kappa.hint && strstr(r.kappa.hint, "option layout: velocities"));
    const double before = r.kappa.kappa;
    plumb_phase_space_clear(&r);
    r = measure(&f.latent, &f.truth, PLUMB_LAYOUT_VELOCITIES, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK(r.kappa.kappa > before + 0.05);
    CHECK(!r.kappa.hint || !strstr(r.kappa.hint, "velocities"));
    plumb_phase_space_clear(&r);
    forged_free(&f);
}

TEST(cosine_and_sine_are_named_and_become_an_angle)
{
    forged f = forge(0, 1, TRAJECTORIES, STEPS, copy_pair);
    double *columns = forge_room(TRAJECTORIES * STEPS * 3);
    for (int64_t r = 0; r < TRAJECTORIES * STEPS; r++) {
        columns[3 * r] = cos(f.truth_data[2 * r]);
        columns[3 * r + 1] = sin(f.truth_data[2 * r]);
        columns[3 * r + 2] = f.truth_data[2 * r + 1];
    }
    const plumb_array circle =
        plumb_array_view(columns, PLUMB_FLOAT64, 3, (int64_t[]){TRAJECTORIES, STEPS, 3});
    const plumb_phase_space_input in = {.size = sizeof in, .latent = &f.latent, .truth = &circle};
    plumb_phase_space r;
    CHECK_FAILS(plumb_phase_space_measure(&r, &in, NULL), PLUMB_ESHAPE, "the layout circle");
    r = measure(&f.latent, &circle, PLUMB_LAYOUT_POSITIONS_FIRST, PLUMB_LAYOUT_CIRCLE);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    CHECK_NEAR(r.kappa.kappa, 1.0, 1e-4);
    plumb_phase_space_clear(&r);
    r = measure(&circle, &f.truth, PLUMB_LAYOUT_CIRCLE, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK_EQUAL(r.verdict, PLUMB_VERDICT_LEARNT);
    plumb_phase_space_clear(&r);
    // States that are no circle are refused, and so is a layout that does not fit.
    columns[4] = 7.0;
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.truth_layout = PLUMB_LAYOUT_CIRCLE;
    CHECK_FAILS(plumb_phase_space_measure(&r, &in, &opt), PLUMB_ENUMERIC, "is not (cos, sin");
    opt.truth_layout = PLUMB_LAYOUT_INTERLEAVED;
    CHECK_FAILS(plumb_phase_space_measure(&r, &in, &opt), PLUMB_ESHAPE, "this layout needs");
    free(columns);
    forged_free(&f);
}

// Two pairs that are all functions of one: an embedding of the state in four dimensions.
static void embed(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    z[0] = s[0], z[1] = tanh(s[0] + s[1]), z[2] = s[1], z[3] = s[0] * s[1];
}

TEST(exchanged_arrays_are_named)
{
    forged f = forge(1, 2, TRAJECTORIES, STEPS, embed);
    plumb_phase_space r =
        measure(&f.truth, &f.latent, PLUMB_LAYOUT_POSITIONS_FIRST, PLUMB_LAYOUT_POSITIONS_FIRST);
    CHECK(r.verdict != PLUMB_VERDICT_LEARNT);
    CHECK(r.kappa.hint && strstr(r.kappa.hint, "were latent and truth exchanged?"));
    plumb_phase_space_clear(&r);
    forged_free(&f);
}
