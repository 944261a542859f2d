// SPDX-License-Identifier: MIT
#include "math/special.h"

#include "support/test.h"

static double relative_error(double got, double want)
{
    return fabs(got - want) / fabs(want);
}

TEST(incomplete_beta_has_its_closed_forms)
{
    for (int k = 0; k < 10; k++) {
        const double x = 0.05 + 0.1 * k;
        CHECK_NEAR(special_beta(x, 1 - x, 1, 1), x, 1e-15);
        CHECK_NEAR(special_beta(x, 1 - x, 7, 1), pow(x, 7), 1e-15);
        CHECK_NEAR(special_beta(x, 1 - x, 1, 9), 1 - pow(1 - x, 9), 1e-15);
        CHECK_NEAR(special_beta(x, 1 - x, 0.5, 0.5), 2 / M_PI * asin(sqrt(x)), 1e-14);
    }
    CHECK_NEAR(special_beta(0, 1, 3, 4), 0.0, 0);
    CHECK_NEAR(special_beta(1, 0, 3, 4), 1.0, 0);
}

TEST(incomplete_beta_keeps_its_digits_for_large_parameters)
{
    // Both halves of a symmetric one, and the two tails add up.
    CHECK_NEAR(special_beta(0.5, 0.5, 100000, 100000), 0.5, 1e-12);
    CHECK_NEAR(special_beta(0.025, 0.975, 50, 1951) + special_beta(0.975, 0.025, 1951, 50), 1.0,
               1e-12);
    // P(X >= 60) for 100 throws of a fair coin, and far out: 2^-1000.
    CHECK(relative_error(special_coin_tail(60, 100), 0.028443966820490395) < 1e-12);
    CHECK(relative_error(special_coin_tail(1000, 1000), ldexp(1.0, -1000)) < 1e-11);
    CHECK_NEAR(special_coin_tail(0, 10), 1.0, 0);
    CHECK_NEAR(special_coin_tail(4, 7), 0.5, 1e-15);
}

TEST(tails_are_those_of_the_tables)
{
    CHECK(relative_error(special_chi_square_tail(30.143527205646155, 19), 0.05) < 1e-12);
    CHECK(relative_error(special_chi_square_tail(2.0, 2), exp(-1.0)) < 1e-14);
    CHECK(relative_error(special_chi_square_tail(1000.0, 2), exp(-500.0)) < 1e-12);
    CHECK(relative_error(special_t_tail(2.0, 1), 0.5 - atan(2.0) / M_PI) < 1e-13);
    CHECK_NEAR(special_t_tail(-2.0, 1), 0.5 + atan(2.0) / M_PI, 1e-14);
    CHECK_NEAR(special_t_tail(0.0, 12), 0.5, 1e-15);
    CHECK(relative_error(special_normal_tail(1.959963984540054), 0.025) < 1e-12);
}

TEST(kolmogorov_law_is_one_law_from_both_sides)
{
    CHECK(relative_error(special_kolmogorov_tail(1.3580986393225505), 0.05) < 1e-8);
    const double below = special_kolmogorov_tail(nextafter(1.0, 0.0));
    CHECK_NEAR(below, special_kolmogorov_tail(1.0), 1e-14);
    CHECK_NEAR(special_kolmogorov_tail(0.0), 1.0, 0);
    CHECK(relative_error(special_kolmogorov_tail(15.0), 2 * exp(-450.0)) < 1e-12);
    CHECK(isnan(special_kolmogorov_tail((double)NAN)));
}
