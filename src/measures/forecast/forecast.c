// SPDX-License-Identifier: MIT
// The measure itself. First the errors e of all frames, in parallel over trajectories. Every
// number, also of a bootstrap draw, is then a mean, a count or a median over that small table
// [Higgins21].
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/result.h"
#include "base/status.h"
#include "math/stats.h"
#include "measures/forecast/frame_errors.h"
#include "measures/forecast/lyapunov.h"
#include "measures/forecast/options.h"
#include "measures/forecast/still_pictures.h"

// One stream of random numbers for all intervals: they resample the same trajectories together.
enum { BOOTSTRAP_STREAM = 0x766f7265 };

// Why the mean over a window is NaN or infinite, in one sentence.
static const char *explain_undefined(arena *mem, const frame_errors *table, forecast_window window)
{
    if (!window.count) return "there are no frames of reconstruction";
    int64_t total = 0, trajectory = 0, frame = 0;
    for (int64_t i = 0; i < table->trajectories; i++)
        for (int64_t t = window.first; t < window.first + window.count; t++) {
            if (!table->black[i * table->plan.count + t]) continue;
            if (!total++) trajectory = i, frame = table->plan.first + t;
        }
    if (!total) return "the sum of the errors overflows";
    char text[200];
    snprintf(text, sizeof text,
             "%lld true frame%s black, which leaves a relative error undefined; the first is "
             "trajectory %lld, frame %lld",
             (long long)total, total > 1 ? "s are" : " is", (long long)trajectory,
             (long long)frame);
    return arena_strdup(mem, text);
}

// Mean over trajectories of the mean error over a window of frames.
static plumb_status measure_mse(plumb_forecast_mse *out, arena *mem, const frame_errors *table,
                                forecast_window window, const plumb_forecast_options *opt,
                                double pixels)
{
    double *each = ARENA_ALLOC(mem, double, table->trajectories);
    if (!each) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < table->trajectories; i++)
        each[i] = stats_mean(table->errors + i * table->plan.count + window.first, window.count);
    *out = (plumb_forecast_mse){.relative = stats_mean(each, table->trajectories),
                                .ci = {(double)NAN, (double)NAN},
                                .first = table->plan.first + window.first,
                                .frames = window.count,
                                .per_trajectory = each};
    if (isfinite(out->relative)) {
        const bootstrap_options draws = {table->trajectories, opt->resamples, opt->seed,
                                         BOOTSTRAP_STREAM};
        const plumb_status st = stats_bootstrap_mean(&out->ci, mem, each, &draws);
        if (st) return st;
    } else {
        out->why = explain_undefined(mem, table, window);
        if (!out->why) return PLUMB_EMEMORY;
    }
    // The published code divides by the number of pixels once more.
    out->published = out->relative / pixels;
    out->published_ci = (plumb_interval){out->ci.low / pixels, out->ci.high / pixels};
    return PLUMB_OK;
}

// VPTs of one or two directions, and how they become one number.
typedef struct vpt_table {
    const double *each[2]; // the second NULL if there is only one
    int64_t batch;         // trajectories per median; 0: the mean of all
    double *scratch;       // of `batch`
} vpt_table;

// Median of each batch, mean over directions, mean over batches. A batch that is not full weighs
// by its size.
static double compute_vpt(const void *context, const int64_t *index, int64_t count)
{
    const vpt_table *table = context;
    const int directions = table->each[1] ? 2 : 1;
    double sum = 0.0;
    for (int d = 0; d < directions; d++) {
        if (!table->batch)
            for (int64_t i = 0; i < count; i++) sum += table->each[d][index[i]];
        for (int64_t first = 0; table->batch && first < count; first += table->batch) {
            const int64_t n = table->batch < count - first ? table->batch : count - first;
            for (int64_t i = 0; i < n; i++) table->scratch[i] = table->each[d][index[first + i]];
            sum += (double)n * stats_median(table->scratch, n);
        }
    }
    return sum / (double)count / directions;
}

// What averaging needs beside the VPTs themselves.
typedef struct vpt_average {
    const plumb_forecast_options *opt;
    int64_t trajectories;
    int64_t batch;
    int64_t *all; // 0 .. trajectories-1
    double *scratch;
    const double *mean_frame; // of the truth
} vpt_average;

// Trajectories per median of `n`, or 0 for the mean of all.
static int64_t get_batch(plumb_forecast_average average, const plumb_forecast_options *opt,
                         int64_t n)
{
    if (average == PLUMB_FORECAST_AVERAGE_MEAN) return 0;
    return opt->batch && opt->batch < n ? opt->batch : n;
}

static plumb_status averager_init(vpt_average *average, arena *mem,
                                  const plumb_forecast_options *opt, int64_t n)
{
    *average =
        (vpt_average){.opt = opt, .trajectories = n, .batch = get_batch(opt->average, opt, n)};
    average->all = ARENA_ALLOC(mem, int64_t, n);
    average->scratch = ARENA_ALLOC(mem, double, n);
    if (!average->all || !average->scratch) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) average->all[i] = i;
    return PLUMB_OK;
}

// `ci` may be NULL.
static plumb_status average_vpt(double *vpt, plumb_interval *ci, arena *mem,
                                const vpt_average *average, const double *first,
                                const double *second)
{
    const vpt_table table = {{first, second}, average->batch, average->scratch};
    *vpt = compute_vpt(&table, average->all, average->trajectories);
    if (!ci) return PLUMB_OK;
    const bootstrap_options draws = {average->trajectories, average->opt->resamples,
                                     average->opt->seed, BOOTSTRAP_STREAM};
    return stats_bootstrap(ci, mem, &draws, compute_vpt, &table);
}

// VPTs of one direction or two by one kind of average, without an interval.
static double average_by(const vpt_average *average, plumb_forecast_average kind,
                         const double *first, const double *second)
{
    const vpt_table table = {
        {first, second}, get_batch(kind, average->opt, average->trajectories), average->scratch};
    return compute_vpt(&table, average->all, average->trajectories);
}

// VPT per trajectory: frames before the first with an error above the threshold.
static double *count_valid_steps(arena *mem, const frame_errors *table, double threshold,
                                 bool reversed)
{
    double *each = ARENA_ALLOC(mem, double, table->trajectories);
    if (!each) return NULL;
    for (int64_t i = 0; i < table->trajectories; i++)
        each[i] = (double)forecast_protocol_valid_steps(table->errors + i * table->plan.count +
                                                            table->plan.vpt.first,
                                                        table->plan.vpt.count, threshold, reversed);
    return each;
}

static plumb_status measure_vpt(plumb_forecast_direction *out, arena *mem,
                                const vpt_average *average, const frame_errors *table,
                                bool backward)
{
    // The arrays are in increasing time, so for a backward prediction the inferred state is at the
    // last index. The published code counts from the first index.
    double *from_inferred = count_valid_steps(mem, table, average->opt->threshold, backward);
    double *published =
        backward ? count_valid_steps(mem, table, average->opt->threshold, false) : from_inferred;
    if (!from_inferred || !published) return PLUMB_EMEMORY;
    out->vpt_per_trajectory = average->opt->backward_count == PLUMB_FORECAST_VPT_ORIGIN_PUBLISHED
                                  ? published
                                  : from_inferred;
    out->length = table->plan.vpt.count;
    plumb_status st = average_vpt(&out->vpt_published, NULL, mem, average, published, NULL);
    if (!st) st = average_vpt(&out->vpt, &out->vpt_ci, mem, average, out->vpt_per_trajectory, NULL);
    out->vpt_relative = out->vpt / (double)out->length;
    const double *each = out->vpt_per_trajectory;
    out->vpt_mean = average_by(average, PLUMB_FORECAST_AVERAGE_MEAN, each, NULL);
    out->vpt_median = average_by(average, PLUMB_FORECAST_AVERAGE_MEDIAN, each, NULL);
    return st;
}

// VPT and error of a still picture, from its errors (trajectories, length).
static plumb_status measure_still(plumb_forecast_still *out, arena *mem, const vpt_average *average,
                                  const frame_errors *table, const double *errors, bool reversed)
{
    const int64_t length = table->plan.vpt.count;
    *out = (plumb_forecast_still){(double)NAN, (double)NAN};
    if (!errors) return PLUMB_OK;
    const frame_errors still = {
        .trajectories = table->trajectories,
        .plan = {.count = length, .vpt = {0, length}},
        .errors = errors,
    };
    const double *each = count_valid_steps(mem, &still, average->opt->threshold, reversed);
    if (!each) return PLUMB_EMEMORY;
    out->vpt = average_by(average, average->opt->average, each, NULL);
    out->error = still_pictures_mean_error(errors, table->trajectories * length);
    return PLUMB_OK;
}

// What pictures that never move score, and the VPT of the prediction by a threshold that they fail.
static plumb_status measure_stills(plumb_forecast_direction *out, arena *mem,
                                   const vpt_average *average, const frame_errors *table,
                                   const frame_errors_source *from)
{
    const bool reversed =
        from->backward && average->opt->backward_count == PLUMB_FORECAST_VPT_ORIGIN_INFERRED;
    still_pictures errors;
    plumb_status st = still_pictures_compute(&errors, mem, from, table, average->mean_frame);
    if (!st) st = measure_still(&out->mean_frame, mem, average, table, errors.mean, reversed);
    if (!st) st = measure_still(&out->last_frame, mem, average, table, errors.copy, reversed);
    if (st) return st;
    // fmin() ignores a NaN: a picture that does not exist, or only black frames.
    out->still_threshold =
        fmin(average->opt->threshold, 0.5 * fmin(out->mean_frame.error, out->last_frame.error));
    const double *each = count_valid_steps(mem, table, out->still_threshold, reversed);
    if (!each) return PLUMB_EMEMORY;
    out->vpt_above_still = average_by(average, average->opt->average, each, NULL);
    return PLUMB_OK;
}

static plumb_status measure_direction(plumb_forecast_direction *out, arena *mem,
                                      const vpt_average *average, const frame_errors_source *from)
{
    frame_errors table;
    plumb_status st = frame_errors_compute(&table, mem, from);
    if (st) return st;
    *out = (plumb_forecast_direction){.measured = true,
                                      .first = table.plan.first,
                                      .frames = table.plan.count,
                                      .errors = table.errors};
    for (int64_t i = 0; i < table.trajectories * table.plan.count; i++)
        out->black += table.black[i];

    const int64_t *shape = from->truth->shape;
    const double pixels = (double)(shape[2] * shape[3] * shape[4]);
    if ((st = measure_mse(&out->rec, mem, &table, table.plan.rec, average->opt, pixels)) ||
        (st = measure_mse(&out->ext, mem, &table, table.plan.ext, average->opt, pixels)) ||
        (st = measure_mse(&out->full, mem, &table, (forecast_window){0, table.plan.count},
                          average->opt, pixels)))
        return st;
    st = measure_vpt(out, mem, average, &table, from->backward);
    return st ? st : measure_stills(out, mem, average, &table, from);
}

static plumb_forecast_still average_stills(plumb_forecast_still a, plumb_forecast_still b)
{
    return (plumb_forecast_still){(a.vpt + b.vpt) / 2.0, (a.error + b.error) / 2.0};
}

// VPT over both directions, if both are measured.
static plumb_status combine_directions(plumb_forecast *out, arena *mem, const vpt_average *average)
{
    const plumb_forecast_direction *forward = &out->forward, *backward = &out->backward;
    const double *second = backward->measured ? backward->vpt_per_trajectory : NULL;
    double *each = ARENA_ALLOC(mem, double, average->trajectories);
    if (!each) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < average->trajectories; i++)
        each[i] = second ? (forward->vpt_per_trajectory[i] + second[i]) / 2.0
                         : forward->vpt_per_trajectory[i];
    out->vpt_per_trajectory = each;
    out->vpt_relative =
        second ? (forward->vpt_relative + backward->vpt_relative) / 2.0 : forward->vpt_relative;
    const plumb_forecast_direction *other = second ? backward : forward;
    out->vpt_mean = (forward->vpt_mean + other->vpt_mean) / 2.0;
    out->vpt_median = (forward->vpt_median + other->vpt_median) / 2.0;
    out->vpt_above_still = (forward->vpt_above_still + other->vpt_above_still) / 2.0;
    out->mean_frame = average_stills(forward->mean_frame, other->mean_frame);
    out->last_frame = average_stills(forward->last_frame, other->last_frame);
    return average_vpt(&out->vpt, &out->vpt_ci, mem, average, forward->vpt_per_trajectory, second);
}

// The exponent of the true states. Where it is undefined the result says why.
static plumb_status measure_lyapunov(plumb_lyapunov *out, arena *mem, const plumb_array *states)
{
    const double nan = (double)NAN;
    *out = (plumb_lyapunov){.exponent = nan, .ci = {nan, nan}};
    const plumb_status st = states ? lyapunov_estimate(out, states) : PLUMB_OK;
    if (st != PLUMB_ESHAPE && st != PLUMB_ENUMERIC) return st;
    out->why = arena_strdup(mem, plumb_last_error());
    return out->why ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status measure_frames(plumb_forecast *out, arena *mem, const plumb_array *truth,
                                   const plumb_array *prediction, const plumb_array *backward,
                                   const plumb_forecast_options *opt)
{
    vpt_average average;
    plumb_status st = frame_errors_check_shape(truth, truth, "the truth");
    if (!st) st = averager_init(&average, mem, opt, truth->shape[0]);
    if (st) return st;
    average.mean_frame = still_pictures_mean_frame(mem, truth);
    if (!average.mean_frame) return PLUMB_EMEMORY;
    const double share = backward ? 0.5 : 1.0;
    const frame_errors_source ahead = {
        .truth = truth, .prediction = prediction, .opt = opt, .truth_is_new = true, .share = share};
    st = measure_direction(&out->forward, mem, &average, &ahead);
    if (!st && backward) {
        const frame_errors_source back = {.truth = truth,
                                          .prediction = backward,
                                          .opt = opt,
                                          .backward = true,
                                          .from = share,
                                          .share = share};
        st = measure_direction(&out->backward, mem, &average, &back);
    }
    if (!st) st = combine_directions(out, mem, &average);
    if (st) return st;
    out->trajectories = truth->shape[0];
    out->steps = truth->shape[1];
    out->height = truth->shape[2];
    out->width = truth->shape[3];
    out->channels = truth->shape[4];
    hash_arrays(out->input_hash, (const plumb_array *[]){truth, prediction, backward}, 3);
    return PLUMB_OK;
}

plumb_status plumb_forecast_measure(plumb_forecast *out, const plumb_array *prediction,
                                    const plumb_array *backward, const plumb_array *truth,
                                    const plumb_array *states, const plumb_forecast_options *opt)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(prediction);
    REQUIRE_ARGUMENT(truth);
    assert(out && truth && prediction);
    const double start = clock_now();
    plumb_forecast_options checked = plumb_forecast_defaults();
    plumb_status st = options_resolve(&checked, sizeof checked, opt, "plumb_forecast_options");
    if (!st) st = forecast_options_check(&checked);
    if (st) return st;

    plumb_forecast result = {0};
    arena *mem = result_begin(&result.memory);
    st = mem ? measure_frames(&result, mem, truth, prediction, backward, &checked) : PLUMB_EMEMORY;
    if (!st) st = measure_lyapunov(&result.lyapunov, mem, states);
    st = result_end(st, &result.memory);
    if (st) return st;
    result.seconds = clock_now() - start;
    *out = result;
    return PLUMB_OK;
}

void plumb_forecast_clear(plumb_forecast *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
