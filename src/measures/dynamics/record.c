// SPDX-License-Identifier: MIT
// The result as a record. Keys are always the same; what was not measured, or is infinite, is null.
#include "base/options_struct.h"
#include "measures/dynamics/dynamics.h"
#include "measures/fit/layout_columns.h"

static void put_conserved(plumb_record *record, const char *key,
                          const plumb_dynamics_conserved *quantity, bool found)
{
    if (!quantity->measured) {
        plumb_record_set_null(record, key);
        return;
    }
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "truth", quantity->truth);
    plumb_record_set_double(record, "encoded", quantity->encoded);
    plumb_record_set_double(record, "rollout", quantity->rollout);
    plumb_record_set_double(record, "trend", quantity->trend);
    if (found) plumb_record_set_double(record, "share", quantity->share);
    plumb_record_end(record);
}

static void put_errors(plumb_record *record, const char *key, const plumb_state_forecast *errors)
{
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "vrmse", errors->vrmse.value);
    plumb_record_set_interval(record, "vrmse_ci", errors->vrmse.ci);
    plumb_record_set_double(record, "vpt", errors->vpt.value);
    plumb_record_set_interval(record, "vpt_ci", errors->vpt.ci);
    plumb_record_set_doubles(record, "step_vrmse", errors->step_vrmse, errors->scored);
    plumb_record_set_doubles(record, "column_vrmse", errors->column_vrmse, errors->columns);
    plumb_record_end(record);
}

static void put_baseline(plumb_record *record, const char *key,
                         plumb_state_forecast_baseline baseline)
{
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "vrmse", baseline.vrmse);
    plumb_record_set_double(record, "vpt", baseline.vpt);
    plumb_record_end(record);
}

void plumb_dynamics_record(plumb_record *record, const plumb_dynamics *result,
                           const plumb_dynamics_options *options)
{
    if (!record || !result) return;
    plumb_dynamics_options opt = plumb_dynamics_defaults();
    if (options_resolve(&opt, sizeof opt, options, "plumb_dynamics_options")) return;
    const plumb_state_forecast *motion = &result->motion;
    plumb_record_set_string(record, "verdict", plumb_dynamics_verdict_name(result->verdict));
    plumb_record_set_string(record, "verdict_why", result->why ? result->why : "");
    if (result->hint) plumb_record_set_string(record, "hint", result->hint);
    else plumb_record_set_null(record, "hint");
    plumb_record_set_double(record, "r2", result->r2);
    plumb_record_set_int(record, "unencoded_before", result->unencoded_before);
    plumb_record_set_int(record, "unencoded_after", result->unencoded_after);
    plumb_record_set_double(record, "r2_worst", result->r2_worst);
    plumb_record_set_double(record, "vpt", motion->vpt.value);
    plumb_record_set_interval(record, "vpt_ci", motion->vpt.ci);
    plumb_record_set_double(record, "vpt_relative", motion->vpt.value / (double)motion->scored);
    plumb_record_set_doubles(record, "vpt_per_trajectory", motion->vpt_per_trajectory,
                             motion->trajectories);
    plumb_record_set_double(record, "lyapunov", motion->lyapunov.exponent);
    plumb_record_set_double(record, "vpt_lyapunov", motion->vpt.value * motion->lyapunov.exponent);
    plumb_record_set_double(record, "growth", result->growth);
    plumb_record_set_double(record, "growth_lyapunov", result->growth_lyapunov);
    put_errors(record, "motion", motion);
    put_errors(record, "floor", &result->floor);
    plumb_record_begin_object(record, "baselines");
    put_baseline(record, "last", motion->last);
    put_baseline(record, "linear", motion->linear);
    put_baseline(record, "mean", motion->mean);
    plumb_record_end(record);
    put_conserved(record, "energy", &result->energy, false);
    put_conserved(record, "found", &result->found, true);
    plumb_record_set_double(record, "histogram", result->histogram);
    plumb_record_set_double(record, "histogram_floor", result->histogram_floor);
    plumb_record_set_double(record, "spectrum", result->spectrum);
    plumb_record_set_double(record, "spectrum_floor", result->spectrum_floor);
    plumb_record_set_double(record, "phase_rate", result->phase_rate);
    plumb_record_set_double(record, "range", result->range);
    if (result->flow.measured) plumb_flow_record(record, &result->flow);
    else {
        plumb_record_set_null(record, "flow");
        plumb_record_set_null(record, "flow_verdict");
        plumb_record_set_null(record, "flow_why");
    }
    plumb_record_set_int(record, "diverged", motion->diverged);
    plumb_record_set_bool(record, "driven", result->driven);
    // Options, sizes, and what is needed to repeat the measurement.
    plumb_record_set_int(record, "context", opt.context);
    plumb_record_set_double(record, "deviations", opt.deviations);
    plumb_record_set_int(record, "folds", opt.folds);
    plumb_record_set_bool(record, "nonlinear", opt.nonlinear);
    plumb_record_set_int(record, "n", motion->trajectories);
    plumb_record_set_int(record, "steps", motion->steps);
    plumb_record_set_int(record, "scored", motion->scored);
    plumb_record_set_int(record, "dims", motion->columns);
    plumb_record_set_int(record, "resamples", opt.resamples);
    plumb_record_set_string(record, "truth_layout", layout_words[opt.truth_layout]);
    plumb_record_set_int(record, "seed", (int64_t)opt.seed);
    plumb_record_set_string(record, "input_hash", result->input_hash);
    plumb_record_set_int(record, "measure_version", PLUMB_DYNAMICS_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
    plumb_record_set_double(record, "seconds", result->seconds);
}
