// SPDX-License-Identifier: MIT
// What predictors that never move score: frames of two pixels, whose errors are known.
#include <math.h>
#include <stdlib.h>

#include "plumb/forecast.h"
#include "support/test.h"

enum { N = 3, T = 40, SPLIT = 10 };

// (N, T, 1, 2, 1): a bright pixel that moves by `swing` about 1, and one at rest.
static double *swinging(double swing)
{
    double *x = calloc(N * T * 2, sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < N * T; i++) {
        x[2 * i] = 1 + swing * (i % 2 ? 1 : -1);
        x[2 * i + 1] = 1;
    }
    return x;
}

static plumb_array view(double *x)
{
    return plumb_array_view(x, PLUMB_FLOAT64, 5, (int64_t[]){N, T, 1, 2, 1});
}

static plumb_forecast_options options(void)
{
    plumb_forecast_options opt = plumb_forecast_defaults();
    opt.split = SPLIT;
    opt.average = PLUMB_FORECAST_AVERAGE_MEAN;
    return opt;
}

TEST(a_world_that_hardly_moves_gives_a_still_picture_all_frames)
{
    // Relative error of the mean frame: 0.01 / 2.01 or 2.21, below the threshold 0.025.
    double *x = swinging(0.1);
    const plumb_array truth = view(x);
    const plumb_forecast_options opt = options();
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &truth, &truth, &truth, NULL, &opt));
    const double error = 0.5 * (0.01 / (0.81 + 1) + 0.01 / (1.21 + 1));
    for (int i = 0; i < 2; i++) {
        const plumb_forecast_direction *d = i ? &f.backward : &f.forward;
        CHECK_NEAR(d->mean_frame.vpt, T - SPLIT, 0.0);
        CHECK_NEAR(d->mean_frame.error, error, 1e-12);
        // Half of the smaller error; a perfect prediction passes it, the picture does not.
        CHECK_NEAR(d->still_threshold, 0.5 * error, 1e-12);
        CHECK_NEAR(d->vpt_above_still, T - SPLIT, 0.0);
        // Every other frame is the copied one. Forward it is bright, and the others are dim;
        // backward it is the other way round.
        CHECK_NEAR(d->last_frame.error, 0.5 * 0.04 / (i ? 1.21 + 1 : 0.81 + 1), 1e-12);
        CHECK_NEAR(d->last_frame.vpt, T - SPLIT, 0.0);
    }
    CHECK_NEAR(f.mean_frame.vpt, T - SPLIT, 0.0);
    plumb_forecast_clear(&f);
    // The mean frame as the prediction: VPT all, above still nothing.
    double *still = calloc(N * T * 2, sizeof *still);
    assert_non_null(still);
    for (int i = 0; i < N * T * 2; i++) still[i] = 1;
    const plumb_array prediction = view(still);
    CHECK_OK(plumb_forecast_measure(&f, &prediction, NULL, &truth, NULL, &opt));
    CHECK_NEAR(f.vpt, T - SPLIT, 0.0);
    CHECK_NEAR(f.vpt_above_still, 0.0, 0.0);
    plumb_forecast_clear(&f);
    free(still);
    free(x);
}

TEST(a_world_that_moves_gives_a_still_picture_nothing_and_keeps_the_threshold)
{
    double *x = swinging(0.9);
    const plumb_array truth = view(x);
    const plumb_forecast_options opt = options();
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &truth, NULL, &truth, NULL, &opt));
    CHECK_NEAR(f.mean_frame.vpt, 0.0, 0.0);
    CHECK_NEAR(f.last_frame.vpt, 0.0, 0.0);
    CHECK_NEAR(f.forward.still_threshold, 0.025, 0.0);
    CHECK_NEAR(f.vpt_above_still, f.vpt, 0.0);
    plumb_forecast_clear(&f);
    free(x);
}

TEST(without_a_frame_before_there_is_no_copy)
{
    double *x = swinging(0.1);
    const plumb_array truth = view(x);
    plumb_forecast_options opt = options();
    opt.split = 0;
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &truth, &truth, &truth, NULL, &opt));
    CHECK(isnan(f.forward.last_frame.vpt) && isnan(f.backward.last_frame.vpt));
    CHECK_NEAR(f.forward.mean_frame.vpt, T, 0.0);
    CHECK(f.forward.still_threshold > 0 && f.forward.still_threshold < 0.025);
    plumb_forecast_clear(&f);
    free(x);
}

TEST(both_averages_are_there_whichever_is_asked_for)
{
    double *x = swinging(0.5), *y = swinging(0.5);
    // Frame SPLIT + 3 i of trajectory i is wrong: VPTs 0, 3 and 6; then 0, 3 and 30.
    for (int i = 0; i < N; i++) y[2 * (i * T + SPLIT + 3 * i)] += 1;
    y[2 * (2 * T + SPLIT + 6)] -= 1;
    const plumb_array truth = view(x), prediction = view(y);
    plumb_forecast_options opt = options();
    for (int i = 0; i < 2; i++) {
        opt.average = i ? PLUMB_FORECAST_AVERAGE_MEAN : PLUMB_FORECAST_AVERAGE_MEDIAN;
        plumb_forecast f;
        CHECK_OK(plumb_forecast_measure(&f, &prediction, NULL, &truth, NULL, &opt));
        CHECK_NEAR(f.vpt_mean, 11.0, 1e-12);
        CHECK_NEAR(f.vpt_median, 3.0, 0.0);
        CHECK_NEAR(f.vpt, i ? 11.0 : 3.0, 1e-12);
        plumb_forecast_clear(&f);
    }
    free(x);
    free(y);
}
