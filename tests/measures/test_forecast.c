// SPDX-License-Identifier: MIT
// Predictions with planted errors: y = (1 + s) x has the frame error s^2 for every image.
#include "plumb/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "measures/forecast/pixels.h"
#include "measures/forecast/protocol.h"
#include "support/test.h"

enum { H = 3, W = 4, C = 2, PIXELS = H * W * C };

static plumb_array video(double *data, int64_t n, int64_t steps)
{
    return plumb_array_view(data, PLUMB_FLOAT64, 5, (int64_t[]){n, steps, H, W, C});
}

static double *bright(int64_t n, int64_t steps)
{
    double *x = malloc((size_t)(n * steps * PIXELS) * sizeof *x);
    assert_non_null(x);
    rng r = rng_at(11, 0);
    for (int64_t i = 0; i < n * steps * PIXELS; i++) x[i] = 0.2 + 0.8 * rng_uniform(&r);
    return x;
}

static double *copy_of(const double *x, int64_t n, int64_t steps)
{
    double *y = malloc((size_t)(n * steps * PIXELS) * sizeof *y);
    assert_non_null(y);
    memcpy(y, x, (size_t)(n * steps * PIXELS) * sizeof *y);
    return y;
}

static void scale_frame(double *x, int64_t steps, int64_t trajectory, int64_t frame, double factor)
{
    double *pixel = x + (trajectory * steps + frame) * PIXELS;
    for (int i = 0; i < PIXELS; i++) pixel[i] *= factor;
}

TEST(a_perfect_prediction_lasts_to_the_end_with_no_error)
{
    double *x = bright(2, 130);
    const plumb_array truth = video(x, 2, 130);
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &truth, &truth, &truth, NULL, NULL));
    CHECK_NEAR(f.forward.rec.published, 0.0, 0.0);
    CHECK_NEAR(f.forward.ext.published, 0.0, 0.0);
    CHECK_NEAR(f.backward.full.relative, 0.0, 0.0);
    CHECK_NEAR(f.forward.vpt, 70.0, 0.0);
    CHECK_NEAR(f.backward.vpt, 70.0, 0.0);
    CHECK_NEAR(f.vpt, 70.0, 0.0);
    CHECK_NEAR(f.vpt_relative, 1.0, 0.0);
    CHECK_NEAR(f.vpt_ci.low, 70.0, 0.0);
    CHECK_NEAR(f.vpt_per_trajectory[1], 70.0, 0.0);
    CHECK_EQUAL(f.forward.length, 70);
    CHECK_EQUAL(f.trajectories, 2);
    CHECK(!f.forward.rec.why && !f.forward.black);
    plumb_forecast_clear(&f);
    free(x);
}

TEST(an_error_planted_at_frame_k_ends_the_vpt_at_k)
{
    enum { N = 4, T = 100 };
    double *x = bright(N, T), *y = copy_of(x, N, T), *z = copy_of(x, N, T);
    const int64_t k[N] = {0, 1, 17, 39};
    for (int i = 0; i < N; i++) {
        scale_frame(y, T, i, 60 + k[i], 1.0 + 0.16); // 0.0256
        scale_frame(z, T, i, 39 - k[i], 1.0 + 0.16); // the same way from the last 60 frames
    }
    const plumb_array truth = video(x, N, T), ahead = video(y, N, T), back = video(z, N, T);
    plumb_forecast f;
    plumb_forecast_options opt = plumb_forecast_defaults();
    CHECK_OK(plumb_forecast_measure(&f, &ahead, &back, &truth, NULL, &opt));
    for (int i = 0; i < N; i++) {
        CHECK_NEAR(f.forward.vpt_per_trajectory[i], (double)k[i], 0.0);
        CHECK_NEAR(f.backward.vpt_per_trajectory[i], (double)k[i], 0.0);
    }
    CHECK_NEAR(f.forward.vpt, 9.0, 0.0); // median of one batch of four
    CHECK_NEAR(f.forward.rec.relative, 0.0, 0.0);
    CHECK_NEAR(f.forward.ext.relative, 0.0256 / 40.0, 1e-15);
    CHECK_NEAR(f.forward.ext.published, 0.0256 / 40.0 / PIXELS, 1e-17);
    CHECK_NEAR(f.forward.full.relative, 0.0256 / 100.0, 1e-15);
    // Published, counted from frame 0: 39 - k.
    CHECK_NEAR(f.backward.vpt_published, (39.0 + 38.0 + 22.0 + 0.0 - 39.0) / 2.0, 0.0);
    plumb_forecast_clear(&f);

    opt.backward_count = PLUMB_FORECAST_VPT_ORIGIN_PUBLISHED;
    opt.average = PLUMB_FORECAST_AVERAGE_MEAN;
    CHECK_OK(plumb_forecast_measure(&f, &ahead, &back, &truth, NULL, &opt));
    for (int i = 0; i < N; i++)
        CHECK_NEAR(f.backward.vpt_per_trajectory[i], 39.0 - (double)k[i], 0.0);
    CHECK_NEAR(f.forward.vpt, 57.0 / 4.0, 0.0);
    CHECK_NEAR(f.backward.vpt, 39.0 - 57.0 / 4.0, 0.0);
    CHECK_NEAR(f.vpt, 39.0 / 2.0, 0.0);
    plumb_forecast_clear(&f);

    // Below a higher bar the error does not count, and one in the rec part never does.
    opt.threshold = 0.0257;
    scale_frame(y, T, 0, 59, 2.0);
    CHECK_OK(plumb_forecast_measure(&f, &ahead, NULL, &truth, NULL, &opt));
    CHECK_NEAR(f.vpt, 40.0, 0.0);
    CHECK_NEAR(f.forward.rec.relative, 1.0 / 60.0 / N, 1e-15);
    CHECK(!f.backward.measured);
    plumb_forecast_clear(&f);
    free(x), free(y), free(z);
}

TEST(the_threshold_itself_is_still_valid)
{
    const double errors[4] = {0.0, 0.025, NAN, 0.0250001};
    CHECK_EQUAL(forecast_protocol_valid_steps(errors, 4, 0.025, false), 3);
    CHECK_EQUAL(forecast_protocol_valid_steps(errors, 4, 0.025, true), 0);
    CHECK_EQUAL(forecast_protocol_valid_steps(errors, 3, 0.025, true), 3);
    CHECK_EQUAL(forecast_protocol_valid_steps((double[]){NAN, INFINITY}, 2, 0.025, false), 1);
    CHECK_EQUAL(forecast_protocol_valid_steps(NULL, 0, 0.025, false), 0);
}

static void check_window(forecast_window got, int64_t first, int64_t count)
{
    CHECK_EQUAL(got.first, first);
    CHECK_EQUAL(got.count, count);
}

static forecast_plan plan_of(plumb_forecast_protocol frames, int64_t steps, int64_t predicted,
                             bool backward)
{
    plumb_forecast_options opt = plumb_forecast_defaults();
    opt.frames = frames;
    forecast_plan plan;
    CHECK_OK(forecast_protocol_plan(&plan, &opt, steps, predicted, backward));
    return plan;
}

// With i = 5 and t = 60 and 150 frames, by hand.
TEST(every_protocol_has_its_windows)
{
    static const struct {
        plumb_forecast_protocol frames;
        int64_t skip, rec;
    } rows[] = {{PLUMB_FORECAST_PROTOCOL_PLAIN, 0, 60},
                {PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE, 4, 60},
                {PLUMB_FORECAST_PROTOCOL_NO_OVERLAP, 5, 60},
                {PLUMB_FORECAST_PROTOCOL_INCLUDE_INFERENCE, 0, 65},
                {PLUMB_FORECAST_PROTOCOL_AUTOREGRESSIVE, 1, 59}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t skip = rows[i].skip, rec = rows[i].rec;
        forecast_plan p = plan_of(rows[i].frames, 150, 150, false);
        CHECK_EQUAL(p.first, skip);
        CHECK_EQUAL(p.count, 150 - skip);
        CHECK_EQUAL(p.shift, 0);
        check_window(p.rec, 0, rec);
        check_window(p.ext, rec, 60);
        check_window(p.vpt, rec, 150 - skip - rec);

        p = plan_of(rows[i].frames, 150, 150, true);
        const int64_t beyond = 150 - skip - rec;
        CHECK_EQUAL(p.first, 0);
        CHECK_EQUAL(p.count, 150 - skip);
        CHECK_EQUAL(p.shift, 0);
        check_window(p.rec, beyond, rec);
        check_window(p.ext, beyond - 60, 60);
        check_window(p.vpt, 0, beyond);
    }
}

TEST(a_shorter_prediction_starts_where_the_targets_do)
{
    // Targets are truth frames 4 .. 149. A model that gives just those starts with frame 4.
    forecast_plan p = plan_of(PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE, 150, 146, false);
    CHECK_EQUAL(p.first + p.shift, 0);
    p = plan_of(PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE, 150, 148, false); // keeps the last
    CHECK_EQUAL(p.first + p.shift, 2);
    p = plan_of(PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE, 150, 148, true); // keeps the first
    CHECK_EQUAL(p.first + p.shift, 0);
    CHECK_EQUAL(p.count, 146);

    plumb_forecast_options opt = plumb_forecast_defaults();
    CHECK_FAILS(forecast_protocol_plan(&p, &opt, 150, 149, false), PLUMB_ESHAPE,
                "the prediction has 149 frames and the truth 150");
    opt.frames = PLUMB_FORECAST_PROTOCOL_NO_OVERLAP;
    CHECK_FAILS(forecast_protocol_plan(&p, &opt, 150, 144, true), PLUMB_ESHAPE, "need 145");
    CHECK_FAILS(forecast_protocol_plan(&p, &opt, 65, 65, false), PLUMB_ENUMERIC, "has 65 frames");
    CHECK_OK(forecast_protocol_plan(&p, &opt, 66, 66, false));
    check_window(p.vpt, 60, 1);
    check_window(p.ext, 60, 1);
}

TEST(the_extrapolation_of_the_mse_can_be_all_or_less)
{
    plumb_forecast_options opt = plumb_forecast_defaults();
    forecast_plan p;
    opt.split = 10;
    opt.extrapolate = 0;
    CHECK_OK(forecast_protocol_plan(&p, &opt, 100, 100, false));
    check_window(p.ext, 10, 90);
    opt.extrapolate = 7;
    CHECK_OK(forecast_protocol_plan(&p, &opt, 100, 100, true));
    check_window(p.ext, 83, 7);
    check_window(p.vpt, 0, 90);
    check_window(p.rec, 90, 10);
}

TEST(a_protocol_is_used_by_the_measure)
{
    // Two inference frames, ten targets: autoregressive targets are frames 1 .. 39, rec 1 .. 9.
    enum { N = 1, T = 40 };
    double *x = bright(N, T), *y = copy_of(x, N, T);
    scale_frame(y, T, 0, 0, 9.0);  // skipped
    scale_frame(y, T, 0, 9, 1.1);  // the last of rec
    scale_frame(y, T, 0, 12, 1.2); // third of extrapolation
    const plumb_array truth = video(x, N, T), ahead = video(y, N, T);
    plumb_forecast_options opt = plumb_forecast_defaults();
    opt.frames = PLUMB_FORECAST_PROTOCOL_AUTOREGRESSIVE;
    opt.inference = 2;
    opt.target = 10;
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &ahead, NULL, &truth, NULL, &opt));
    CHECK_NEAR(f.forward.rec.relative, 0.01 / 9.0, 1e-15);
    CHECK_NEAR(f.forward.ext.relative, 0.04 / 30.0, 1e-15);
    CHECK_EQUAL(f.forward.rec.first, 1);
    CHECK_EQUAL(f.forward.ext.first, 10);
    CHECK_EQUAL(f.forward.ext.frames, 30);
    CHECK_NEAR(f.vpt, 2.0, 0.0);
    CHECK(isnan(f.vpt_ci.low)); // one trajectory says nothing about others
    plumb_forecast_clear(&f);
    free(x), free(y);
}

TEST(a_model_may_be_scored_on_what_it_sees_alone)
{
    double *x = bright(1, 40);
    const plumb_array truth = video(x, 1, 40);
    plumb_forecast_options opt = plumb_forecast_defaults();
    opt.frames = PLUMB_FORECAST_PROTOCOL_INCLUDE_INFERENCE;
    opt.inference = 31;
    opt.target = 0;
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &truth, NULL, &truth, NULL, &opt));
    CHECK_EQUAL(f.forward.rec.frames, 31);
    CHECK_EQUAL(f.forward.ext.frames, 9);
    plumb_forecast_clear(&f);
    free(x);
}

TEST(medians_are_of_batches_and_a_small_last_batch_weighs_less)
{
    enum { N = 7, T = 80 };
    double *x = bright(N, T), *y = copy_of(x, N, T);
    const int64_t k[N] = {1, 2, 9, 3, 4, 10, 12};
    for (int i = 0; i < N; i++) scale_frame(y, T, i, 60 + k[i], 2.0);
    const plumb_array truth = video(x, N, T), ahead = video(y, N, T);
    plumb_forecast_options opt = plumb_forecast_defaults();
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &ahead, NULL, &truth, NULL, &opt));
    CHECK_NEAR(f.vpt, (5.0 * 3.0 + 2.0 * 11.0) / 7.0, 1e-14);
    CHECK(f.vpt_ci.low < f.vpt && f.vpt < f.vpt_ci.high);
    plumb_forecast_clear(&f);
    opt.batch = 0;
    CHECK_OK(plumb_forecast_measure(&f, &ahead, NULL, &truth, NULL, &opt));
    CHECK_NEAR(f.vpt, 4.0, 0.0);
    plumb_forecast_clear(&f);
    free(x), free(y);
}

static bool same_bits(const double *a, const double *b, int64_t n)
{
    return !memcmp(a, b, (size_t)n * sizeof *a);
}

TEST(the_number_of_threads_changes_no_bit)
{
    enum { N = 13, T = 90 };
    double *x = bright(N, T), *y = copy_of(x, N, T);
    rng r = rng_at(12, 0);
    for (int64_t i = 0; i < N * T * PIXELS; i++) y[i] += 0.12 * rng_normal(&r);
    const plumb_array truth = video(x, N, T), ahead = video(y, N, T);
    plumb_forecast_options opt = plumb_forecast_defaults();
    plumb_forecast one, many;
    opt.threads = 1;
    CHECK_OK(plumb_forecast_measure(&one, &ahead, &ahead, &truth, NULL, &opt));
    opt.threads = 7;
    CHECK_OK(plumb_forecast_measure(&many, &ahead, &ahead, &truth, NULL, &opt));
    CHECK(same_bits(one.forward.errors, many.forward.errors, N * T));
    CHECK(same_bits(one.vpt_per_trajectory, many.vpt_per_trajectory, N));
    CHECK(same_bits(&one.backward.ext.relative, &many.backward.ext.relative, 1));
    CHECK(same_bits(&one.forward.rec.ci.low, &many.forward.rec.ci.low, 2));
    CHECK(same_bits(&one.vpt_ci.low, &many.vpt_ci.low, 2));
    CHECK(one.forward.rec.ci.low < one.forward.rec.relative);
    CHECK(one.forward.rec.relative < one.forward.rec.ci.high);
    CHECK_TEXT(one.input_hash, many.input_hash);
    plumb_forecast_clear(&one);
    plumb_forecast_clear(&many);
    free(x), free(y);
}

TEST(a_frame_of_any_size_agrees_with_a_plain_sum)
{
    for (int64_t n = 1; n < 3000; n = 2 * n + 1) {
        double *x = bright(1, n / PIXELS + 1), *y = copy_of(x, 1, n / PIXELS + 1);
        for (int64_t i = 0; i < n; i++) y[i] *= 1.0 + 0.01 * (double)(i % 7);
        double error = 0.0, power = 0.0;
        for (int64_t i = 0; i < n; i++) error += (x[i] - y[i]) * (x[i] - y[i]);
        for (int64_t i = 0; i < n; i++) power += x[i] * x[i];
        const plumb_array a = plumb_array_view(x, PLUMB_FLOAT64, 1, &n);
        const plumb_array b = plumb_array_view(y, PLUMB_FLOAT64, 1, &n);
        bool black;
        const double got = pixels_error(&black, (pixels){&a, 1.0}, 0, (pixels){&b, 1.0}, 0, n);
        CHECK_NEAR(got, error / power, 1e-14 * error / power);
        CHECK(!black);
        free(x), free(y);
    }
}

TEST(bytes_and_fractions_of_255_are_the_same_picture)
{
    enum { T = 62 };
    uint8_t bytes[T * PIXELS];
    double parts[T * PIXELS];
    uint16_t words[T * PIXELS];
    int64_t wide[T * PIXELS];
    for (int i = 0; i < T * PIXELS; i++) {
        bytes[i] = (uint8_t)(i * 37 % 256);
        parts[i] = bytes[i] / 255.0;
        words[i] = (uint16_t)(bytes[i] * 257);
        wide[i] = bytes[i];
    }
    const int64_t shape[5] = {1, T, H, W, C};
    const plumb_array u1 = plumb_array_view(bytes, PLUMB_UINT8, 5, shape);
    const plumb_array f8 = plumb_array_view(parts, PLUMB_FLOAT64, 5, shape);
    const plumb_array u2 = plumb_array_view(words, PLUMB_UINT16, 5, shape);
    const plumb_array i8 = plumb_array_view(wide, PLUMB_INT64, 5, shape);
    const plumb_array *pairs[][2] = {{&u1, &f8}, {&f8, &u1}, {&u1, &u1}, {&u1, &u2}, {&i8, &i8}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        plumb_forecast f;
        CHECK_OK(plumb_forecast_measure(&f, pairs[i][1], NULL, pairs[i][0], NULL, NULL));
        CHECK_NEAR(f.forward.full.relative, 0.0, 1e-31);
        CHECK_NEAR(f.vpt, 2.0, 0.0);
        plumb_forecast_clear(&f);
    }
    plumb_forecast f;
    CHECK_FAILS(plumb_forecast_measure(&f, &f8, NULL, &i8, NULL, NULL), PLUMB_ESHAPE,
                "the truth is i8 and the prediction f8");
}

static void keep_line(void *context, const char *line)
{
    strncat(context, line, 200);
}

TEST(a_prediction_up_to_255_beside_bytes_is_remarked_upon)
{
    enum { T = 62 };
    uint8_t bytes[T * PIXELS];
    double parts[T * PIXELS];
    for (int i = 0; i < T * PIXELS; i++) bytes[i] = (uint8_t)(i % 256), parts[i] = bytes[i];
    const int64_t shape[5] = {1, T, H, W, C};
    const plumb_array u1 = plumb_array_view(bytes, PLUMB_UINT8, 5, shape);
    const plumb_array f8 = plumb_array_view(parts, PLUMB_FLOAT64, 5, shape);
    char said[512] = "";
    plumb_set_log(keep_line, said);
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &f8, NULL, &u1, NULL, NULL));
    plumb_set_log(NULL, NULL);
    CHECK(strstr(said, "divide it first"));
    plumb_forecast_clear(&f);
}

TEST(black_frames_end_a_vpt_only_if_something_is_predicted_there)
{
    enum { N = 3, T = 70 };
    double *x = bright(N, T), *y = copy_of(x, N, T);
    scale_frame(x, T, 0, 62, 0.0), scale_frame(y, T, 0, 62, 0.0); // 0/0
    scale_frame(x, T, 1, 64, 0.0);                                // x/0
    const plumb_array truth = video(x, N, T), ahead = video(y, N, T);
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &ahead, NULL, &truth, NULL, NULL));
    CHECK_NEAR(f.forward.vpt_per_trajectory[0], 10.0, 0.0);
    CHECK_NEAR(f.forward.vpt_per_trajectory[1], 4.0, 0.0);
    CHECK_NEAR(f.forward.vpt_per_trajectory[2], 10.0, 0.0);
    CHECK(isnan(f.forward.errors[62]) && isinf(f.forward.errors[T + 64]));
    CHECK(isnan(f.forward.ext.relative) && isnan(f.forward.ext.ci.low));
    CHECK(isnan(f.forward.ext.per_trajectory[0]) && isinf(f.forward.ext.per_trajectory[1]));
    CHECK(strstr(f.forward.ext.why, "2 true frames are black"));
    CHECK(strstr(f.forward.ext.why, "trajectory 0, frame 62"));
    CHECK_NEAR(f.forward.rec.relative, 0.0, 0.0);
    CHECK(!f.forward.rec.why);
    CHECK_EQUAL(f.forward.black, 2);

    plumb_record *record = plumb_record_create();
    const char *json;
    plumb_forecast_record(record, &f, NULL);
    CHECK_OK(plumb_record_to_json(&json, record));
    CHECK(strstr(json, "\"ext_mse\": null, \"ext_mse_ci\": null"));
    CHECK(strstr(json, "\"rec_mse_reason\": null, \"ext_mse_reason\": \"2 true frames"));
    CHECK(strstr(json, "\"vpt_backward\": null"));
    CHECK(strstr(json, "\"vpt_per_trajectory\": [10, 4, 10]"));
    plumb_record_free(record);
    plumb_forecast_clear(&f);
    free(x), free(y);
}

TEST(without_frames_of_reconstruction_their_mse_says_so)
{
    double *x = bright(1, 5);
    const plumb_array truth = video(x, 1, 5);
    plumb_forecast_options opt = plumb_forecast_defaults();
    opt.split = 0;
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &truth, NULL, &truth, NULL, &opt));
    CHECK(isnan(f.forward.rec.relative));
    CHECK_TEXT(f.forward.rec.why, "there are no frames of reconstruction");
    CHECK_NEAR(f.vpt, 5.0, 0.0);
    plumb_forecast_clear(&f);
    free(x);
}

TEST(errors_too_large_to_add_are_no_black_frames)
{
    double *x = bright(1, 62), *y = copy_of(x, 1, 62);
    scale_frame(y, 62, 0, 61, 1e200);
    const plumb_array truth = video(x, 1, 62), ahead = video(y, 1, 62);
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &ahead, NULL, &truth, NULL, NULL));
    CHECK(isinf(f.forward.ext.relative));
    CHECK(strstr(f.forward.ext.why, "overflows"));
    CHECK_NEAR(f.vpt, 1.0, 0.0);
    plumb_forecast_clear(&f);
    free(x), free(y);
}

TEST(what_is_not_finite_is_refused_with_its_place_and_number)
{
    enum { N = 2, T = 62 };
    double *x = bright(N, T), *y = copy_of(x, N, T);
    const plumb_array truth = video(x, N, T), ahead = video(y, N, T);
    plumb_forecast f = {.vpt = 7.0};
    y[((1 * T + 3) * H + 2) * W * C + 1 * C + 1] = NAN;
    y[((1 * T + 61) * H + 2) * W * C] = INFINITY;
    y[((1 * T + 61) * H + 2) * W * C + 1] = -INFINITY;
    CHECK_FAILS(
        plumb_forecast_measure(&f, &ahead, NULL, &truth, NULL, NULL), PLUMB_ENUMERIC,
        "the prediction has 3 values that are not finite, the first a NaN at (1, 3, 2, 1, 1)");
    CHECK_FAILS(plumb_forecast_measure(&f, &truth, &ahead, &truth, NULL, NULL), PLUMB_ENUMERIC,
                "the backward prediction has 3 values");
    CHECK_FAILS(plumb_forecast_measure(&f, &truth, NULL, &ahead, NULL, NULL), PLUMB_ENUMERIC,
                "the truth has 3 values");
    x[5] = NAN;
    CHECK_FAILS(plumb_forecast_measure(&f, &truth, NULL, &truth, NULL, NULL), PLUMB_ENUMERIC,
                "the truth has 1 value that is not finite, the first a NaN at (0, 0, 0, 2, 1)");
    CHECK_NEAR(f.vpt, 7.0, 0.0); // left as it was
    free(x), free(y);
}

TEST(what_does_not_fit_is_refused_in_one_line)
{
    double *x = bright(2, 70);
    plumb_array truth = video(x, 2, 70), other = truth;
    plumb_forecast f;
    other.ndim = 4;
    CHECK_FAILS(plumb_forecast_measure(&f, &other, NULL, &truth, NULL, NULL), PLUMB_ESHAPE,
                "the prediction is (2, 70, 3, 4); expected 5 axes");
    CHECK_FAILS(plumb_forecast_measure(&f, &truth, NULL, &other, NULL, NULL), PLUMB_ESHAPE,
                "the truth is (2, 70, 3, 4); expected 5 axes");
    other.ndim = 0;
    CHECK_FAILS(plumb_forecast_measure(&f, &truth, NULL, &other, NULL, NULL), PLUMB_ESHAPE,
                "is ()");
    other = truth;
    other.shape[0] = 1;
    CHECK_FAILS(plumb_forecast_measure(&f, &other, NULL, &truth, NULL, NULL), PLUMB_ESHAPE,
                "the prediction is (1, 70, 3, 4, 2) and the truth (2, 70, 3, 4, 2)");
    CHECK_FAILS(plumb_forecast_measure(&f, &truth, &other, &truth, NULL, NULL), PLUMB_ESHAPE,
                "the backward prediction is (1, 70, 3, 4, 2)");
    other = truth;
    other.shape[4] = 0;
    CHECK_FAILS(plumb_forecast_measure(&f, &other, NULL, &other, NULL, NULL), PLUMB_ESHAPE,
                "empty");
    other = truth;
    other.shape[1] = 60;
    CHECK_FAILS(plumb_forecast_measure(&f, &other, NULL, &other, NULL, NULL), PLUMB_ENUMERIC,
                "the truth has 60 frames");
    free(x);
}

TEST(options_out_of_range_are_refused)
{
    double *x = bright(2, 70);
    const plumb_array truth = video(x, 2, 70);
    plumb_forecast f;
    plumb_forecast_options opt = plumb_forecast_defaults();
#define REFUSED(change, words)       \
    opt = plumb_forecast_defaults(); \
    change;                          \
    CHECK_FAILS(plumb_forecast_measure(&f, &truth, NULL, &truth, NULL, &opt), PLUMB_EVALUE, words)
    REFUSED(opt.size = 0, "plumb_forecast_options.size is 0");
    REFUSED(opt.split = -1, "split is -1");
    REFUSED(opt.split = INT64_MAX, "split is");
    REFUSED(opt.inference = 0, "inference is 0");
    REFUSED(opt.target = INT64_MAX, "target is");
    REFUSED(opt.frames = (plumb_forecast_protocol)9, "frames is 9");
    REFUSED(opt.frames = PLUMB_FORECAST_PROTOCOL_AUTOREGRESSIVE; opt.target = 1, "target is 1");
    REFUSED(opt.frames = PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE; opt.target = 0, "target is 0");
    REFUSED(opt.frames = PLUMB_FORECAST_PROTOCOL_INCLUDE_INFERENCE;
            opt.target = -1, "target is -1");
    REFUSED(opt.threshold = NAN, "threshold");
    REFUSED(opt.threshold = -1.0, "threshold");
    REFUSED(opt.extrapolate = -2, "extrapolate is -2");
    REFUSED(opt.batch = -1, "batch is -1");
    REFUSED(opt.resamples = -1, "resamples is -1");
    REFUSED(opt.threads = -1, "threads is -1");
#undef REFUSED
    free(x);
}

TEST(an_item_record_has_the_error_of_every_frame)
{
    double *x = bright(2, 63), *y = copy_of(x, 2, 63);
    scale_frame(y, 63, 1, 61, 1.5);
    const plumb_array truth = video(x, 2, 63), ahead = video(y, 2, 63);
    plumb_forecast f;
    CHECK_OK(plumb_forecast_measure(&f, &ahead, NULL, &truth, NULL, NULL));
    plumb_record *record = plumb_record_create();
    const char *json;
    plumb_forecast_item_record(record, &f, 1);
    CHECK_OK(plumb_record_to_json(&json, record));
    CHECK(strstr(json, "{\"trajectory\": 1, \"vpt\": 1, \"forward\": {\"vpt\": 1,"));
    CHECK(strstr(json, ", 0, 0.25, 0]}, \"backward\": null}"));
    plumb_record_free(record);
    plumb_forecast_clear(&f);
    plumb_forecast_clear(&f); // a second time is harmless
    free(x), free(y);
}
