// SPDX-License-Identifier: MIT
#include "math/stats.h"

#include "base/clock.h"
#include "math/rng.h"
#include "support/test.h"

TEST(mean_median_and_quantiles_of_a_few)
{
    double x[5] = {9.0, 1.0, 4.0, 2.0, 3.0};
    CHECK_NEAR(stats_mean(x, 5), 3.8, 1e-15);
    CHECK_NEAR(stats_median(x, 5), 3.0, 0.0);
    CHECK_NEAR(stats_median((double[]){4.0, 1.0, 2.0, 9.0}, 4), 3.0, 0.0);
    CHECK_NEAR(stats_median((double[]){7.0}, 1), 7.0, 0.0);
    CHECK_NEAR(stats_quantile(x, 5, 0.0), 1.0, 0.0);
    CHECK_NEAR(stats_quantile(x, 5, 1.0), 9.0, 0.0);
    CHECK_NEAR(stats_quantile(x, 5, 0.25), 2.0, 0.0);
    CHECK_NEAR(stats_quantile(x, 5, 0.9), 7.0, 1e-14); // numpy.quantile
    CHECK_NEAR(stats_quantile((double[]){7.0}, 1, 0.3), 7.0, 0.0);
}

TEST(nan_and_nothing_give_nan_but_infinity_is_a_number)
{
    CHECK(isnan(stats_median((double[]){1.0, NAN, 3.0}, 3)));
    CHECK(isnan(stats_quantile((double[]){NAN, 1.0}, 2, 0.5)));
    CHECK(isnan(stats_median(NULL, 0)) && isnan(stats_mean(NULL, 0)));
    CHECK(isnan(stats_quantile(NULL, 0, 0.5)));
    CHECK_NEAR(stats_median((double[]){1.0, INFINITY, 3.0}, 3), 3.0, 0.0);
    CHECK_NEAR(stats_quantile((double[]){1.0, INFINITY, INFINITY}, 3, 0.9), INFINITY, 0.0);
    CHECK_NEAR(stats_quantile((double[]){1.0, INFINITY}, 2, 0.0), 1.0, 0.0);
}

TEST(bootstrap_of_a_mean_covers_the_truth_as_often_as_it_says)
{
    arena mem = {0};
    rng r = rng_at(3, 0);
    int covered = 0;
    enum { TRIALS = 400, N = 50 };
    for (int trial = 0; trial < TRIALS; trial++) {
        double x[N], low, high;
        for (int i = 0; i < N; i++) x[i] = 2.0 + rng_normal(&r);
        CHECK_OK(stats_bootstrap_mean(&low, &high, &mem, x, N, 500, 1, (uint64_t)trial));
        CHECK(low < high);
        covered += low <= 2.0 && 2.0 <= high;
    }
    // 95 % in the limit; with 50 items the percentile interval is known to be a little short.
    CHECK(covered >= 0.91 * TRIALS && covered <= 0.98 * TRIALS);
    arena_clear(&mem);
}

TEST(bootstrap_interval_has_the_width_of_the_standard_error)
{
    arena mem = {0};
    enum { N = 1000 };
    double x[N], low, high, variance = 0.0;
    rng r = rng_at(4, 0);
    for (int i = 0; i < N; i++) x[i] = rng_normal(&r);
    const double mean = stats_mean(x, N);
    for (int i = 0; i < N; i++) variance += (x[i] - mean) * (x[i] - mean) / N;
    CHECK_OK(stats_bootstrap_mean(&low, &high, &mem, x, N, 20000, 1, 0));
    const double half = 1.96 * sqrt(variance / N);
    CHECK_NEAR(low, mean - half, 0.03 * half);
    CHECK_NEAR(high, mean + half, 0.03 * half);
    arena_clear(&mem);
}

TEST(bootstrap_repeats_itself_and_heeds_seed_and_stream)
{
    arena mem = {0};
    double x[20], a[2], b[2], c[2], d[2];
    rng r = rng_at(5, 0);
    for (int i = 0; i < 20; i++) x[i] = rng_normal(&r);
    CHECK_OK(stats_bootstrap_mean(&a[0], &a[1], &mem, x, 20, 300, 1, 0));
    CHECK_OK(stats_bootstrap_mean(&b[0], &b[1], &mem, x, 20, 300, 1, 0));
    CHECK_OK(stats_bootstrap_mean(&c[0], &c[1], &mem, x, 20, 300, 2, 0));
    CHECK_OK(stats_bootstrap_mean(&d[0], &d[1], &mem, x, 20, 300, 1, 1));
    CHECK(a[0] == b[0] && a[1] == b[1]);
    CHECK(a[0] != c[0] && a[0] != d[0]);
    arena_clear(&mem);
}

TEST(bootstrap_of_too_little_is_nan)
{
    arena mem = {0};
    double low = 0.0, high = 0.0;
    CHECK_OK(stats_bootstrap_mean(&low, &high, &mem, (double[]){1.0}, 1, 100, 1, 0));
    CHECK(isnan(low) && isnan(high));
    low = high = 0.0;
    CHECK_OK(stats_bootstrap_mean(&low, &high, &mem, (double[]){1.0, 2.0}, 2, 0, 1, 0));
    CHECK(isnan(low) && isnan(high));
    CHECK_OK(stats_bootstrap_mean(&low, &high, &mem, (double[]){1.0, NAN}, 2, 100, 1, 0));
    CHECK(isnan(low) && isnan(high));
    arena_clear(&mem);
}

TEST(bootstrap_is_cheap)
{
    arena mem = {0};
    double x[100], low, high;
    for (int i = 0; i < 100; i++) x[i] = i;
    const double start = clock_now();
    CHECK_OK(stats_bootstrap_mean(&low, &high, &mem, x, 100, 10000, 1, 0));
    CHECK(clock_now() - start < 1.0);
    arena_clear(&mem);
}
