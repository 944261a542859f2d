// SPDX-License-Identifier: MIT
// Where the measure is undefined it fails with the right status and a message of one line, and the
// result of the caller is unchanged.
#include "measures/fixtures.h"

typedef struct arguments {
    forged f;
    plumb_array variance;
    bool has_variance;
    plumb_symetric_options opt;
} arguments;

static arguments good(void)
{
    return (arguments){.f = forge(1, 1, 6, 30, map_rotation), .opt = plumb_symetric_defaults()};
}

static plumb_status attempt(arguments *a)
{
    plumb_symetric out, before;
    memset(&out, 0x5a, sizeof out);
    before = out;
    const plumb_status st = plumb_symetric_measure(
        &out, &a->f.latent, a->has_variance ? &a->variance : NULL, &a->f.truth, &a->opt);
    if (st) CHECK(memcmp(&out, &before, sizeof out) == 0);
    else plumb_symetric_clear(&out);
    return st;
}

#define REFUSED(status, words, change)           \
    do {                                         \
        arguments a = good();                    \
        change;                                  \
        CHECK_FAILS(attempt(&a), status, words); \
        forged_free(&a.f);                       \
    } while (0)

#define ACCEPTED(change)       \
    do {                       \
        arguments a = good();  \
        change;                \
        CHECK_OK(attempt(&a)); \
        forged_free(&a.f);     \
    } while (0)

TEST(the_example_the_others_are_changed_from_is_accepted)
{
    ACCEPTED((void)a);
    ACCEPTED(a.opt.mode = PLUMB_SYMETRIC_MODE_REFERENCE);
}

TEST(shapes_that_are_no_phase_space_are_refused)
{
    REFUSED(PLUMB_ESHAPE, "latent is (6, 20, 3); the last axis must be even",
            (a.f.latent.shape[1] = 20, a.f.latent.shape[2] = 3));
    REFUSED(PLUMB_ESHAPE, "truth is (6, 60, 1); the last axis must be even",
            (a.f.truth.shape[1] = 60, a.f.truth.shape[2] = 1));
    REFUSED(PLUMB_ESHAPE, "latent is (6, 30, 0); the last axis", a.f.latent.shape[2] = 0);
    REFUSED(PLUMB_ESHAPE, "latent is (6, 30); expected (trajectories, steps, 2",
            a.f.latent.ndim = 2);
    REFUSED(PLUMB_ESHAPE, "truth is (6, 30); expected (trajectories, steps, 2", a.f.truth.ndim = 2);
    REFUSED(PLUMB_ESHAPE, "latent is ()", a.f.latent.ndim = 0);
}

TEST(arrays_that_do_not_go_together_are_refused)
{
    REFUSED(PLUMB_ESHAPE,
            "latent is (5, 30, 2) and truth (6, 30, 2); the number of trajectories must be equal",
            a.f.latent.shape[0] = 5);
    REFUSED(PLUMB_ESHAPE, "latent is (6, 29, 2) and truth (6, 30, 2); the latents must have",
            a.f.latent.shape[1] = 29);
}

TEST(too_little_to_measure_is_refused)
{
    REFUSED(PLUMB_ENUMERIC, "truth is (1, 30, 2); the measure needs at least two trajectories",
            a.f.latent.shape[0] = a.f.truth.shape[0] = 1);
    REFUSED(PLUMB_ENUMERIC, "at least two trajectories",
            a.f.latent.shape[0] = a.f.truth.shape[0] = 0);
    REFUSED(PLUMB_ENUMERIC, "at least two steps", a.f.truth.shape[1] = 1);
    REFUSED(PLUMB_ENUMERIC, "at least two steps", a.f.truth.shape[1] = 0);
    REFUSED(PLUMB_ENUMERIC, "points is 10 per trajectory; there are 9 steps",
            a.f.truth.shape[1] = 9);
    ACCEPTED((a.f.truth.shape[1] = 9, a.opt.points = 9));
    ACCEPTED((a.f.truth.shape[1] = 9, a.opt.points = 0));
    REFUSED(PLUMB_ENUMERIC, "truth is constant: the measure is not defined",
            for (int i = 0; i < 6 * 30 * 2; i++) a.f.truth_data[i] = i % 2 ? 0.3 : 1.0);
    // One number that moves is enough to be asked for.
    ACCEPTED(for (int i = 0; i < 6 * 30 * 2; i++) a.f.truth_data[i] = i == 7);
}

TEST(what_is_not_finite_is_counted_and_located)
{
    REFUSED(PLUMB_ENUMERIC, "latent has 1 value that is not finite, the first a NaN at (2, 5, 1)",
            a.f.latent_data[(2 * 30 + 5) * 2 + 1] = (double)NAN);
    REFUSED(PLUMB_ENUMERIC,
            "latent has 3 values that are not finite, the first an infinity at "
            "(0, 4, 0)",
            (a.f.latent_data[8] = -(double)INFINITY,
             a.f.latent_data[99] = a.f.latent_data[100] = (double)NAN));
    REFUSED(PLUMB_ENUMERIC, "truth has 1 value that is not finite, the first a NaN at (0, 0, 1)",
            a.f.truth_data[1] = (double)NAN);
    double variance[12];
    for (int i = 0; i < 12; i++) variance[i] = i == 5 ? (double)NAN : 0.1;
    REFUSED(PLUMB_ENUMERIC, "variance has 1 value that is not finite, the first a NaN at (2, 1)",
            (a.variance = plumb_array_view(variance, PLUMB_FLOAT64, 2, (int64_t[]){6, 2}),
             a.has_variance = true));
}

TEST(reference_mode_takes_nan_in_latents_and_nothing_else)
{
    // As published: NaN is left out of mean and sd, then set to the mean. Infinity fails there too.
    ACCEPTED((a.opt.mode = PLUMB_SYMETRIC_MODE_REFERENCE, a.f.latent_data[5] = (double)NAN));
    REFUSED(PLUMB_ENUMERIC, "latent has 1 value that is not finite, the first an infinity",
            (a.opt.mode = PLUMB_SYMETRIC_MODE_REFERENCE, a.f.latent_data[5] = (double)INFINITY));
    REFUSED(PLUMB_ENUMERIC, "latent has 2 values that are not finite, the first a NaN",
            (a.opt.mode = PLUMB_SYMETRIC_MODE_REFERENCE, a.f.latent_data[5] = (double)NAN,
             a.f.latent_data[6] = (double)INFINITY));
    REFUSED(PLUMB_ENUMERIC, "truth has 1 value that is not finite",
            (a.opt.mode = PLUMB_SYMETRIC_MODE_REFERENCE, a.f.truth_data[5] = (double)NAN));
    // Either rule can be had in either mode.
    REFUSED(PLUMB_ENUMERIC, "not finite",
            (a.opt.mode = PLUMB_SYMETRIC_MODE_REFERENCE,
             a.opt.nonfinite = PLUMB_SYMETRIC_NONFINITE_REFUSE, a.f.latent_data[5] = (double)NAN));
    ACCEPTED((a.opt.nonfinite = PLUMB_SYMETRIC_NONFINITE_MEAN, a.f.latent_data[5] = (double)NAN));
}

TEST(trajectories_that_are_not_finite_can_be_dropped_and_are_counted)
{
    arguments a = good();
    a.opt.nonfinite = PLUMB_SYMETRIC_NONFINITE_DROP;
    plumb_symetric want, got;
    // Without trajectories 1 and 4, written together.
    forged four = forge(1, 1, 6, 30, map_rotation);
    const int keep[4] = {0, 2, 3, 5};
    for (int k = 0; k < 4; k++) {
        memcpy(four.latent_data + k * 60, a.f.latent_data + keep[k] * 60, 60 * sizeof(double));
        memcpy(four.truth_data + k * 60, a.f.truth_data + keep[k] * 60, 60 * sizeof(double));
    }
    four.latent.shape[0] = four.truth.shape[0] = 4;
    CHECK_OK(plumb_symetric_measure(&want, &four.latent, NULL, &four.truth, NULL));

    a.f.latent_data[1 * 60 + 7] = (double)NAN;
    a.f.truth_data[4 * 60 + 8] = (double)INFINITY;
    CHECK_OK(plumb_symetric_measure(&got, &a.f.latent, NULL, &a.f.truth, &a.opt));
    CHECK_EQUAL(got.dropped, 2);
    CHECK_EQUAL(got.trajectories, 4);
    for (int k = 0; k < 4; k++) CHECK_EQUAL(got.items[k].trajectory, keep[k]);
    CHECK_NEAR(got.r2, want.r2, 0.0);
    CHECK_NEAR(got.r2_heldout, want.r2_heldout, 0.0);
    plumb_symetric_clear(&got);
    plumb_symetric_clear(&want);

    for (int k = 0; k < 5; k++) a.f.latent_data[k * 60] = (double)NAN;
    CHECK_FAILS(attempt(&a), PLUMB_ENUMERIC, "1 of 6 trajectories");
    a.f.latent_data[5 * 60] = (double)NAN;
    CHECK_FAILS(attempt(&a), PLUMB_ENUMERIC,
                "0 of 6 trajectories are finite throughout; the "
                "measure needs at least two");
    forged_free(&four);
    forged_free(&a.f);
}

TEST(what_comes_after_the_truth_has_ended_need_not_be_finite)
{
    // Latents are cut to the truth's steps: here 30 of latents and 20 of truth.
    ACCEPTED((a.f.truth.shape[1] = 20, a.f.latent_data[(3 * 30 + 20) * 2] = (double)NAN));
    REFUSED(PLUMB_ENUMERIC, "latent has 1 value that is not finite, the first a NaN at (3, 19, 1)",
            (a.f.truth.shape[1] = 20, a.f.latent_data[(3 * 30 + 19) * 2 + 1] = (double)NAN));
}

TEST(points_that_are_no_steps_are_refused)
{
    double at[12] = {0};
    plumb_array points = plumb_array_view(at, PLUMB_FLOAT64, 2, (int64_t[]){6, 2});
    ACCEPTED(a.opt.eval_index = &points);
    at[7] = 30.0;
    REFUSED(PLUMB_EVALUE, "point (3, 1) is 30; expected a step from 0 to 29",
            a.opt.eval_index = &points);
    at[7] = -1.0;
    REFUSED(PLUMB_EVALUE, "point (3, 1) is -1", a.opt.eval_index = &points);
    at[7] = 1.5;
    REFUSED(PLUMB_EVALUE, "point (3, 1) is 1.5", a.opt.eval_index = &points);
    at[7] = (double)NAN;
    REFUSED(PLUMB_EVALUE, "point (3, 1) is", a.opt.eval_index = &points);
    points.shape[0] = 5;
    REFUSED(PLUMB_ESHAPE, "the points are (5, 2); expected (6 trajectories, points)",
            a.opt.eval_index = &points);
    points.ndim = 1;
    REFUSED(PLUMB_ESHAPE, "the points are (5,)", a.opt.eval_index = &points);
    points = plumb_array_view(at, PLUMB_FLOAT64, 2, (int64_t[]){6, 0});
    REFUSED(PLUMB_ESHAPE, "the points are (6, 0)", a.opt.eval_index = &points);
}

TEST(a_variance_of_another_shape_is_refused)
{
    double variance[6 * 30 * 4];
    for (int i = 0; i < 6 * 30 * 4; i++) variance[i] = 0.1;
    static const struct {
        int ndim;
        int64_t shape[3];
    } wrong[] = {{1, {6}}, {2, {6, 4}}, {2, {5, 2}}, {3, {6, 29, 2}}, {3, {6, 30, 4}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        REFUSED(
            PLUMB_ESHAPE, "for a latent (6, 30, 2); expected (trajectories, 2m)",
            (a.variance = plumb_array_view(variance, PLUMB_FLOAT64, wrong[i].ndim, wrong[i].shape),
             a.has_variance = true));
}

TEST(options_outside_their_range_are_refused)
{
    REFUSED(PLUMB_EVALUE, "plumb_symetric_options.size is 0", a.opt.size = 0);
    REFUSED(PLUMB_EVALUE, "newer plumb", a.opt.size += 8);
    ACCEPTED(a.opt.size -= 8); // an older program
    REFUSED(PLUMB_EVALUE, "max_order is 0; it must be a whole number from 1 to 8",
            a.opt.max_order = 0);
    REFUSED(PLUMB_EVALUE, "max_order is 9; it must be a whole number from 1 to 8",
            a.opt.max_order = 9);
    REFUSED(PLUMB_EVALUE, "batch is 1; it must be 2 trajectories or more", a.opt.batch = 1);
    REFUSED(PLUMB_EVALUE, "batch is -2", a.opt.batch = -2);
    REFUSED(PLUMB_EVALUE, "alphas is 0", a.opt.alphas = 0);
    REFUSED(PLUMB_EVALUE, "alpha_min is 0", a.opt.alpha_min = 0.0);
    REFUSED(PLUMB_EVALUE, "alpha_min is nan", a.opt.alpha_min = (double)NAN);
    REFUSED(PLUMB_EVALUE, "alpha_min is 0.5 and alpha_max 0.1",
            (a.opt.alpha_min = 0.5, a.opt.alpha_max = 0.1));
    REFUSED(PLUMB_EVALUE, "alpha_max inf", a.opt.alpha_max = (double)INFINITY);
    REFUSED(PLUMB_EVALUE, "points is -1", a.opt.points = -1);
    REFUSED(PLUMB_EVALUE, "resamples is -1; it must be a whole number from 0 to 1000000",
            a.opt.resamples = -1);
    REFUSED(PLUMB_EVALUE, "resamples is 1000001", a.opt.resamples = 1000001);
    REFUSED(PLUMB_EVALUE, "max_sweeps is 0", a.opt.max_sweeps = 0);
    REFUSED(PLUMB_EVALUE, "max_batches is -1", a.opt.max_batches = -1);
    REFUSED(PLUMB_EVALUE, "they must be positive", a.opt.gap = 0.0);
    REFUSED(PLUMB_EVALUE, "they must be positive", a.opt.tolerance = (double)NAN);
    ACCEPTED((a.opt.alphas = 1, a.opt.max_order = 8));
}

TEST(a_negative_variance_is_refused_with_a_guess_at_what_it_is)
{
    arguments a = good();
    double variance[6 * 2];
    for (int i = 0; i < 12; i++) variance[i] = 0.1;
    variance[7] = -2.5;
    const plumb_array v = plumb_array_view(variance, PLUMB_FLOAT64, 2, (int64_t[]){6, 2});
    plumb_symetric out;
    CHECK_FAILS(plumb_symetric_measure(&out, &a.f.latent, &v, &a.f.truth, NULL), PLUMB_ENUMERIC,
                "-2.5 among its values; is it the logarithm");
    forged_free(&a.f);
}
