// SPDX-License-Identifier: MIT
// The result as a record. Keys are always the same; what was not measured is null.
#include <math.h>

#include "base/options_struct.h"
#include "measures/forecast/protocol.h"

static void put_text(plumb_record *record, const char *key, const char *text)
{
    if (text) plumb_record_set_string(record, key, text);
    else plumb_record_set_null(record, key);
}

// Half-open: [first, first + count).
static void put_window(plumb_record *record, const char *key, int64_t first, int64_t count)
{
    plumb_record_set_ints(record, key, (int64_t[]){first, first + count}, 2);
}

// What the pictures that never move score, and the VPT by a threshold that they fail.
static void put_stills(plumb_record *record, plumb_forecast_still mean_frame,
                       plumb_forecast_still last_frame, double vpt_above_still)
{
    plumb_record_set_double(record, "vpt_mean_frame", mean_frame.vpt);
    plumb_record_set_double(record, "error_mean_frame", mean_frame.error);
    plumb_record_set_double(record, "vpt_last_frame", last_frame.vpt);
    plumb_record_set_double(record, "error_last_frame", last_frame.error);
    plumb_record_set_double(record, "vpt_above_still", vpt_above_still);
}

// One direction of time under the names the top of the record has.
static void put_direction(plumb_record *record, const char *key,
                          const plumb_forecast_direction *direction, int64_t trajectories,
                          bool backward)
{
    if (!direction->measured) {
        plumb_record_set_null(record, key);
        return;
    }
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "rec_mse", direction->rec.published);
    plumb_record_set_interval(record, "rec_mse_ci", direction->rec.published_ci);
    plumb_record_set_double(record, "ext_mse", direction->ext.published);
    plumb_record_set_interval(record, "ext_mse_ci", direction->ext.published_ci);
    plumb_record_set_double(record, "full_mse", direction->full.published);
    plumb_record_set_double(record, "rec_mse_relative", direction->rec.relative);
    plumb_record_set_double(record, "ext_mse_relative", direction->ext.relative);
    plumb_record_set_double(record, "full_mse_relative", direction->full.relative);
    put_text(record, "rec_mse_reason", direction->rec.why);
    put_text(record, "ext_mse_reason", direction->ext.why);
    plumb_record_set_double(record, "vpt", direction->vpt);
    plumb_record_set_interval(record, "vpt_ci", direction->vpt_ci);
    plumb_record_set_double(record, "vpt_relative", direction->vpt_relative);
    plumb_record_set_double(record, "vpt_published", direction->vpt_published);
    plumb_record_set_double(record, "vpt_mean", direction->vpt_mean);
    plumb_record_set_double(record, "vpt_median", direction->vpt_median);
    put_stills(record, direction->mean_frame, direction->last_frame, direction->vpt_above_still);
    plumb_record_set_double(record, "still_threshold", direction->still_threshold);
    plumb_record_set_doubles(record, "vpt_per_trajectory", direction->vpt_per_trajectory,
                             trajectories);
    plumb_record_set_int(record, "length", direction->length);
    plumb_record_set_int(record, "black_frames", direction->black);
    // Truth frames, the first and the one behind the last.
    put_window(record, "rec_frames", direction->rec.first, direction->rec.frames);
    put_window(record, "ext_frames", direction->ext.first, direction->ext.frames);
    put_window(record, "vpt_frames",
               backward ? direction->first
                        : direction->first + direction->frames - direction->length,
               direction->length);
    plumb_record_end(record);
}

static double mean_of_two(double a, double b)
{
    return (a + b) / 2.0;
}

void plumb_forecast_record(plumb_record *record, const plumb_forecast *result,
                           const plumb_forecast_options *options)
{
    if (!record || !result) return;
    plumb_forecast_options full = plumb_forecast_defaults(), *opt = &full;
    if (options_resolve(&full, sizeof full, options, "plumb_forecast_options")) return;
    const plumb_forecast_direction *forward = &result->forward, *backward = &result->backward;

    // Top level: the forward numbers under the published definition, then relative errors.
    plumb_record_set_double(record, "rec_mse", forward->rec.published);
    plumb_record_set_interval(record, "rec_mse_ci", forward->rec.published_ci);
    plumb_record_set_double(record, "ext_mse", forward->ext.published);
    plumb_record_set_interval(record, "ext_mse_ci", forward->ext.published_ci);
    plumb_record_set_double(record, "rec_mse_relative", forward->rec.relative);
    plumb_record_set_interval(record, "rec_mse_relative_ci", forward->rec.ci);
    plumb_record_set_double(record, "ext_mse_relative", forward->ext.relative);
    plumb_record_set_interval(record, "ext_mse_relative_ci", forward->ext.ci);
    put_text(record, "rec_mse_reason", forward->rec.why);
    put_text(record, "ext_mse_reason", forward->ext.why);

    // VPT in frames, of both directions together and of each.
    plumb_record_set_double(record, "vpt", result->vpt);
    plumb_record_set_interval(record, "vpt_ci", result->vpt_ci);
    plumb_record_set_double(record, "vpt_relative", result->vpt_relative);
    plumb_record_set_double(record, "vpt_forward", forward->vpt);
    plumb_record_set_interval(record, "vpt_forward_ci", forward->vpt_ci);
    plumb_record_set_double(record, "vpt_backward",
                            backward->measured ? backward->vpt : (double)NAN);
    plumb_record_set_interval(record, "vpt_backward_ci",
                              backward->measured ? backward->vpt_ci
                                                 : (plumb_interval){(double)NAN, (double)NAN});
    plumb_record_set_double(record, "vpt_backward_published",
                            backward->measured ? backward->vpt_published : (double)NAN);
    plumb_record_set_doubles(record, "vpt_per_trajectory", result->vpt_per_trajectory,
                             result->trajectories);
    // Both averages, whichever `vpt` is; and what needs no model.
    plumb_record_set_double(record, "vpt_mean", result->vpt_mean);
    plumb_record_set_double(record, "vpt_median", result->vpt_median);
    put_stills(record, result->mean_frame, result->last_frame, result->vpt_above_still);

    // Details of each direction, and the mean of both as the published code reports it.
    put_direction(record, "forward", forward, result->trajectories, false);
    put_direction(record, "backward", backward, result->trajectories, true);
    if (backward->measured) {
        plumb_record_begin_object(record, "combined");
        plumb_record_set_double(record, "rec_mse",
                                mean_of_two(forward->rec.published, backward->rec.published));
        plumb_record_set_double(record, "ext_mse",
                                mean_of_two(forward->ext.published, backward->ext.published));
        plumb_record_set_double(record, "full_mse",
                                mean_of_two(forward->full.published, backward->full.published));
        plumb_record_end(record);
    } else {
        plumb_record_set_null(record, "combined");
    }

    // The exponent is per frame, so VPT times the exponent is VPT in Lyapunov times.
    plumb_record_set_double(record, "lyapunov", result->lyapunov.exponent);
    plumb_record_set_interval(record, "lyapunov_ci", result->lyapunov.ci);
    plumb_record_set_double(record, "vpt_lyapunov", result->vpt * result->lyapunov.exponent);
    // Options. What the protocol does not use is null.
    plumb_record_set_string(record, "frames", forecast_protocol_name(opt->frames));
    if (opt->frames == PLUMB_FORECAST_PROTOCOL_PLAIN) {
        plumb_record_set_int(record, "split", opt->split);
        plumb_record_set_null(record, "inference");
        plumb_record_set_null(record, "target");
    } else {
        plumb_record_set_null(record, "split");
        plumb_record_set_int(record, "inference", opt->inference);
        plumb_record_set_int(record, "target", opt->target);
    }
    plumb_record_set_double(record, "threshold", opt->threshold);
    plumb_record_set_string(
        record, "backward_count",
        opt->backward_count == PLUMB_FORECAST_VPT_ORIGIN_PUBLISHED ? "published" : "inferred");
    plumb_record_set_string(record, "average",
                            opt->average == PLUMB_FORECAST_AVERAGE_MEAN ? "mean" : "median");
    plumb_record_set_int(record, "batch", opt->batch);
    // Sizes, and what is needed to repeat the measurement.
    plumb_record_set_int(record, "n", result->trajectories);
    plumb_record_set_int(record, "steps", result->steps);
    plumb_record_set_ints(record, "image",
                          (int64_t[]){result->height, result->width, result->channels}, 3);
    plumb_record_set_int(record, "resamples", opt->resamples);
    plumb_record_set_int(record, "seed", (int64_t)opt->seed);
    plumb_record_set_string(record, "input_hash", result->input_hash);
    plumb_record_set_int(record, "measure_version", PLUMB_FORECAST_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
    plumb_record_set_double(record, "seconds", result->seconds);
}

static void put_item(plumb_record *record, const char *key,
                     const plumb_forecast_direction *direction, int64_t trajectory)
{
    if (!direction->measured) {
        plumb_record_set_null(record, key);
        return;
    }
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "vpt", direction->vpt_per_trajectory[trajectory]);
    plumb_record_set_double(record, "rec_mse_relative", direction->rec.per_trajectory[trajectory]);
    plumb_record_set_double(record, "ext_mse_relative", direction->ext.per_trajectory[trajectory]);
    plumb_record_set_int(record, "first_frame", direction->first);
    plumb_record_set_doubles(record, "error", direction->errors + trajectory * direction->frames,
                             direction->frames);
    plumb_record_end(record);
}

// One trajectory: one line of the file of `--items`.
void plumb_forecast_item_record(plumb_record *record, const plumb_forecast *result,
                                int64_t trajectory)
{
    if (!record || !result) return;
    plumb_record_set_int(record, "trajectory", trajectory);
    plumb_record_set_double(record, "vpt", result->vpt_per_trajectory[trajectory]);
    put_item(record, "forward", &result->forward, trajectory);
    put_item(record, "backward", &result->backward, trajectory);
}
