// SPDX-License-Identifier: MIT
// Spearman's rank correlation against scipy.stats.spearmanr (SciPy 1.x, which averages ties), its p
// of few models against a count of all orders, and what is not defined is reported.
#include "measures/rank_correlation.h"

#include "support/test.h"

static rank_correlation over(const double *x, const double *y, int64_t n, double top)
{
    rank_correlation r;
    rank_correlation_options o = rank_correlation_defaults();
    o.top = top;
    CHECK_OK(rank_correlation_measure(&r, x, y, n, &o));
    return r;
}

TEST(the_correlation_is_that_of_scipy)
{
    const double x[] = {1.2, 3.4, 2.2, 9.1, 5.5, 4.1, 0.3}, y[] = {10, 30, 25, 70, 90, 40, 5};
    const rank_correlation r = over(x, y, 7, 1);
    CHECK_NEAR(r.rho, 0.9642857142857145, 1e-14);
    CHECK_NEAR(r.p, 14.0 / 5040.0, 1e-15); // Student: 0.00045
    CHECK_EQUAL(r.n, 7);
}

TEST(ties_share_their_mean_rank)
{
    const double x[] = {1, 2, 2, 3, 3, 3, 4, 5, 5, 6}, y[] = {2, 1, 4, 4, 4, 6, 5, 8, 8, 7};
    CHECK_NEAR(over(x, y, 10, 1).rho, 0.8840168827893525, 1e-14);
    CHECK_NEAR(over(x, y, 10, 1).p, 0.0006867426732525197, 1e-12);
    const double a[] = {0, 0, 0, 1, 1, 1, 1, 2}, b[] = {5, 5, 3, 3, 9, 9, 9, 1};
    CHECK_NEAR(over(a, b, 8, 1).rho, -0.047366546671567096, 1e-14);
    CHECK_NEAR(over(a, b, 8, 1).p, 38160.0 / 40320.0, 1e-15); // Student: 0.911
}

TEST(the_best_are_those_with_the_greatest_outcome_and_their_equals)
{
    const double x[] = {1, 2, 2, 3, 3, 3, 4, 5, 5, 6}, y[] = {2, 1, 4, 4, 4, 6, 5, 8, 8, 7};
    const rank_correlation half = over(x, y, 10, 0.5), more = over(x, y, 10, 0.6);
    CHECK_NEAR(half.rho, 0.5789473684210528, 1e-14);
    CHECK_EQUAL(half.n, 5);
    CHECK_EQUAL(more.n, 8); // three models have a 4
}

TEST(order_alone_counts)
{
    const double x[] = {5, 4, 3, 2, 1}, y[] = {1, 2, 3, 4, 1e300};
    CHECK_NEAR(over(x, y, 5, 1).rho, -1.0, 1e-15);
    CHECK_NEAR(over(x, y, 5, 1).p, 2.0 / 120.0, 1e-15);
}

TEST(neither_shift_nor_unit_matters)
{
    static const double units[] = {1, 1e50, 1e-50, 1e300, 1e-300}, shifts[] = {0, 1e6, -1e6};
    const double x[] = {1.2, 3.4, 2.2, 9.1, 5.5, 4.1, 0.3}, y[] = {10, 30, 25, 70, 90, 40, 5};
    const rank_correlation plain = over(x, y, 7, 1), best = over(x, y, 7, 0.6);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++) {
            double a[7], b[7];
            for (int k = 0; k < 7; k++) {
                a[k] = (x[k] + shifts[j]) * units[i];
                b[k] = (y[k] - shifts[j]) * units[4 - i];
            }
            const rank_correlation r = over(a, b, 7, 1);
            CHECK_NEAR(r.rho, plain.rho, 0);
            CHECK_NEAR(r.p, plain.p, 0);
            CHECK_NEAR(r.rho_ci.low, plain.rho_ci.low, 0);
            CHECK_NEAR(r.rho_ci.high, plain.rho_ci.high, 0);
            CHECK_NEAR(over(a, b, 7, 0.6).rho, best.rho, 0);
        }
}

TEST(p_is_never_0)
{
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11};
    CHECK_NEAR(over(x, x, 3, 1).p, 1.0 / 3.0, 1e-15);
    const double swapped[] = {1, 3, 2};
    CHECK_NEAR(over(x, swapped, 3, 1).p, 1.0, 1e-15); // every order is as extreme
    for (int64_t n = 4; n <= 11; n++) {
        double orders = 1.0;
        for (int64_t i = 2; i <= n; i++) orders *= (double)i;
        CHECK_NEAR(over(x, x, n, 1).p, 2.0 / orders, 1e-12 / orders);
    }
    CHECK_NEAR(over(x, x, 12, 1).p, 4.0 / 479001600.0, 1e-20); // two are equal
}

TEST(the_interval_is_that_of_a_bootstrap_and_repeats)
{
    enum { N = 40 };
    double x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = sin(1.7 * i) + 0.05 * i;
        y[i] = round(10 * (x[i] + 0.8 * cos(2.3 * i))) / 10;
    }
    const rank_correlation r = over(x, y, N, 1), again = over(x, y, N, 1);
    CHECK_NEAR(r.rho, 0.8417300678011052, 1e-12);
    // SciPy and NumPy, 4000 resamples: 0.715 to 0.902
    CHECK_NEAR(r.rho_ci.low, 0.715, 0.02);
    CHECK_NEAR(r.rho_ci.high, 0.902, 0.01);
    CHECK_NEAR(r.rho_ci.low, again.rho_ci.low, 0);
}

TEST(models_without_a_number_are_left_out)
{
    const double x[] = {1, NAN, 2, 3, 7}, y[] = {1, 5, 2, 3, INFINITY};
    const rank_correlation r = over(x, y, 5, 1);
    CHECK_EQUAL(r.n, 3);
    CHECK_NEAR(r.rho, 1.0, 1e-15);
}

TEST(what_is_not_defined_is_said)
{
    rank_correlation r;
    rank_correlation_options o = rank_correlation_defaults();
    const double x[] = {1, 2, 3}, same[] = {4, 4, 4};
    CHECK_FAILS(rank_correlation_measure(&r, x, same, 3, &o), PLUMB_ENUMERIC, "the same for all 3");
    CHECK_FAILS(rank_correlation_measure(&r, x, x, 2, &o), PLUMB_ENUMERIC, "at least 3");
    o.top = 0;
    CHECK_FAILS(rank_correlation_measure(&r, x, x, 3, &o), PLUMB_EVALUE, "top");
}
