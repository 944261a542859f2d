// SPDX-License-Identifier: MIT
// Predicted states with planted errors, and what is refused. tests/cli/test_forecast_states.py
// compares every number with NumPy's.
#include "plumb/state_forecast.h"

#include <stdlib.h>

#include "support/test.h"

enum { N = 6, STEPS = 10 };

// x = 0 .. 9 in one column; the prediction is late by `late` steps in one trajectory.
static void make_line(double *truth, double *prediction, double late)
{
    for (int i = 0; i < N; i++)
        for (int t = 0; t < STEPS; t++) {
            truth[i * STEPS + t] = t;
            prediction[i * STEPS + t] = t - (i == 2 ? late : 0.0);
        }
}

TEST(a_planted_error_has_the_known_size)
{
    double truth[N * STEPS], prediction[N * STEPS];
    make_line(truth, prediction, 2.0);
    const int64_t shape[] = {N, STEPS, 1};
    const plumb_array x = plumb_array_view(truth, PLUMB_FLOAT64, 3, shape);
    const plumb_array p = plumb_array_view(prediction, PLUMB_FLOAT64, 3, shape);
    const plumb_state_forecast_input in = {.size = sizeof in, .prediction = &p, .truth = &x};
    plumb_state_forecast result;
    CHECK_OK(plumb_state_forecast_measure(&result, &in, NULL));
    // Squares of 2 in one of six; the variance of 0 .. 9 is 8.25.
    CHECK_NEAR(result.mse.value, 4.0 / 6.0, 1e-15);
    CHECK_NEAR(result.rmse.value, sqrt(4.0 / 6.0), 1e-15);
    CHECK_NEAR(result.vrmse.value, sqrt(4.0 / 6.0 / 8.25), 1e-15);
    // An error of 2 / sqrt(8.25) = 0.696 deviations is above 0.5 at once.
    CHECK_NEAR(result.vpt.value, 50.0 / 6.0, 1e-14);
    CHECK_NEAR(result.vpt_per_trajectory[2], 0.0, 0);
    CHECK_NEAR(result.errors[2 * STEPS], 2.0 / sqrt(8.25), 1e-15);
    // Lines are predicted by a line.
    CHECK_NEAR(result.linear.vrmse, 0.0, 1e-15);
    CHECK_NEAR(result.linear.vpt, STEPS, 0);
    CHECK_NEAR(result.mean.vrmse, 1.0, 1e-15);
    plumb_state_forecast_clear(&result);
}

TEST(wrong_arguments_are_refused)
{
    double truth[N * STEPS], prediction[N * STEPS];
    make_line(truth, prediction, 0.0);
    const int64_t shape[] = {N, STEPS, 1};
    const plumb_array x = plumb_array_view(truth, PLUMB_FLOAT64, 3, shape);
    const plumb_array p = plumb_array_view(prediction, PLUMB_FLOAT64, 3, shape);
    plumb_state_forecast_input in = {.size = sizeof in, .prediction = &p};
    plumb_state_forecast result = {0};
    CHECK_FAILS(plumb_state_forecast_measure(&result, &in, NULL), PLUMB_EVALUE, "truth is NULL");
    CHECK_FAILS(plumb_state_forecast_measure(NULL, &in, NULL), PLUMB_EVALUE, "out is NULL");
    CHECK_FAILS(plumb_state_forecast_measure(&result, NULL, NULL), PLUMB_EVALUE, "input is NULL");
    in.truth = &x;
    plumb_state_forecast_options opt = plumb_state_forecast_defaults();
    opt.samples_axis = 1;
    CHECK_FAILS(plumb_state_forecast_measure(&result, &in, &opt), PLUMB_ESHAPE, "axis of samples");
    opt = plumb_state_forecast_defaults();
    opt.deviations = -1.0;
    CHECK_FAILS(plumb_state_forecast_measure(&result, &in, &opt), PLUMB_EVALUE, "deviations");
    CHECK(!result.memory);
    plumb_state_forecast_clear(NULL);
    plumb_state_forecast_record(NULL, &result, NULL);
}
