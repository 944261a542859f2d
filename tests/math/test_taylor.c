// SPDX-License-Identifier: MIT
#include "math/taylor.h"

#include "support/test.h"

// x' = y, y' = -x
static void circle_series(double (*x)[TAYLOR_TERMS], const void *system)
{
    (void)system;
    for (int n = 0; n < TAYLOR_ORDER; n++) {
        x[0][n + 1] = x[1][n] / (n + 1);
        x[1][n + 1] = -x[0][n] / (n + 1);
    }
}

// x' = x^2: 1 / (1 - t) from 1
static void blow_up(double (*x)[TAYLOR_TERMS], const void *system)
{
    (void)system;
    for (int n = 0; n < TAYLOR_ORDER; n++) x[0][n + 1] = taylor_product(x[0], x[0], n) / (n + 1);
}

// x' = sin x: tan(x / 2) = e^t tan(x0 / 2)
static void sine_series(double (*x)[TAYLOR_TERMS], const void *system)
{
    (void)system;
    double s[TAYLOR_TERMS] = {sin(x[0][0])}, c[TAYLOR_TERMS] = {cos(x[0][0])};
    double d[TAYLOR_TERMS];
    for (int n = 0; n < TAYLOR_ORDER; n++) {
        if (n > 0) taylor_sincos(s, c, d, n);
        d[n] = s[n];
        x[0][n + 1] = d[n] / (n + 1);
    }
}

TEST(a_thousand_turns_of_the_circle)
{
    const double start[2] = {1.0, 0.0};
    taylor_solution solution;
    taylor_start(&solution, circle_series, NULL, 2, start, false, false);
    for (int i = 0; i <= 6283; i++) {
        double x[2];
        taylor_evaluate(x, &solution, (double)i);
        CHECK_NEAR(x[0], cos((double)i), 2e-14);
        CHECK_NEAR(x[1], -sin((double)i), 2e-14);
    }
}

// x' = y, y' = -x, z' = x from a million: what rounding takes from z must come back
static void large_sum_series(double (*x)[TAYLOR_TERMS], const void *system)
{
    circle_series(x, system);
    for (int n = 0; n < TAYLOR_ORDER; n++) x[2][n + 1] = x[0][n] / (n + 1);
}

TEST(rounding_does_not_add_up)
{
    const double start[3] = {1.0, 0.0, 1e6};
    taylor_solution solution;
    taylor_start(&solution, large_sum_series, NULL, 3, start, false, false);
    for (int i = 0; i <= 6283; i++) {
        double x[3];
        taylor_evaluate(x, &solution, (double)i);
        CHECK_NEAR(x[2], 1e6 + sin((double)i), 1.2e-10); // one rounding
    }
}

TEST(backward_integration_is_as_accurate)
{
    const double start[2] = {1.0, 0.0};
    taylor_solution solution;
    taylor_start(&solution, circle_series, NULL, 2, start, true, false);
    double x[2];
    taylor_evaluate(x, &solution, -100.0);
    CHECK_NEAR(x[0], cos(100.0), 4e-15);
    CHECK_NEAR(x[1], sin(100.0), 4e-15);
}

TEST(steps_shrink_before_a_pole)
{
    const double start = 1.0;
    taylor_solution solution;
    taylor_start(&solution, blow_up, NULL, 1, &start, false, true);
    double x;
    taylor_evaluate(&x, &solution, 0.5);
    CHECK_NEAR(x, 2.0, 1e-15);
    taylor_evaluate(&x, &solution, 0.999);
    CHECK_NEAR(x, 1000.0, 1e-9); // a relative error e at t = 0 is 1000 e here
}

TEST(sines_of_series)
{
    const double start = 0.1;
    taylor_solution solution;
    taylor_start(&solution, sine_series, NULL, 1, &start, false, false);
    for (int k = 0; k < 40; k++) {
        const double t = 0.3 * k;
        double x;
        taylor_evaluate(&x, &solution, t);
        CHECK_NEAR(x, 2.0 * atan(exp(t) * tan(0.05)), 4e-15);
    }
}

TEST(the_state_does_not_depend_on_the_times_requested_before)
{
    const double start[2] = {1.0, 0.5};
    taylor_solution once, often;
    taylor_start(&once, circle_series, NULL, 2, start, false, false);
    taylor_start(&often, circle_series, NULL, 2, start, false, false);
    double a[2], b[2];
    for (int i = 0; i <= 1000; i++) taylor_evaluate(b, &often, 0.05 * i);
    taylor_evaluate(a, &once, 0.05 * 1000);
    CHECK(a[0] == b[0] && a[1] == b[1]);
}

TEST(a_state_at_rest_stays_and_nan_does_not_hang)
{
    const double rest[2] = {0.0, 0.0}, none[2] = {(double)NAN, 1.0};
    taylor_solution solution;
    double x[2];
    taylor_start(&solution, circle_series, NULL, 2, rest, false, false);
    taylor_evaluate(x, &solution, 1e6);
    CHECK(x[0] == 0.0 && x[1] == 0.0);
    taylor_start(&solution, circle_series, NULL, 2, none, false, false);
    taylor_evaluate(x, &solution, 1e6);
    CHECK(isnan(x[0]));
}
