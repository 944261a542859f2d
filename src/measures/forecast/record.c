// SPDX-License-Identifier: MIT
// The result as a record. Keys are always the same; what was not measured is null.
#include <math.h>

#include "base/options_struct.h"
#include "measures/forecast/protocol.h"

static void put_text(plumb_record *r, const char *key, const char *text)
{
    if (text) plumb_record_set_string(r, key, text);
    else plumb_record_set_null(r, key);
}

// Half-open: [first, first + count).
static void put_window(plumb_record *r, const char *key, int64_t first, int64_t count)
{
    plumb_record_set_ints(r, key, (int64_t[]){first, first + count}, 2);
}

// One direction of time under the names the top of the record has.
static void put_direction(plumb_record *r, const char *key, const plumb_forecast_direction *d,
                          int64_t trajectories, bool backward)
{
    if (!d->measured) {
        plumb_record_set_null(r, key);
        return;
    }
    plumb_record_begin_object(r, key);
    plumb_record_set_double(r, "rec_mse", d->rec.published);
    plumb_record_set_interval(r, "rec_mse_ci", d->rec.published_ci);
    plumb_record_set_double(r, "ext_mse", d->ext.published);
    plumb_record_set_interval(r, "ext_mse_ci", d->ext.published_ci);
    plumb_record_set_double(r, "full_mse", d->full.published);
    plumb_record_set_double(r, "rec_mse_relative", d->rec.relative);
    plumb_record_set_double(r, "ext_mse_relative", d->ext.relative);
    plumb_record_set_double(r, "full_mse_relative", d->full.relative);
    put_text(r, "rec_mse_reason", d->rec.why);
    put_text(r, "ext_mse_reason", d->ext.why);
    plumb_record_set_double(r, "vpt", d->vpt);
    plumb_record_set_interval(r, "vpt_ci", d->vpt_ci);
    plumb_record_set_double(r, "vpt_relative", d->vpt_relative);
    plumb_record_set_double(r, "vpt_published", d->vpt_published);
    plumb_record_set_doubles(r, "vpt_per_trajectory", d->vpt_per_trajectory, trajectories);
    plumb_record_set_int(r, "length", d->length);
    plumb_record_set_int(r, "black_frames", d->black);
    // Truth frames, the first and the one behind the last.
    put_window(r, "rec_frames", d->rec.first, d->rec.frames);
    put_window(r, "ext_frames", d->ext.first, d->ext.frames);
    put_window(r, "vpt_frames", backward ? d->first : d->first + d->frames - d->length, d->length);
    plumb_record_end(r);
}

static double mean_of_two(double a, double b)
{
    return (a + b) / 2.0;
}

void plumb_forecast_record(plumb_record *r, const plumb_forecast *result,
                           const plumb_forecast_options *options)
{
    if (!r || !result) return;
    plumb_forecast_options full = plumb_forecast_defaults(), *opt = &full;
    if (options_resolve(&full, sizeof full, options, "plumb_forecast_options")) return;
    const plumb_forecast_direction *f = &result->forward, *b = &result->backward;

    // Top level: the forward numbers under the published definition, then relative errors.
    plumb_record_set_double(r, "rec_mse", f->rec.published);
    plumb_record_set_interval(r, "rec_mse_ci", f->rec.published_ci);
    plumb_record_set_double(r, "ext_mse", f->ext.published);
    plumb_record_set_interval(r, "ext_mse_ci", f->ext.published_ci);
    plumb_record_set_double(r, "rec_mse_relative", f->rec.relative);
    plumb_record_set_interval(r, "rec_mse_relative_ci", f->rec.ci);
    plumb_record_set_double(r, "ext_mse_relative", f->ext.relative);
    plumb_record_set_interval(r, "ext_mse_relative_ci", f->ext.ci);
    put_text(r, "rec_mse_reason", f->rec.why);
    put_text(r, "ext_mse_reason", f->ext.why);

    // VPT in frames, of both directions together and of each.
    plumb_record_set_double(r, "vpt", result->vpt);
    plumb_record_set_interval(r, "vpt_ci", result->vpt_ci);
    plumb_record_set_double(r, "vpt_relative", result->vpt_relative);
    plumb_record_set_double(r, "vpt_forward", f->vpt);
    plumb_record_set_interval(r, "vpt_forward_ci", f->vpt_ci);
    plumb_record_set_double(r, "vpt_backward", b->measured ? b->vpt : (double)NAN);
    plumb_record_set_interval(r, "vpt_backward_ci",
                              b->measured ? b->vpt_ci : (plumb_interval){(double)NAN, (double)NAN});
    plumb_record_set_double(r, "vpt_backward_published",
                            b->measured ? b->vpt_published : (double)NAN);
    plumb_record_set_doubles(r, "vpt_per_trajectory", result->vpt_per_trajectory,
                             result->trajectories);

    // Details of each direction, and the mean of both as the published code reports it.
    put_direction(r, "forward", f, result->trajectories, false);
    put_direction(r, "backward", b, result->trajectories, true);
    if (b->measured) {
        plumb_record_begin_object(r, "combined");
        plumb_record_set_double(r, "rec_mse", mean_of_two(f->rec.published, b->rec.published));
        plumb_record_set_double(r, "ext_mse", mean_of_two(f->ext.published, b->ext.published));
        plumb_record_set_double(r, "full_mse", mean_of_two(f->full.published, b->full.published));
        plumb_record_end(r);
    } else {
        plumb_record_set_null(r, "combined");
    }

    // The exponent is per frame, so VPT times the exponent is VPT in Lyapunov times.
    plumb_record_set_double(r, "lyapunov", result->lyapunov.exponent);
    plumb_record_set_interval(r, "lyapunov_ci", result->lyapunov.ci);
    plumb_record_set_double(r, "vpt_lyapunov", result->vpt * result->lyapunov.exponent);
    // Options. What the protocol does not use is null.
    plumb_record_set_string(r, "frames", forecast_protocol_name(opt->frames));
    if (opt->frames == PLUMB_FORECAST_PROTOCOL_PLAIN) {
        plumb_record_set_int(r, "split", opt->split);
        plumb_record_set_null(r, "inference");
        plumb_record_set_null(r, "target");
    } else {
        plumb_record_set_null(r, "split");
        plumb_record_set_int(r, "inference", opt->inference);
        plumb_record_set_int(r, "target", opt->target);
    }
    plumb_record_set_double(r, "threshold", opt->threshold);
    plumb_record_set_string(
        r, "backward_count",
        opt->backward_count == PLUMB_FORECAST_VPT_ORIGIN_PUBLISHED ? "published" : "inferred");
    plumb_record_set_string(r, "average",
                            opt->average == PLUMB_FORECAST_AVERAGE_MEAN ? "mean" : "median");
    plumb_record_set_int(r, "batch", opt->batch);
    // Sizes, and what is needed to repeat the measurement.
    plumb_record_set_int(r, "n", result->trajectories);
    plumb_record_set_int(r, "steps", result->steps);
    plumb_record_set_ints(r, "image", (int64_t[]){result->height, result->width, result->channels},
                          3);
    plumb_record_set_int(r, "resamples", opt->resamples);
    plumb_record_set_int(r, "seed", (int64_t)opt->seed);
    plumb_record_set_string(r, "input_hash", result->input_hash);
    plumb_record_set_int(r, "measure_version", PLUMB_FORECAST_VERSION);
    plumb_record_set_string(r, "version", plumb_version());
    plumb_record_set_double(r, "seconds", result->seconds);
}

static void put_item(plumb_record *r, const char *key, const plumb_forecast_direction *d,
                     int64_t trajectory)
{
    if (!d->measured) {
        plumb_record_set_null(r, key);
        return;
    }
    plumb_record_begin_object(r, key);
    plumb_record_set_double(r, "vpt", d->vpt_per_trajectory[trajectory]);
    plumb_record_set_double(r, "rec_mse_relative", d->rec.per_trajectory[trajectory]);
    plumb_record_set_double(r, "ext_mse_relative", d->ext.per_trajectory[trajectory]);
    plumb_record_set_int(r, "first_frame", d->first);
    plumb_record_set_doubles(r, "error", d->errors + trajectory * d->frames, d->frames);
    plumb_record_end(r);
}

// One trajectory: one line of the file of `--items`.
void plumb_forecast_item_record(plumb_record *r, const plumb_forecast *result, int64_t trajectory)
{
    if (!r || !result) return;
    plumb_record_set_int(r, "trajectory", trajectory);
    plumb_record_set_double(r, "vpt", result->vpt_per_trajectory[trajectory]);
    put_item(r, "forward", &result->forward, trajectory);
    put_item(r, "backward", &result->backward, trajectory);
}
