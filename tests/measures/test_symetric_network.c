// SPDX-License-Identifier: MIT
// SyMetric by a network: right latents pass, wrong ones fail. Also its rules: width, number of
// points, held-out trajectories, and a result that depends on the seed but not on threads.
#include "measures/fit/mlp_fit.h"
#include "measures/symetric/symetric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measures/fixtures.h"

enum { ENOUGH = 1084 }; // trajectories of 60 steps for 62 parameters

static plumb_symetric_options quick(int64_t updates)
{
    plumb_symetric_options opt = plumb_symetric_defaults();
    opt.method = PLUMB_SYMETRIC_METHOD_MLP;
    opt.network_updates = updates;
    opt.network_starts = 1;
    return opt;
}

static plumb_symetric measure(const forged *f, const plumb_symetric_options *opt)
{
    plumb_symetric r;
    CHECK_OK(plumb_symetric_measure(&r, &f->latent, NULL, &f->truth, opt));
    return r;
}

static void bent(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    z[0] = s[0], z[1] = s[1] + 3.0 * s[0] * s[0];
}

// Area is stretched on one side and squeezed on the other.
static void stretched(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    z[0] = s[0], z[1] = s[1] * exp(1.5 * s[0]);
}

static void three_pairs(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    memcpy(z, s, 6 * sizeof *z);
}

static void nothing_but_noise(double *z, const double *s, int64_t step, rng *noise)
{
    (void)s, (void)step;
    z[0] = rng_normal(noise), z[1] = rng_normal(noise);
}

enum { MANY = 20 }; // pairs of latents

// The bent plane over many pairs: each has a share of q and of p + 3 q^2.
static void spread_out(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    for (int64_t i = 0; i < MANY; i++) {
        z[i] = (1.0 + 0.1 * (double)i) * s[0];
        z[MANY + i] = (3.0 - 0.1 * (double)i) * (s[1] + 3.0 * s[0] * s[0]);
    }
}

// Some of them hold noise instead.
static void spread_thin(double *z, const double *s, int64_t step, rng *noise)
{
    spread_out(z, s, step, noise);
    for (int64_t i = 3; i < MANY; i++) z[i] = rng_normal(noise), z[MANY + i] = rng_normal(noise);
}

// Area is stretched here and squeezed there, in all pairs.
static void spread_wrong(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    for (int64_t i = 0; i < MANY; i++) {
        z[i] = (1.0 + 0.1 * (double)i) * s[0];
        z[MANY + i] = s[1] * exp(1.5 * s[0]);
    }
}

TEST(a_canonical_map_passes)
{
    forged f = forge(1, 1, ENOUGH, 60, bent);
    const plumb_symetric_options opt = quick(1500);
    plumb_symetric r = measure(&f, &opt);
    CHECK_NEAR(r.symetric, 1.0, 0.0);
    CHECK(r.r2 > 0.99 && r.sym < 0.03 && !r.degenerate);
    CHECK_NEAR(r.r2_heldout, r.r2, 1e-12); // nothing it is scored on was trained on
    CHECK_NEAR(r.training.r2, r.r2, 0.01);
    CHECK(r.training.loss > 0.0 && r.training.loss < 0.01);
    CHECK_EQUAL(r.method, PLUMB_SYMETRIC_METHOD_MLP);
    CHECK_EQUAL(r.trajectories, 50);
    CHECK_EQUAL(r.training.trajectories, ENOUGH - 50);
    CHECK_EQUAL(r.training.points, (ENOUGH - 50) * 60);
    CHECK_EQUAL(r.training.parameters, 62);
    CHECK_EQUAL(r.training.width, 4);
    CHECK(r.sym_ci.low <= r.sym && r.sym <= r.sym_ci.high);
    CHECK(isnan(r.alpha) && r.order == 0);
    for (int64_t i = 0; i < r.trajectories; i++) {
        CHECK(r.items[i].trajectory >= 0 && r.items[i].trajectory < ENOUGH);
        CHECK(i == 0 || r.items[i].trajectory > r.items[i - 1].trajectory);
    }
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(a_stretched_map_is_refused)
{
    forged f = forge(1, 1, ENOUGH, 60, stretched);
    const plumb_symetric_options opt = quick(1500);
    plumb_symetric r = measure(&f, &opt);
    CHECK_NEAR(r.symetric, 0.0, 0.0);
    CHECK(r.r2 > 0.99 && r.sym > 0.1);
    CHECK(strstr(r.why, "does not keep the symplectic form"));
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(noise_is_refused)
{
    forged f = forge(1, 1, 100, 60, nothing_but_noise);
    plumb_symetric_options opt = quick(300);
    opt.network_few_points = true;
    plumb_symetric r = measure(&f, &opt);
    CHECK_NEAR(r.symetric, 0.0, 0.0);
    CHECK(r.r2 < 0.1);
    CHECK(strstr(r.why, "no network of 4 layers of 4 units"));
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(a_momentum_in_the_wrong_pair_is_refused)
{
    forged f = forge(1, 4, 300, 60, map_crossed);
    plumb_symetric_options opt = quick(1500);
    opt.network_few_points = true;
    plumb_symetric r = measure(&f, &opt);
    CHECK(r.r2 > 0.9);
    CHECK_NEAR(r.symetric, 0.0, 0.0);
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(dead_momenta_make_no_area)
{
    // Weights of latents that rest keep what was drawn for them; they must not pass for a slope.
    forged f = forge(1, 3, 100, 60, map_cheat);
    plumb_symetric_options opt = quick(1000);
    opt.network_few_points = true;
    plumb_symetric r = measure(&f, &opt);
    CHECK(r.r2 > 0.9);
    CHECK(r.degenerate && r.rho < 1e-4);
    CHECK_NEAR(r.symetric, 0.0, 0.0);
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(a_layer_narrower_than_the_truth_cannot_pass_and_the_rule_avoids_it)
{
    forged f = forge(3, 3, 300, 60, three_pairs);
    plumb_symetric_options opt = quick(1500);
    opt.network_few_points = true;
    plumb_symetric r = measure(&f, &opt);
    CHECK_EQUAL(r.training.width, 6);
    CHECK_NEAR(r.symetric, 1.0, 0.0);
    plumb_symetric_clear(&r);
    opt.network_width = 4;
    r = measure(&f, &opt);
    CHECK_EQUAL(r.training.width, 4);
    CHECK_NEAR(r.symetric, 0.0, 0.0);
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(few_points_are_refused_unless_they_will_do)
{
    forged f = forge(1, 1, 100, 60, map_rotation);
    plumb_symetric_options opt = quick(50);
    plumb_symetric r = {.n = 7};
    CHECK_FAILS(plumb_symetric_measure(&r, &f.latent, NULL, &f.truth, &opt), PLUMB_ENUMERIC,
                "4800 points");
    CHECK_EQUAL(r.n, 7);
    for (int i = 0; i < 4; i++) {
        static const char *const says[] = {"62 parameters", "1000 per parameter",
                                           "1084 trajectories of 60 steps", "network_few_points"};
        CHECK(strstr(plumb_last_error(), says[i]));
    }
    opt.network_few_points = true;
    r = measure(&f, &opt);
    CHECK_EQUAL(r.training.points, 4800);
    CHECK_EQUAL(r.trajectories, 20); // a fifth, for 50 would be too many
    plumb_symetric_clear(&r);
    opt.network_few_points = false;
    opt.network_points_per_parameter = 77; // 4774
    r = measure(&f, &opt);
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(what_is_enough_is_enough_and_one_less_is_not)
{
    plumb_symetric_options opt = quick(1);
    const plumb_symetric_options usual = plumb_symetric_defaults();
    CHECK_EQUAL(symetric_required_trajectories(2, 2, 60, &usual), ENOUGH);
    CHECK_EQUAL(symetric_required_trajectories(32, 2, 60, &usual), 3034 + 50); // 182 parameters
    CHECK_EQUAL(symetric_required_trajectories(8, 8, 60, &usual), 4800 + 50);  // 8 wide: 288
    opt.network_points_per_parameter = 20; // 1240 points, 31 trajectories
    const int64_t enough = symetric_required_trajectories(2, 2, 40, &opt);
    for (int64_t less = 0; less < 2; less++) {
        forged f = forge(1, 1, enough - less, 40, map_rotation);
        plumb_symetric r;
        const plumb_status st = plumb_symetric_measure(&r, &f.latent, NULL, &f.truth, &opt);
        CHECK_EQUAL(st, less ? PLUMB_ENUMERIC : PLUMB_OK);
        if (!st) plumb_symetric_clear(&r);
        forged_free(&f);
    }
}

TEST(of_many_latents_it_sees_principal_components)
{
    forge_map *const maps[] = {spread_out, spread_thin, spread_wrong};
    static const int64_t seen[] = {2, 32, 2};
    for (int k = 0; k < 3; k++) {
        forged f = forge(1, MANY, 300, 60, maps[k]);
        plumb_symetric_options opt = quick(1500);
        opt.network_few_points = true;
        plumb_symetric r = measure(&f, &opt);
        CHECK_EQUAL(r.training.components, seen[k]);
        CHECK_EQUAL(r.training.parameters, 4 * seen[k] + 54);
        CHECK_EQUAL(r.latents, 2 * MANY);
        CHECK(r.r2 > 0.95);
        if (k != 1) CHECK_NEAR(r.symetric, k == 0 ? 1.0 : 0.0, 0.0);
        plumb_symetric_clear(&r);
        opt.network_components = 0; // as many as there are
        opt.network_updates = 1;
        r = measure(&f, &opt);
        CHECK_EQUAL(r.training.components, 0);
        CHECK_EQUAL(r.training.parameters, 8 * MANY + 54);
        plumb_symetric_clear(&r);
        forged_free(&f);
    }
    plumb_symetric_options all = quick(1);
    all.network_components = 0;
    const plumb_symetric_options usual = plumb_symetric_defaults();
    CHECK_EQUAL(symetric_required_trajectories(512, 2, 60, &usual),
                symetric_required_trajectories(32, 2, 60, &usual));
    CHECK(symetric_required_trajectories(512, 2, 60, &all) > 30000);
}

TEST(threads_change_no_bit_and_seeds_do)
{
    forged f = forge(1, 1, 30, 60, bent);
    plumb_symetric_options opt = quick(200);
    opt.network_few_points = true;
    opt.network_starts = 3;
    opt.threads = 1;
    plumb_symetric a = measure(&f, &opt);
    opt.threads = 4;
    plumb_symetric b = measure(&f, &opt);
    opt.seed = 2;
    plumb_symetric c = measure(&f, &opt);
    CHECK(memcmp(&a.r2, &b.r2, sizeof a.r2) == 0 && memcmp(&a.sym, &b.sym, sizeof a.sym) == 0);
    CHECK(memcmp(&a.training, &b.training, sizeof a.training) == 0);
    CHECK_EQUAL(a.trajectories, b.trajectories);
    CHECK(memcmp(a.items, b.items, (size_t)a.trajectories * sizeof *a.items) == 0);
    CHECK(a.sym != c.sym);
    plumb_symetric_clear(&a);
    plumb_symetric_clear(&b);
    plumb_symetric_clear(&c);
    forged_free(&f);
}

TEST(of_several_starts_the_best_counts)
{
    forged f = forge(1, 1, 30, 60, bent);
    plumb_symetric_options opt = quick(200);
    opt.network_few_points = true;
    double best = HUGE_VAL;
    for (opt.network_starts = 1; opt.network_starts <= 4; opt.network_starts++) {
        plumb_symetric r = measure(&f, &opt);
        CHECK(r.training.loss <= best);
        best = r.training.loss;
        plumb_symetric_clear(&r);
    }
    forged_free(&f);
}

TEST(the_mask_makes_the_network_smaller)
{
    forged f = forge(1, 4, 20, 60, map_padded);
    double variance[20 * 8];
    for (int i = 0; i < 20 * 8; i++) variance[i] = i % 4 == 0 ? 0.01 : 1.0;
    const plumb_array v = plumb_array_view(variance, PLUMB_FLOAT64, 2, (int64_t[]){20, 8});
    plumb_symetric_options opt = quick(20);
    opt.network_few_points = true;
    plumb_symetric r;
    CHECK_OK(plumb_symetric_measure(&r, &f.latent, &v, &f.truth, &opt));
    CHECK_EQUAL(r.latents, 2);
    CHECK_EQUAL(r.training.parameters, 62);
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(what_is_not_finite_is_refused_or_dropped)
{
    forged f = forge(1, 1, 20, 60, map_rotation);
    f.latent_data[77] = (double)NAN;
    plumb_symetric_options opt = quick(20);
    opt.network_few_points = true;
    plumb_symetric r;
    CHECK_FAILS(plumb_symetric_measure(&r, &f.latent, NULL, &f.truth, &opt), PLUMB_ENUMERIC,
                "latent");
    opt.nonfinite = PLUMB_SYMETRIC_NONFINITE_DROP;
    r = measure(&f, &opt);
    CHECK_EQUAL(r.dropped, 1);
    CHECK_EQUAL(r.trajectories + r.training.trajectories, 19);
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(a_coordinate_at_rest_counts_as_explained)
{
    forged f = forge(2, 2, 30, 60, map_pairs);
    for (int64_t i = 0; i < 30 * 60; i++) f.truth_data[4 * i + 1] = f.truth_data[4 * i + 3] = 0.3;
    plumb_symetric_options opt = quick(1000);
    opt.network_few_points = true;
    plumb_symetric r = measure(&f, &opt);
    CHECK_NEAR(r.r2, 1.0, 0.05);
    CHECK_NEAR(r.r2_heldout, r.r2, 1e-12);
    CHECK_NEAR(r.symetric, 0.0, 0.0); // but a pair that is lost is lost
    plumb_symetric_clear(&r);
    forged_free(&f);
}

TEST(settings_that_make_no_network_are_refused)
{
    forged f = forge(1, 1, 20, 60, map_rotation);
    for (int i = 0; i < 10; i++) {
        plumb_symetric_options opt = quick(20);
        opt.network_few_points = true;
        if (i == 0) opt.mode = PLUMB_SYMETRIC_MODE_REFERENCE;
        if (i == 1) opt.network_layers = 1;
        if (i == 2) opt.network_layers = 17;
        if (i == 3) opt.network_width = -1;
        if (i == 4) opt.network_updates = 0;
        if (i == 5) opt.network_rows = 0;
        if (i == 6) opt.network_starts = 0;
        if (i == 7) opt.network_rate = (double)NAN;
        if (i == 8) opt.network_ridge = -1.0;
        if (i == 9) opt.network_heldout = 0;
        plumb_symetric r;
        CHECK_EQUAL(plumb_symetric_measure(&r, &f.latent, NULL, &f.truth, &opt), PLUMB_EVALUE);
    }
    forged_free(&f);
}

TEST(the_jacobian_is_the_slope_of_what_is_told)
{
    enum { IN = 3, OUT = 2, POINTS = 5 };
    const mlp_fit_shape s = {IN, OUT, 7, 3};
    double value[200], x[IN * POINTS], j[POINTS * OUT * IN], y[2][OUT * POINTS];
    CHECK_EQUAL(mlp_fit_parameters(&s), 4 * 7 + 8 * 7 + 8 * 2);
    mlp_fit_init(value, &s, 3, 4);
    rng r = rng_at(5, 6);
    for (int i = 0; i < IN * POINTS; i++) x[i] = rng_normal(&r);
    CHECK_OK(mlp_fit_jacobians(j, &s, value, x, POINTS));
    const double h = 1e-6;
    for (int d = 0; d < IN; d++) {
        for (int side = 0; side < 2; side++) {
            for (int p = 0; p < POINTS; p++) x[d * POINTS + p] += side ? 2.0 * h : -h;
            CHECK_OK(mlp_fit_apply(y[side], &s, value, x, POINTS, POINTS));
        }
        for (int p = 0; p < POINTS; p++) x[d * POINTS + p] -= h;
        for (int p = 0; p < POINTS; p++)
            for (int t = 0; t < OUT; t++)
                CHECK_NEAR(j[(p * OUT + t) * IN + d],
                           (y[1][t * POINTS + p] - y[0][t * POINTS + p]) / (2.0 * h), 1e-8);
    }
}

TEST(the_l1_penalty_is_the_sum_of_absolute_weights_and_makes_them_small)
{
    enum { IN = 2, OUT = 2, ROWS = 32, UPDATES = 400 };
    const mlp_fit_shape s = {IN, OUT, 3, 2};
    double value[2][32], x[IN * ROWS], y[OUT * ROWS], loss[2][UPDATES], sum[2] = {0}, first = 0;
    rng r = rng_at(7, 8);
    for (int i = 0; i < IN * ROWS; i++) x[i] = rng_normal(&r);
    for (int i = 0; i < OUT * ROWS; i++) y[i] = rng_normal(&r);
    for (int k = 0; k < 2; k++) {
        mlp_fit_init(value[k], &s, 3, 4);
        // Weights (2, 3), biases (3), weights (3, 2), biases (2).
        for (int i = 0; i < 15 && k; i++)
            if (i < 6 || i >= 9) first += fabs(value[k][i]);
        const mlp_fit_training t = {.shape = s,
                                    .x = x,
                                    .y = y,
                                    .rows = ROWS,
                                    .stride = ROWS,
                                    .batch = ROWS,
                                    .rate = {.rate = 0.01, .steps = UPDATES},
                                    .l1 = k ? 0.5 : 0.0,
                                    .form = PROGRAM_REFERENCE,
                                    .loss = loss[k]};
        CHECK_OK(mlp_fit_train(value[k], &t));
        for (int i = 0; i < 15; i++)
            if (i < 6 || i >= 9) sum[k] += fabs(value[k][i]);
    }
    CHECK_NEAR(loss[1][0] - loss[0][0], 0.5 * first, 1e-12);
    CHECK(sum[1] < 0.3 && sum[1] < 0.2 * sum[0]);
}

TEST(neither_shift_nor_unit_changes_the_network)
{
    static const double changes[][4] = {{1, 1e6, 1, 0},   {1, 0, 1, 1e6},  {1e50, 0, 1, 0},
                                        {1e-50, 0, 1, 0}, {1, 0, 1e50, 0}, {1, 0, 1e-50, 0}};
    forge_map *const maps[] = {bent, stretched};
    const plumb_symetric_options opt = quick(300);
    for (int k = 0; k < 2; k++) {
        forged f = forge(1, 1, ENOUGH, 60, maps[k]);
        plumb_symetric plain = measure(&f, &opt);
        const int64_t count = plumb_array_count(&f.latent);
        double *latent = forge_room(count), *truth = forge_room(count);
        forged changed = f;
        changed.latent.data = latent, changed.truth.data = truth;
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
            const double *by = changes[i];
            for (int64_t j = 0; j < count; j++) {
                latent[j] = f.latent_data[j] * by[0] + by[1];
                truth[j] = f.truth_data[j] * by[2] + by[3];
            }
            plumb_symetric r = measure(&changed, &opt);
            CHECK_NEAR(r.symetric, plain.symetric, 0);
            CHECK_NEAR(r.r2, plain.r2, 1e-6);
            CHECK_NEAR(r.sym, plain.sym, 1e-6);
            plumb_symetric_clear(&r);
        }
        free(latent);
        free(truth);
        plumb_symetric_clear(&plain);
        forged_free(&f);
    }
}
