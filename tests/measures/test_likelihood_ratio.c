// SPDX-License-Identifier: MIT
// The likelihood ratio, gammas and thresholds: fitted on tuples that are not judged, and right
// where the exact answer is known.
#include "measures/surprise/likelihood_ratio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "support/test.h"

// ---- the dimension ----

// `true_dims` coordinates, turned into `dims` by fixed random directions.
static double measure_dimension(int64_t count, int64_t true_dims, int64_t dims)
{
    rng r = rng_at(5, (uint64_t)true_dims);
    double *points = calloc((size_t)(count * dims), sizeof *points), way[16 * 16];
    for (int i = 0; i < 16 * 16; i++) way[i] = rng_normal(&r);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < true_dims; k++) {
            const double x = rng_uniform(&r);
            for (int64_t j = 0; j < dims; j++) points[i * dims + j] += x * way[k * dims + j];
        }
    const double found = likelihood_ratio_dimension(points, count, dims);
    free(points);
    return found;
}

TEST(the_dimension_is_that_of_the_surface_the_points_lie_on)
{
    CHECK_NEAR(measure_dimension(400, 1, 10), 1.0, 0.15);
    CHECK_NEAR(measure_dimension(400, 2, 10), 2.0, 0.3);
    CHECK_NEAR(measure_dimension(1000, 4, 10), 4.0, 0.6);
    double same[5 * 3] = {0};
    CHECK_NEAR(likelihood_ratio_dimension(same, 5, 3), 3.0, 0);
}

// ---- two Gaussians ----

enum { TUPLES = 2000 };

// Possible x ~ N(0, 1), impossible x ~ N(0, 0.3^2): surprise x^2 / 2, feature (x, 0).
typedef struct gaussians {
    double surprise[TUPLES * 4], feature[TUPLES * 4 * 2];
    plumb_array arrays[2];
    plumb_surprise_input in;
} gaussians;

static gaussians *draw_gaussians(double impossible, uint64_t seed)
{
    gaussians *g = calloc(1, sizeof *g);
    rng r = rng_at(seed, 3);
    for (int i = 0; i < TUPLES * 4; i++) {
        const double x = rng_normal(&r) * (i % 4 >= 2 ? impossible : 1.0);
        g->surprise[i] = 0.5 * x * x;
        g->feature[2 * i] = x;
    }
    g->arrays[0] = plumb_array_view(g->surprise, PLUMB_FLOAT64, 2, (int64_t[]){TUPLES, 4});
    g->arrays[1] = plumb_array_view(g->feature, PLUMB_FLOAT64, 3, (int64_t[]){TUPLES, 4, 2});
    g->in = (plumb_surprise_input){
        .size = sizeof g->in, .surprise = &g->arrays[0], .feature = &g->arrays[1]};
    return g;
}

static plumb_surprise_options choose(plumb_scorer first, plumb_scorer second)
{
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.scorers[first] = opt.scorers[second] = true;
    opt.normalise = false;
    opt.resamples = 0;
    return opt;
}

TEST(at_level_alpha_the_ratio_has_the_power_of_the_best_test_and_surprise_has_none)
{
    gaussians *g = draw_gaussians(0.3, 1);
    plumb_surprise_options opt = choose(PLUMB_SCORER_PLAIN, PLUMB_SCORER_LR);
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &g->in, &opt));
    const plumb_surprise_decision *lr = &result.scorers[PLUMB_SCORER_LR].level,
                                  *plain = &result.scorers[PLUMB_SCORER_PLAIN].level;
    // The best test calls |x| > 1.96 0.3 possible: P = 0.0500 of impossible, 0.5566 of possible
    // ones.
    CHECK(lr->measured);
    CHECK_NEAR(lr->type1, 0.05, 0.02);
    CHECK_NEAR(lr->power, 0.5566, 0.05);
    CHECK_NEAR(lr->accuracy, 1.0 - 0.5 * (lr->type1 + lr->type2), 1e-15);
    // Plain surprise calls |x| < 0.0627 0.3 possible: 0.0150 of them.
    CHECK_NEAR(plain->type1, 0.05, 0.02);
    CHECK_NEAR(plain->power, 0.0150, 0.01);
    // Tuples: the ratio is right nearly always, surprise nearly never.
    CHECK(result.scorers[PLUMB_SCORER_LR].all.accuracy > 0.75);
    CHECK(result.scorers[PLUMB_SCORER_PLAIN].all.accuracy < 0.2);
    // The exact AUROC is P(|N(0, 1)| > |N(0, 0.3)|) = 1 - 2 atan(0.3) / pi.
    CHECK_NEAR(result.ratio.auroc, 1.0 - 2.0 * atan(0.3) / 3.14159265358979, 0.02);
    plumb_surprise_clear(&result);
    free(g);
}

// P(z + 0.5) where P(z) = type1, P the normal law: the power of the best test of N(0.5, 1) against
// N(0, 1).
static double find_power(double type1)
{
    double low = -8.0, high = 8.0;
    for (int i = 0; i < 60; i++) {
        const double z = 0.5 * (low + high);
        if (0.5 * erfc(-z / sqrt(2.0)) < type1) low = z;
        else high = z;
    }
    return 0.5 * erfc(-(low + 0.5) / sqrt(2.0));
}

// Scenes differ in scale more than possible from impossible clips: log s is normal, with mean 0 and
// 0.5. Two concepts, of which the second has a thousand times the surprise.
TEST(where_scenes_differ_in_scale_the_ratio_has_the_power_of_the_best_test_and_more_than_surprise)
{
    gaussians *g = draw_gaussians(0.3, 6);
    rng r = rng_at(6, 9);
    double *concept = calloc(TUPLES, sizeof *concept);
    for (int i = 0; i < TUPLES * 4; i++) {
        concept[i / 4] = i / 4 % 2;
        g->surprise[i] = exp(rng_normal(&r) + (i % 4 >= 2 ? 0.5 : 0.0)) * (i / 4 % 2 ? 1e3 : 1.0);
        for (int k = 0; k < 2; k++) g->feature[2 * i + k] = rng_normal(&r); // says nothing
    }
    const plumb_array concepts = plumb_array_view(concept, PLUMB_FLOAT64, 1, (int64_t[]){TUPLES});
    g->in.concepts = &concepts;
    plumb_surprise_options opt = choose(PLUMB_SCORER_PLAIN, PLUMB_SCORER_LR);
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &g->in, &opt));
    const plumb_surprise_decision *lr = &result.scorers[PLUMB_SCORER_LR].level,
                                  *plain = &result.scorers[PLUMB_SCORER_PLAIN].level;
    CHECK(result.ratio.scene_variances && !result.ratio.frame_variances);
    // The threshold is chosen on 800 impossible clips. At the errors it has, the best test
    // recognises find_power(type1) of possible clips. Plain surprise spends all errors on the first
    // concept.
    CHECK_NEAR(lr->type1, 0.05, 0.02);
    CHECK_NEAR(lr->power, find_power(lr->type1), 0.02);
    CHECK_NEAR(plain->power, 0.5 * find_power(2.0 * plain->type1), 0.02);
    CHECK(find_power(0.05) > 0.126 && 0.5 * find_power(0.1) < 0.109);
    // Phi(0.5 / sqrt(2)).
    CHECK_NEAR(result.ratio.auroc, 0.6382, 0.02);
    CHECK(result.scorers[PLUMB_SCORER_LR].all.accuracy >=
          result.scorers[PLUMB_SCORER_PLAIN].all.accuracy - 0.01);
    plumb_surprise_clear(&result);
    free(concept);
    free(g);
}

TEST(posteriors_are_calibrated_and_follow_the_prior)
{
    gaussians *g = draw_gaussians(0.3, 2);
    plumb_surprise_options opt = choose(PLUMB_SCORER_LR, PLUMB_SCORER_LR);
    plumb_surprise even, rare;
    CHECK_OK(plumb_surprise_measure(&even, &g->in, &opt));
    opt.prior = 0.1;
    CHECK_OK(plumb_surprise_measure(&rare, &g->in, &opt));
    const plumb_surprise_ratio *ratio = &even.ratio;
    CHECK(ratio->calibration_error < 0.06);
    CHECK(ratio->brier < 0.18); // 0.25 for a posterior of one half
    int64_t clips = 0;
    for (int i = 0; i < PLUMB_SURPRISE_BINS; i++) clips += ratio->calibration_clips[i];
    CHECK_EQUAL(clips, 4 * even.tested);
    double brier = 0.0, means[2] = {0};
    for (int64_t i = 0; i < 4 * even.tested; i++) {
        const double odds = exp(ratio->log_ratio[i]);
        CHECK_NEAR(ratio->posterior[i], 0.5 / (0.5 + 0.5 / odds), 1e-12);
        CHECK_NEAR(rare.ratio.posterior[i], 0.1 / (0.1 + 0.9 / odds), 1e-12);
        CHECK(rare.ratio.log_ratio[i] == ratio->log_ratio[i]);
        const double off = ratio->posterior[i] - (i % 4 >= 2);
        brier += off * off / (4.0 * (double)even.tested);
        means[i % 4 >= 2] += ratio->posterior[i] / (2.0 * (double)even.tested);
    }
    CHECK_NEAR(ratio->brier, brier, 1e-12);
    CHECK_NEAR(ratio->posterior_mean[0], means[0], 1e-12);
    CHECK_NEAR(ratio->posterior_mean[1], means[1], 1e-12);
    CHECK_NEAR(rare.ratio.log_threshold, log(9.0), 1e-12);
    plumb_surprise_clear(&even);
    plumb_surprise_clear(&rare);
    free(g);
}

TEST(the_unit_of_surprise_does_not_change_the_ratio)
{
    gaussians *g = draw_gaussians(0.3, 3);
    plumb_surprise_options opt = choose(PLUMB_SCORER_LR, PLUMB_SCORER_LR);
    plumb_surprise a, b;
    CHECK_OK(plumb_surprise_measure(&a, &g->in, &opt));
    for (int i = 0; i < TUPLES * 4; i++) g->surprise[i] *= 1024.0;
    CHECK_OK(plumb_surprise_measure(&b, &g->in, &opt));
    for (int64_t i = 0; i < 4 * a.tested; i++)
        CHECK_NEAR(a.ratio.log_ratio[i], b.ratio.log_ratio[i], 1e-9);
    CHECK_NEAR(b.ratio.temperature[0], 1024.0 * a.ratio.temperature[0],
               1e-6 * b.ratio.temperature[0]);
    plumb_surprise_clear(&a);
    plumb_surprise_clear(&b);
    // A temperature that is given is used.
    opt.temperature = 77.0;
    CHECK_OK(plumb_surprise_measure(&b, &g->in, &opt));
    CHECK_NEAR(b.ratio.temperature[0], 77.0, 1e-9);
    plumb_surprise_clear(&b);
    free(g);
}

TEST(a_counter_example_that_surprise_and_the_published_gammas_fail)
{
    // Impossible clips are less surprising than possible ones, and their features lie together.
    enum { N = 300, D = 5 };
    static double surprise[N * 4], feature[N * 4 * D];
    rng r = rng_at(8, 0);
    for (int i = 0; i < N * 4; i++) {
        surprise[i] = 10.0 + rng_normal(&r) - (i % 4 >= 2 ? 1.0 : 0.0);
        for (int j = 0; j < D; j++)
            feature[i * D + j] = i % 4 >= 2 ? (j ? 0.1 * rng_normal(&r) : 1.0) : rng_normal(&r);
    }
    const plumb_array s = plumb_array_view(surprise, PLUMB_FLOAT64, 2, (int64_t[]){N, 4}),
                      f = plumb_array_view(feature, PLUMB_FLOAT64, 3, (int64_t[]){N, 4, D});
    const plumb_surprise_input in = {.size = sizeof in, .surprise = &s, .feature = &f};
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.resamples = 0;
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &in, &opt));
    CHECK(result.scorers[PLUMB_SCORER_PLAIN].all.accuracy < 0.3);
    CHECK(result.scorers[PLUMB_SCORER_KNN].all.accuracy < 0.3);
    CHECK(result.scorers[PLUMB_SCORER_LR].all.accuracy > 0.99);
    CHECK(result.scorers[PLUMB_SCORER_LR].all.auroc > 0.95);
    CHECK(result.ratio.brier < 0.1 && result.ratio.calibration_error < 0.06);
    plumb_surprise_clear(&result);
    // With gammas of their own the others find it too.
    opt.gamma_auto = true;
    CHECK_OK(plumb_surprise_measure(&result, &in, &opt));
    CHECK(result.scorers[PLUMB_SCORER_KNN].all.accuracy > 0.99);
    CHECK(result.scorers[PLUMB_SCORER_KNN].gamma > 1.0);
    plumb_surprise_clear(&result);
}

// ---- nothing is fitted on what is judged ----

TEST(tuples_that_are_judged_do_not_move_what_they_are_judged_by)
{
    gaussians *g = draw_gaussians(0.3, 4);
    plumb_surprise_options opt = choose(PLUMB_SCORER_KNN, PLUMB_SCORER_LR);
    opt.gamma_auto = true;
    plumb_surprise a, b;
    CHECK_OK(plumb_surprise_measure(&a, &g->in, &opt));
    CHECK(a.split && a.scorers[PLUMB_SCORER_KNN].decision.measured);
    // The last tested tuple becomes nonsense.
    const int64_t last = a.tested - 1, tuple = a.tested_tuple[last];
    for (int j = 0; j < 4; j++) g->surprise[4 * tuple + j] = 1e6 * (j + 1);
    CHECK_OK(plumb_surprise_measure(&b, &g->in, &opt));
    CHECK(a.scorers[PLUMB_SCORER_KNN].gamma == b.scorers[PLUMB_SCORER_KNN].gamma);
    CHECK(a.scorers[PLUMB_SCORER_KNN].decision.threshold ==
          b.scorers[PLUMB_SCORER_KNN].decision.threshold);
    CHECK(a.scorers[PLUMB_SCORER_LR].level.threshold == b.scorers[PLUMB_SCORER_LR].level.threshold);
    CHECK(memcmp(a.ratio.log_ratio, b.ratio.log_ratio, (size_t)(4 * last) * sizeof(double)) == 0);
    plumb_surprise_clear(&a);
    plumb_surprise_clear(&b);
    free(g);
}

TEST(without_an_observation_set_every_clip_is_judged_by_the_other_folds)
{
    gaussians *g = draw_gaussians(2.0, 5);
    g->in.feature = NULL;
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.resamples = 0;
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &g->in, &opt));
    const plumb_surprise_score *plain = &result.scorers[PLUMB_SCORER_PLAIN];
    CHECK(plain->decision.measured && !result.ratio.measured);
    // x^2 / 2 of N(0, 2^2) against N(0, 1): the best threshold is that of equal densities, x
    // = 1.36; P(|x| > 1.36) = 0.174 and P(|2 x| < 1.36) = 0.503.
    CHECK_NEAR(plain->decision.accuracy, 1.0 - 0.5 * (0.174 + 0.503), 0.02);
    CHECK_NEAR(plain->decision.threshold, 0.5 * 1.36 * 1.36, 0.2);
    CHECK_NEAR(plain->level.type1, 0.05, 0.01);
    plumb_surprise_clear(&result);
    // A threshold that is given, and the rule of the level.
    opt.threshold = 0.5;
    CHECK_OK(plumb_surprise_measure(&result, &g->in, &opt));
    CHECK_NEAR(result.scorers[0].decision.threshold, 0.5, 1e-12);
    CHECK_NEAR(result.scorers[0].decision.type2, 0.3173, 0.02);
    plumb_surprise_clear(&result);
    opt.threshold = (double)NAN;
    opt.threshold_rule = PLUMB_SURPRISE_THRESHOLD_LEVEL;
    CHECK_OK(plumb_surprise_measure(&result, &g->in, &opt));
    CHECK(result.scorers[0].decision.threshold == result.scorers[0].level.threshold);
    plumb_surprise_clear(&result);
    free(g);
}

TEST(a_scorer_without_information_gets_gamma_zero)
{
    gaussians *g = draw_gaussians(2.0, 6);
    rng r = rng_at(77, 0);
    static double voe[TUPLES * 4];
    for (int i = 0; i < TUPLES * 4; i++) {
        voe[i] = rng_normal(&r);
        if (i % 4 >= 2) g->surprise[i] += 100.0; // surprise alone is always right
    }
    const plumb_array naive = plumb_array_view(voe, PLUMB_FLOAT64, 2, (int64_t[]){TUPLES, 4});
    g->in.feature = NULL;
    g->in.surprise_naive = &naive;
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.resamples = 0;
    opt.gamma_auto = true;
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &g->in, &opt));
    CHECK_NEAR(result.scorers[PLUMB_SCORER_NAIVE].gamma, 0.0, 0);
    CHECK_NEAR(result.scorers[PLUMB_SCORER_NAIVE].all.accuracy, 1.0, 0);
    plumb_surprise_clear(&result);
    free(g);
}

// ---- Theorem 3 ----

TEST(the_density_by_neighbours_converges_as_observed_clips_grow)
{
    // x uniform on a circle: density 1 / (2 pi). k / (2 N r_k) for k = 0.025 N, and for k =
    // sqrt(N).
    double error[2][2];
    for (int rule = 0; rule < 2; rule++)
        for (int large = 0; large < 2; large++) {
            const int64_t n = large ? 20000 : 200, queries = 200;
            const int64_t k = rule ? (int64_t)sqrt((double)n) : n / 40;
            double *x = malloc((size_t)(2 * (n + queries)) * sizeof *x), *r = malloc(8 * 200);
            rng random = rng_at(9, (uint64_t)n);
            for (int64_t i = 0; i < n + queries; i++) {
                const double angle = 6.283185307179586 * rng_uniform(&random);
                x[2 * i] = cos(angle), x[2 * i + 1] = sin(angle);
            }
            plumb_surprise_options opt = plumb_surprise_defaults();
            opt.k = k;
            const scorer_task task = {.observed = x,
                                      .observed_count = n,
                                      .queries = x + 2 * n,
                                      .query_count = queries,
                                      .dims = 2,
                                      .opt = &opt};
            arena mem = {0};
            CHECK_OK(scorer_knn(r, &mem, &task));
            arena_clear(&mem);
            double sum = 0.0;
            for (int64_t i = 0; i < queries; i++) {
                const double density = (double)k / (2.0 * (double)n * r[i]);
                sum += fabs(density * 6.283185307179586 - 1.0) / (double)queries;
            }
            error[rule][large] = sum;
            free(x);
            free(r);
        }
    // With k -> infinity and k / N -> 0 the error goes to 0; with a fixed share its bias stays.
    CHECK(error[1][1] < 0.5 * error[1][0] && error[1][1] < 0.1);
    CHECK(error[0][1] < error[0][0] && error[0][0] < 0.5);
}
