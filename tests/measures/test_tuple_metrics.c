// SPDX-License-Identifier: MIT
// Metrics of tuples, on scores whose metrics are known.
#include <stdlib.h>

#include "math/rng.h"
#include "measures/surprise/tuple_metrics.h"
#include "support/test.h"

static plumb_surprise_metrics judge(const double *score, int64_t count)
{
    arena mem = {0};
    plumb_surprise_metrics m;
    const tuple_metrics_plan plan = {
        .count = count, .concepts = 1, .type1 = 0.05, .resamples = 200, .seed = 1};
    CHECK_OK(tuple_metrics_compute(&m, &mem, score, &plan));
    arena_clear(&mem);
    return m;
}

TEST(an_oracle_is_right_everywhere)
{
    double score[40];
    for (int i = 0; i < 40; i++) score[i] = i % 4 >= 2 ? 3.0 + i : -1.0 - i;
    const plumb_surprise_metrics m = judge(score, 10);
    CHECK_NEAR(m.accuracy, 1.0, 0);
    CHECK_NEAR(m.auroc, 1.0, 0);
    CHECK_NEAR(m.auprc, 1.0, 1e-15);
    CHECK_NEAR(m.auprc_possible, 1.0, 1e-15);
    CHECK_NEAR(m.pairwise, 1.0, 0);
    CHECK_NEAR(m.matched, 1.0, 0);
    CHECK_NEAR(m.midpoint, 1.0, 0);
    CHECK_NEAR(m.best_accuracy, 1.0, 0);
    CHECK_NEAR(m.chance_p, ldexp(1.0, -10), 1e-16);
    CHECK_NEAR(m.permutation_p, pow(6.0, -10), 1e-16); // one of six ways, ten times
    CHECK_NEAR(m.type2, 0.0, 0);
    CHECK_NEAR(m.accuracy_ci.low, 1.0, 0);
}

TEST(a_constant_predictor_is_right_nowhere_and_chance_by_clip)
{
    double score[28];
    for (int i = 0; i < 28; i++) score[i] = 0.125;
    const plumb_surprise_metrics m = judge(score, 7);
    CHECK_NEAR(m.accuracy, 0.0, 0); // a tie is wrong
    CHECK_EQUAL(m.ties, 7);
    CHECK_NEAR(m.pairwise, 0.5, 0);
    CHECK_NEAR(m.matched, 0.5, 0);
    CHECK_NEAR(m.matched_strict, 0.0, 0);
    CHECK_NEAR(m.midpoint, 0.5, 0);
    CHECK_NEAR(m.auroc, 0.5, 0);
    CHECK_NEAR(m.relative_surprise, 0.0, 0);
    CHECK_NEAR(m.best_accuracy, 0.5, 0);
    CHECK_NEAR(m.permutation_p, 1.0, 1e-12);
    CHECK_NEAR(m.chance_p, 1.0, 0);
    CHECK(isnan(m.t));
}

TEST(sums_decide_not_clips_and_signs_do_not_confuse)
{
    // 0 + 10 against 6 + 6: right by the sum, two of four pairs.
    const double score[8] = {0, 10, 6, 6, -4, -4, -1, -1};
    const plumb_surprise_metrics m = judge(score, 2);
    CHECK_NEAR(m.accuracy, 1.0, 0);
    CHECK_NEAR(m.pairwise, (2 + 4) / 8.0, 0);
    CHECK_NEAR(m.relative_surprise, (2.0 / 22 + 6.0 / 10) / 2, 1e-15);
    CHECK_NEAR(m.difference, (1.0 + 3.0) / 2, 0);
}

TEST(thresholds_are_where_they_say)
{
    // Possible clips 0 .. 199, impossible ones 150 .. 349.
    double score[400];
    for (int i = 0; i < 100; i++) {
        score[4 * i] = 2 * i;
        score[4 * i + 1] = 2 * i + 1;
        score[4 * i + 2] = 150 + 2 * i;
        score[4 * i + 3] = 151 + 2 * i;
    }
    const plumb_surprise_metrics m = judge(score, 100);
    CHECK_NEAR(m.threshold, 160.0, 0); // 5 % of the impossible ones are below
    CHECK_NEAR(m.type1, 0.05, 0);
    CHECK_NEAR(m.type2, 0.2, 0); // 160 .. 199
    CHECK_NEAR(m.threshold_90, 180.0, 0);
    CHECK_NEAR(m.accuracy_90, (180 + 169) / 400.0, 0);
    CHECK_NEAR(m.best_accuracy, 0.875, 0);
    CHECK_NEAR(m.auroc, 1.0 - 0.5 * 50 * 50 / 40000.0, 1e-15);
    CHECK(m.auroc_ci.low < m.auroc && m.auroc < m.auroc_ci.high);
}

TEST(intervals_cover_as_often_as_they_say)
{
    // 100 sets of 60 tuples, each right with probability 0.7; the fixed seed makes it repeatable.
    rng r = rng_at(4, 0);
    int covered = 0, wilson = 0;
    for (int set = 0; set < 100; set++) {
        double score[240];
        for (int i = 0; i < 60; i++) {
            const bool right = rng_uniform(&r) < 0.7;
            for (int j = 0; j < 4; j++) score[4 * i + j] = (j >= 2) == right ? 1.0 : 0.0;
        }
        const plumb_surprise_metrics m = judge(score, 60);
        covered += m.accuracy_ci.low <= 0.7 && 0.7 <= m.accuracy_ci.high;
        wilson += m.accuracy_wilson.low <= 0.7 && 0.7 <= m.accuracy_wilson.high;
    }
    CHECK(covered >= 88 && covered <= 100);
    CHECK(wilson >= 88 && wilson <= 100);
}

TEST(permutations_by_the_normal_law_are_near_the_exact_ones)
{
    enum { MOST = 201 }; // beyond 200 tuples the normal law is used
    double *score = calloc(4 * MOST, sizeof *score);
    rng r = rng_at(9, 0);
    for (int i = 0; i < 4 * MOST; i++) score[i] = rng_normal(&r) + (i % 4 >= 2 ? 0.15 : 0.0);
    const double exact = judge(score, 200).permutation_p, normal = judge(score, MOST).permutation_p;
    CHECK(exact > 0.001 && exact < 0.5);
    CHECK_NEAR(normal, exact, 0.03);
    free(score);
}

TEST(mcnemar_looks_only_at_where_scorers_differ)
{
    double a[48] = {0}, b[48] = {0};
    for (int i = 0; i < 12; i++) {
        a[4 * i + 2] = i < 10 ? 1.0 : -1.0; // right in 0 .. 9
        b[4 * i + 2] = i >= 9 ? 1.0 : -1.0; // right in 9 .. 11
    }
    const plumb_surprise_comparison p = tuple_metrics_compare(a, b, 12);
    CHECK_EQUAL(p.first_only, 9);
    CHECK_EQUAL(p.second_only, 2);
    CHECK_NEAR(p.p, 2.0 * (55 + 11 + 1) / 2048, 1e-15);
    CHECK_NEAR(tuple_metrics_compare(a, a, 12).p, 1.0, 0);
}
