// SPDX-License-Identifier: MIT
// State forecast: how close are predicted states, or physical fields, to true ones, and for how
// long? The counterpart of plumb/forecast.h for numbers that are not pictures.
//
// Arrays are (trajectories, steps, ..., columns). The axes between are space: one state has none, a
// field one, two or three. The deviation of a column is that of the truth over trajectories, steps
// and space. Errors are averaged over trajectories, steps and space first, then a root is taken,
// then the mean over columns.
#ifndef PLUMB_STATE_FORECAST_H
#define PLUMB_STATE_FORECAST_H

#include "plumb/array.h"
#include "plumb/forecast.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_STATE_FORECAST_VERSION 1

/// The settings. Take them from plumb_state_forecast_defaults() and change what you need.
typedef struct plumb_state_forecast_options {
    size_t size;     ///< sizeof(plumb_state_forecast_options)
    int64_t context; ///< Steps that the model was given; they are not scored. Default 0.
    /// VPT ends at the first step whose error is above this many deviations. Default 0.5.
    double deviations;
    /// The axis of `prediction` that numbers samples, counted from 0 (which is the trajectories);
    /// 0: there is none. Default 0.
    int64_t samples_axis;
    int64_t resamples; ///< Bootstrap draws for the 95 % intervals; 0: none. Default 2000.
    uint64_t seed;     ///< Of the bootstrap. Default 1.
    int threads;       ///< 0: plumb_system_threads(). Does not affect the result. Default 0.
} plumb_state_forecast_options;

/// What is measured.
typedef struct plumb_state_forecast_input {
    size_t size;                   ///< sizeof(plumb_state_forecast_input)
    const plumb_array *prediction; ///< As the truth, or with one axis of samples more.
    const plumb_array *truth;      ///< (trajectories, steps, ..., columns)
    /// (trajectories, steps) the energy, or another conserved quantity, of the true states, and of
    /// the predicted ones; both or neither may be NULL.
    const plumb_array *energy, *prediction_energy;
} plumb_state_forecast_input;

/// A number and its interval.
typedef struct plumb_state_forecast_value {
    double value;      ///< Infinite if a prediction is.
    plumb_interval ci; ///< 95 % interval, bootstrap over trajectories.
} plumb_state_forecast_value;

/// A prediction that needs no model.
typedef struct plumb_state_forecast_baseline {
    double vrmse; ///< As that of the prediction.
    double vpt;   ///< Mean over trajectories.
} plumb_state_forecast_baseline;

/// The result. Free what it owns with plumb_state_forecast_clear().
typedef struct plumb_state_forecast {
    plumb_state_forecast_value mse;   ///< Mean over columns of the mean squared error.
    plumb_state_forecast_value rmse;  ///< Mean over columns of its root.
    plumb_state_forecast_value nrmse; ///< The same, each root / root mean square of the column.
    plumb_state_forecast_value vrmse; ///< The same, each root / deviation of the column.
    /// Mean of 200 |p - x| / (|p| + |x|) per cent, 0 to 200; 0 where both are 0.
    plumb_state_forecast_value smape;
    /// (columns) of each column. NaN where a column is constant and it is divided by 0.
    const double *column_mse, *column_nrmse, *column_vrmse, *column_smape;
    /// (trajectories, scored) error of a step: root of the mean over space and columns of (p - x)^2
    /// / deviation^2. Constant columns do not count.
    const double *errors;
    const double *step_vrmse; ///< (scored) root of the mean square of `errors` over trajectories.
    plumb_state_forecast_value vpt;   ///< Mean over trajectories of the steps before the first
                                      ///< error above `deviations`.
    double vpt_median;                ///< The median.
    const double *vpt_per_trajectory; ///< (trajectories)
    /// The last true state before the first scored step (or, without context, the first state); the
    /// line through the last two (without them NaN); the mean of the scored truth.
    plumb_state_forecast_baseline last, linear, mean;
    plumb_lyapunov lyapunov; ///< Of the truth; NaN where it cannot be estimated, with `why`.
    /// Mean over trajectories of the largest |E(t) - E(first)|, / deviation of E over all
    /// trajectories. Of the prediction, and of the truth. NaN without energies.
    double energy_drift, energy_drift_truth;
    /// Of samples; NaN without. Continuous ranked probability score: mean |X - x| - mean |X - X'| /
    /// 2, / deviation, mean over columns. Energy score: the same with the norm over all columns and
    /// space, in deviations. The other numbers are those of the mean of the samples.
    double crps, energy_score;
    int64_t samples;                     ///< 0 without an axis of samples.
    int64_t diverged;                    ///< Trajectories whose prediction is NaN or infinite.
    int64_t trajectories, steps, scored; ///< `scored` = steps - context.
    int64_t space, columns;              ///< Points of the field, 1 for states; values at each.
    double seconds;                      ///< Time of the call.
    char input_hash[33];                 ///< XXH3-128 of the arrays, in hexadecimal.
    void *memory;                        ///< Private.
} plumb_state_forecast;

/// Sets the first `size` bytes of `options` to the defaults.
PLUMB_API void plumb_state_forecast_options_init(plumb_state_forecast_options *options,
                                                 size_t size);

/// Returns the defaults.
static inline plumb_state_forecast_options plumb_state_forecast_defaults(void)
{
    plumb_state_forecast_options options;
    plumb_state_forecast_options_init(&options, sizeof options);
    return options;
}

/// Measures how close predicted states are to true ones, and for how long. A prediction may be NaN
/// or infinite from some step on: its error is infinite there.
/// May be NULL: options. On failure `result` is unchanged.
/// Fails with PLUMB_ESHAPE if shapes do not fit together, PLUMB_ENUMERIC if the truth is NaN or
/// infinite or never changes, or if the whole prediction is NaN or infinite, PLUMB_EVALUE if an
/// option is invalid.
PLUMB_API plumb_status plumb_state_forecast_measure(plumb_state_forecast *result,
                                                    const plumb_state_forecast_input *input,
                                                    const plumb_state_forecast_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_state_forecast_clear(plumb_state_forecast *result);

/// Writes the result under the names that `plumb forecast --json` prints for states. May be NULL:
/// options.
PLUMB_API void plumb_state_forecast_record(plumb_record *record, const plumb_state_forecast *result,
                                           const plumb_state_forecast_options *options);

#ifdef __cplusplus
}
#endif
#endif
