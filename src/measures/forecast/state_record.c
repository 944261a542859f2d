// SPDX-License-Identifier: MIT
// The result of a forecast of states as a record. Keys are always the same; what was not measured,
// or is infinite, is null.
#include <math.h>

#include "base/options_struct.h"
#include "measures/forecast/states.h"

static void put_value(plumb_record *record, const char *key, const char *interval,
                      plumb_state_forecast_value value)
{
    plumb_record_set_double(record, key, value.value);
    plumb_record_set_interval(record, interval, value.ci);
}

static void put_baseline(plumb_record *record, const char *key,
                         plumb_state_forecast_baseline baseline)
{
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "vrmse", baseline.vrmse);
    plumb_record_set_double(record, "vpt", baseline.vpt);
    plumb_record_end(record);
}

void plumb_state_forecast_record(plumb_record *record, const plumb_state_forecast *result,
                                 const plumb_state_forecast_options *options)
{
    if (!record || !result) return;
    plumb_state_forecast_options opt = plumb_state_forecast_defaults();
    if (options_resolve(&opt, sizeof opt, options, "plumb_state_forecast_options")) return;
    plumb_record_set_string(record, "kind", "states");
    put_value(record, "mse", "mse_ci", result->mse);
    put_value(record, "rmse", "rmse_ci", result->rmse);
    put_value(record, "nrmse", "nrmse_ci", result->nrmse);
    put_value(record, "vrmse", "vrmse_ci", result->vrmse);
    put_value(record, "smape", "smape_ci", result->smape);
    plumb_record_begin_object(record, "columns");
    plumb_record_set_doubles(record, "mse", result->column_mse, result->columns);
    plumb_record_set_doubles(record, "nrmse", result->column_nrmse, result->columns);
    plumb_record_set_doubles(record, "vrmse", result->column_vrmse, result->columns);
    plumb_record_set_doubles(record, "smape", result->column_smape, result->columns);
    plumb_record_end(record);
    plumb_record_set_doubles(record, "step_vrmse", result->step_vrmse, result->scored);
    put_value(record, "vpt", "vpt_ci", result->vpt);
    plumb_record_set_double(record, "vpt_median", result->vpt_median);
    plumb_record_set_double(record, "vpt_relative", result->vpt.value / (double)result->scored);
    plumb_record_set_doubles(record, "vpt_per_trajectory", result->vpt_per_trajectory,
                             result->trajectories);
    plumb_record_begin_object(record, "baselines");
    put_baseline(record, "last", result->last);
    put_baseline(record, "linear", result->linear);
    put_baseline(record, "mean", result->mean);
    plumb_record_end(record);
    plumb_record_set_double(record, "lyapunov", result->lyapunov.exponent);
    plumb_record_set_interval(record, "lyapunov_ci", result->lyapunov.ci);
    plumb_record_set_double(record, "vpt_lyapunov", result->vpt.value * result->lyapunov.exponent);
    plumb_record_set_double(record, "energy_drift", result->energy_drift);
    plumb_record_set_double(record, "energy_drift_truth", result->energy_drift_truth);
    plumb_record_set_double(record, "crps", result->crps);
    plumb_record_set_double(record, "energy_score", result->energy_score);
    plumb_record_set_int(record, "samples", result->samples);
    plumb_record_set_int(record, "diverged", result->diverged);
    // Options, sizes, and what is needed to repeat the measurement.
    plumb_record_set_int(record, "context", opt.context);
    plumb_record_set_double(record, "deviations", opt.deviations);
    plumb_record_set_int(record, "n", result->trajectories);
    plumb_record_set_int(record, "steps", result->steps);
    plumb_record_set_int(record, "scored", result->scored);
    plumb_record_set_int(record, "space", result->space);
    plumb_record_set_int(record, "dims", result->columns);
    plumb_record_set_int(record, "resamples", opt.resamples);
    plumb_record_set_int(record, "seed", (int64_t)opt.seed);
    plumb_record_set_string(record, "input_hash", result->input_hash);
    plumb_record_set_int(record, "measure_version", PLUMB_STATE_FORECAST_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
    plumb_record_set_double(record, "seconds", result->seconds);
}
