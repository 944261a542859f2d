// SPDX-License-Identifier: MIT
#include "math/stats.h"

#include <time.h>

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

TEST(nan_and_no_numbers_give_nan_but_infinity_is_a_number)
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
        double x[N];
        plumb_interval ci;
        for (int i = 0; i < N; i++) x[i] = 2.0 + rng_normal(&r);
        CHECK_OK(
            stats_bootstrap_mean(&ci, &mem, x, &(bootstrap_options){N, 500, 1, (uint64_t)trial}));
        CHECK(ci.low < ci.high);
        covered += ci.low <= 2.0 && 2.0 <= ci.high;
    }
    // 95 % in the limit; with 50 items the percentile interval is known to be a little short.
    CHECK(covered >= 0.91 * TRIALS && covered <= 0.98 * TRIALS);
    arena_clear(&mem);
}

TEST(bootstrap_interval_has_the_width_of_the_standard_error)
{
    arena mem = {0};
    enum { N = 1000 };
    plumb_interval ci;
    double x[N], variance = 0.0;
    rng r = rng_at(4, 0);
    for (int i = 0; i < N; i++) x[i] = rng_normal(&r);
    const double mean = stats_mean(x, N);
    for (int i = 0; i < N; i++) variance += (x[i] - mean) * (x[i] - mean) / N;
    CHECK_OK(stats_bootstrap_mean(&ci, &mem, x, &(bootstrap_options){N, 20000, 1, 0}));
    const double half = 1.96 * sqrt(variance / N);
    CHECK_NEAR(ci.low, mean - half, 0.03 * half);
    CHECK_NEAR(ci.high, mean + half, 0.03 * half);
    arena_clear(&mem);
}

TEST(bootstrap_is_a_function_of_seed_and_stream)
{
    arena mem = {0};
    double x[20];
    plumb_interval a, b, c, d;
    rng r = rng_at(5, 0);
    for (int i = 0; i < 20; i++) x[i] = rng_normal(&r);
    CHECK_OK(stats_bootstrap_mean(&a, &mem, x, &(bootstrap_options){20, 300, 1, 0}));
    CHECK_OK(stats_bootstrap_mean(&b, &mem, x, &(bootstrap_options){20, 300, 1, 0}));
    CHECK_OK(stats_bootstrap_mean(&c, &mem, x, &(bootstrap_options){20, 300, 2, 0}));
    CHECK_OK(stats_bootstrap_mean(&d, &mem, x, &(bootstrap_options){20, 300, 1, 1}));
    CHECK(a.low == b.low && a.high == b.high);
    CHECK(a.low != c.low && a.low != d.low);
    arena_clear(&mem);
}

TEST(bootstrap_of_too_few_items_is_nan)
{
    arena mem = {0};
    plumb_interval ci = {0.0, 0.0};
    CHECK_OK(stats_bootstrap_mean(&ci, &mem, (double[]){1.0}, &(bootstrap_options){1, 100, 1, 0}));
    CHECK(isnan(ci.low) && isnan(ci.high));
    ci.low = ci.high = 0.0;
    CHECK_OK(
        stats_bootstrap_mean(&ci, &mem, (double[]){1.0, 2.0}, &(bootstrap_options){2, 0, 1, 0}));
    CHECK(isnan(ci.low) && isnan(ci.high));
    CHECK_OK(
        stats_bootstrap_mean(&ci, &mem, (double[]){1.0, NAN}, &(bootstrap_options){2, 100, 1, 0}));
    CHECK(isnan(ci.low) && isnan(ci.high));
    arena_clear(&mem);
}

TEST(bootstrap_is_cheap)
{
    arena mem = {0};
    double x[100];
    plumb_interval ci;
    for (int i = 0; i < 100; i++) x[i] = i;
    const clock_t start = clock(); // of the processor: the machine may be busy
    CHECK_OK(stats_bootstrap_mean(&ci, &mem, x, &(bootstrap_options){100, 10000, 1, 0}));
    CHECK(clock() - start < CLOCKS_PER_SEC);
    arena_clear(&mem);
}

TEST(the_95_percent_interval_is_a_pair_of_quantiles)
{
    double x[41], y[41];
    for (int i = 0; i < 41; i++) x[i] = y[i] = (i * 17) % 41;
    const plumb_interval middle = stats_interval_95(x, 41);
    CHECK(middle.low == stats_quantile(y, 41, 0.025));
    CHECK(middle.high == stats_quantile(y, 41, 0.975));
    CHECK(middle.low == 1.0 && middle.high == 39.0);
    CHECK(isnan(stats_interval_95(x, 0).low));
    CHECK(isnan(stats_interval_95((double[]){1.0, NAN}, 2).high));
}
