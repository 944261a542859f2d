// SPDX-License-Identifier: MIT
// Forecast: how close are predicted frames to true ones, and for how long?
// Normalised MSE of reconstruction and extrapolation, and valid prediction time [Higgins21].
#ifndef PLUMB_FORECAST_H
#define PLUMB_FORECAST_H

#include "plumb/array.h"
#include "plumb/record.h"
#include "plumb/symetric.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMB_FORECAST_VERSION 1

/// Which frames a model sees and which it is asked for. Inference frames i, target frames t.
/// PLUMB_FRAMES_PLAIN: the arrays start at the first predicted frame; nothing is skipped.
typedef enum plumb_forecast_frames {
    PLUMB_FRAMES_PLAIN,
    PLUMB_FRAMES_OVERLAP_BY_ONE,    ///< skips i-1, trains on i+t-1
    PLUMB_FRAMES_NO_OVERLAP,        ///< skips i, trains on i+t
    PLUMB_FRAMES_INCLUDE_INFERENCE, ///< skips none, trains on i+t
    PLUMB_FRAMES_AUTOREGRESSIVE,    ///< skips 1, trains on t
} plumb_forecast_frames;

/// From which end backward VPT counts.
typedef enum plumb_forecast_count {
    PLUMB_COUNT_FROM_INFERRED, ///< from the frame next to the inferred state
    PLUMB_COUNT_PUBLISHED,     ///< from the frame farthest from it, as the published code does
} plumb_forecast_count;

/// How per-trajectory VPTs become one number.
typedef enum plumb_forecast_average {
    PLUMB_AVERAGE_MEAN,   ///< over all trajectories, as the paper says
    PLUMB_AVERAGE_MEDIAN, ///< median of each batch, then mean over batches, as the code does
} plumb_forecast_average;

typedef struct plumb_forecast_options {
    size_t size; ///< sizeof(plumb_forecast_options)
    plumb_forecast_frames frames;
    int64_t split;      ///< frames of reconstruction in PLUMB_FRAMES_PLAIN, 60
    int64_t extrapolate; ///< frames of Ext MSE after them, 60; 0 all
    int64_t inference;  ///< i, 5
    int64_t target;     ///< t, 60
    double threshold;   ///< 0.025
    plumb_forecast_count backward_count;
    plumb_forecast_average average;
    int64_t batch;     ///< trajectories a median, 5
    int64_t resamples; ///< 2000
    uint64_t seed;     ///< 1
    int threads;       ///< 0: plumb_machine_threads()
} plumb_forecast_options;

/// One direction of time.
typedef struct plumb_forecast_direction {
    bool measured;
    double rec_mse, ext_mse;                   ///< the paper's units: divided by height*width*channels too
    double rec_mse_relative, ext_mse_relative; ///< mean over frames of |x-y|^2/|x|^2
    double vpt;                                ///< frames
    double vpt_relative;                       ///< share of the frames there are
    int64_t length;                            ///< frames of extrapolation
    plumb_interval rec_mse_ci, ext_mse_ci, vpt_ci;
    const double *vpt_per_trajectory;
    const double *rec_mse_per_trajectory, *ext_mse_per_trajectory;
} plumb_forecast_direction;

typedef struct plumb_forecast {
    plumb_forecast_direction forward, backward;
    double vpt, vpt_relative; ///< mean over the directions measured
    plumb_interval vpt_ci;
    int64_t trajectories, frames;
    double seconds;
    char input_hash[33];
    void *memory; ///< private
} plumb_forecast;

PLUMB_API plumb_forecast_options plumb_forecast_defaults(void);

/// truth (trajectories, steps, height, width, channels); prediction and backward alike, in
/// increasing time, a shorter or longer time axis being aligned as the protocol says; integers
/// are divided by their largest value (255 for u1). `backward` may be NULL.
PLUMB_API plumb_status plumb_forecast_measure(plumb_forecast *out, const plumb_array *truth,
                                              const plumb_array *prediction,
                                              const plumb_array *backward,
                                              const plumb_forecast_options *opt);

PLUMB_API void plumb_forecast_clear(plumb_forecast *result);

PLUMB_API void plumb_forecast_record(plumb_record *record, const plumb_forecast *result,
                                     const plumb_forecast_options *opt);

#ifdef __cplusplus
}
#endif
#endif
