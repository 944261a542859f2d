// SPDX-License-Identifier: MIT
// Forecast: how close are predicted frames to true ones, and for how long?
// Normalised MSE of reconstruction and extrapolation, and valid prediction time (VPT) [Higgins21].
//
// The error of a frame is e = sum (x - y)^2 / sum x^2 over its pixels, x true and y predicted.
// Frames fall into two parts: those near the inferred state, which the model was trained to
// predict ("rec"), and all beyond ("extrapolation"). The MSEs are means of e; the VPT is the number
// of frames of extrapolation before the first with e > threshold, or all of them if there is none.
#ifndef PLUMB_FORECAST_H
#define PLUMB_FORECAST_H

#include "plumb/array.h"
#include "plumb/record.h"
#include "plumb/symetric.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_FORECAST_VERSION 1

/// Which frames a model saw and which it was trained to predict, with i frames to infer the state
/// from and t to predict. Truth frames 0 .. T-1; "skips s, trains on l" means that forward targets
/// are frames s .. T-1, the first l - s of them rec, and backward targets are frames
/// 0 .. T-1-s, the last l - s of them rec; the others are extrapolation.
typedef enum plumb_forecast_protocol {
    PLUMB_FORECAST_PROTOCOL_PLAIN, ///< skips none, trains on `split`; all arrays of one length
    PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE,    ///< skips i-1, trains on i+t-1
    PLUMB_FORECAST_PROTOCOL_NO_OVERLAP,        ///< skips i, trains on i+t
    PLUMB_FORECAST_PROTOCOL_INCLUDE_INFERENCE, ///< skips none, trains on i+t
    PLUMB_FORECAST_PROTOCOL_AUTOREGRESSIVE,    ///< skips 1, trains on t
} plumb_forecast_protocol;

/// From which end backward VPT counts.
typedef enum plumb_forecast_vpt_origin {
    PLUMB_FORECAST_VPT_ORIGIN_INFERRED, ///< from the frame of extrapolation nearest to the inferred
                                        ///< state
    PLUMB_FORECAST_VPT_ORIGIN_PUBLISHED, ///< from the farthest one, as the published code does
} plumb_forecast_vpt_origin;

/// How the VPTs of many trajectories become one number.
typedef enum plumb_forecast_average {
    PLUMB_FORECAST_AVERAGE_MEDIAN, ///< median of each batch, then mean over batches, as the code
                                   ///< does
    PLUMB_FORECAST_AVERAGE_MEAN,   ///< mean over all trajectories, as the paper says
} plumb_forecast_average;

/// The settings. Take them from plumb_forecast_defaults() and change what you need.
typedef struct plumb_forecast_options {
    size_t size; ///< sizeof(plumb_forecast_options)
    plumb_forecast_protocol frames;
    int64_t split;       ///< frames of rec in PLUMB_FORECAST_PROTOCOL_PLAIN, 60; 0: there are none
    int64_t extrapolate; ///< frames of extrapolation, the nearest, in the Ext MSE, 60; 0 all
    int64_t inference;   ///< i, 5
    int64_t target;      ///< t, 60
    double threshold;    ///< of the VPT, 0.025
    plumb_forecast_vpt_origin backward_count;
    plumb_forecast_average average;
    int64_t batch; ///< trajectories a median, 5; 0 all in one. A last, smaller batch weighs less
    int64_t resamples; ///< bootstrap draws for the 95 % intervals, 2000; 0 none
    uint64_t seed;     ///< of the bootstrap, 1
    int threads;       ///< 0: plumb_system_threads(). Changes no result
} plumb_forecast_options;

/// An MSE of one stretch of frames: mean over trajectories of the mean over frames of e.
typedef struct plumb_forecast_mse {
    double relative;   ///< that; 1 for a prediction that is all black
    double published;  ///< divided by height*width*channels too, as the paper's tables have it
    plumb_interval ci; ///< of `relative`; NaN if there are too few trajectories
    plumb_interval published_ci;
    int64_t first, frames;        ///< truth frames first .. first+frames-1
    const char *why;              ///< NULL, or why it is not a finite number
    const double *per_trajectory; ///< relative
} plumb_forecast_mse;

/// One direction of time.
typedef struct plumb_forecast_direction {
    bool measured; ///< the rest is zero if not
    plumb_forecast_mse rec, ext, full;
    double vpt;           ///< frames
    double vpt_relative;  ///< share of the frames there are
    double vpt_published; ///< counted the published way; differs from `vpt` backward only
    plumb_interval vpt_ci;
    int64_t length;                   ///< frames of extrapolation, the longest VPT there can be
    const double *vpt_per_trajectory; ///< counted as `vpt` is
    int64_t first, frames;            ///< truth frames measured: first .. first+frames-1
    const double *errors;             ///< e, (trajectories, frames): NaN for 0/0, infinity for x/0
    int64_t black; ///< true frames among them that are black, where e is not finite
} plumb_forecast_direction;

/// The largest Lyapunov exponent of the true states: how fast neighbouring states separate. It is
/// estimated from the growth of the distance between near states of different trajectories. The
/// estimate is good to about a quarter where trajectories are dense, and only an order of magnitude
/// where a hundred short ones lie far apart.
typedef struct plumb_lyapunov {
    double
        exponent; ///< Per step; about 0 if not chaotic. VPT times it is the VPT in Lyapunov times.
    plumb_interval ci; ///< 95 % interval, bootstrap over trajectories.
    const char *why;   ///< Why it is NaN although states were given, or NULL.
} plumb_lyapunov;

/// What was measured. Free what it points to with plumb_forecast_clear.
typedef struct plumb_forecast {
    plumb_forecast_direction forward, backward;
    double vpt, vpt_relative; ///< mean over the directions measured
    plumb_interval vpt_ci;
    const double *vpt_per_trajectory;
    int64_t trajectories, steps;
    int64_t height, width, channels;
    plumb_lyapunov lyapunov; ///< of `states`; NaN if they were not given
    double seconds;
    char input_hash[33]; ///< XXH3-128 of the arrays
    void *memory;        ///< private
} plumb_forecast;

/// Sets the first `size` bytes of `options` to the defaults. plumb_forecast_defaults() calls it.
PLUMB_API void plumb_forecast_options_init(plumb_forecast_options *options, size_t size);

/// The published configuration, with backward VPT counted from the inferred state and the frames
/// split plainly at 60.
static inline plumb_forecast_options plumb_forecast_defaults(void)
{
    plumb_forecast_options options;
    plumb_forecast_options_init(&options, sizeof options);
    return options;
}

/// How close is `prediction` to `truth`, and for how long?
/// All are (trajectories, steps, height, width, channels) in increasing time. In
/// PLUMB_FORECAST_PROTOCOL_PLAIN predictions have as many steps as the truth; in the other
/// protocols at least as many as there are targets, of which a forward one keeps the last and a
/// backward one the first. `backward` is the prediction of a model run back from the last frames.
/// `states` (trajectories, steps, dimension) are the true states, for the Lyapunov exponent, which
/// needs 8 trajectories of 16 steps. May be NULL: backward, states, opt. Arrays of different types
/// are brought to one scale: u1 is divided by 255, u2 by 65535. On failure `out` is left as it was.
/// A black true frame has no relative error: 0/0 is NaN and never ends a VPT, x/0 is infinite and
/// does, and an MSE over it is NaN or infinite with `why` set.
/// Fails with PLUMB_ESHAPE if shapes or types do not fit together, PLUMB_ENUMERIC if a value is not
/// finite or no frame is left to extrapolate, PLUMB_EVALUE if an option makes no sense.
PLUMB_API plumb_status plumb_forecast_measure(plumb_forecast *out, const plumb_array *prediction,
                                              const plumb_array *backward, const plumb_array *truth,
                                              const plumb_array *states,
                                              const plumb_forecast_options *opt);

PLUMB_API void plumb_forecast_clear(plumb_forecast *result);

/// The result under the names that `plumb forecast --json` prints.
PLUMB_API void plumb_forecast_record(plumb_record *record, const plumb_forecast *result,
                                     const plumb_forecast_options *opt);

/// Writes trajectory `trajectory` as one line of --items: VPTs, MSEs and the error of every frame.
PLUMB_API void plumb_forecast_item_record(plumb_record *record, const plumb_forecast *result,
                                          int64_t trajectory);

#ifdef __cplusplus
}
#endif
#endif
