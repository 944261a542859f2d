// SPDX-License-Identifier: MIT
// Forecast: how close are predicted frames to true ones, and for how long?
// Normalised MSE of reconstruction and extrapolation, and valid prediction time (VPT) [Higgins21].
//
// The error of a frame is e = sum (x - y)^2 / sum x^2 over its pixels, x true and y predicted.
// Frames are of two kinds: reconstruction ("rec"), near the inferred state, which the model was
// trained to predict, and extrapolation, all others. The MSEs are means of e. The VPT is the number
// of frames of extrapolation before the first with e > threshold, or all if there is none.
#ifndef PLUMB_FORECAST_H
#define PLUMB_FORECAST_H

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_FORECAST_VERSION 1

/// Which frames are targets, with i inference frames and t target frames. Truth frames are 0 to
/// T - 1. "skips s, trains on l" means: forward targets are frames s to T - 1, the first l - s of
/// them reconstruction (rec); backward targets are frames 0 to T - 1 - s, the last l - s of them
/// rec. All other targets are extrapolation.
typedef enum plumb_forecast_protocol {
    PLUMB_FORECAST_PROTOCOL_PLAIN, ///< Skips 0, trains on `split`. All arrays have one length.
    PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE,    ///< Skips i - 1, trains on i + t - 1.
    PLUMB_FORECAST_PROTOCOL_NO_OVERLAP,        ///< Skips i, trains on i + t.
    PLUMB_FORECAST_PROTOCOL_INCLUDE_INFERENCE, ///< Skips 0, trains on i + t.
    PLUMB_FORECAST_PROTOCOL_AUTOREGRESSIVE,    ///< Skips 1, trains on t.
} plumb_forecast_protocol;

/// The frame from which backward VPT counts.
typedef enum plumb_forecast_vpt_origin {
    /// The frame of extrapolation nearest to the inferred state.
    PLUMB_FORECAST_VPT_ORIGIN_INFERRED,
    PLUMB_FORECAST_VPT_ORIGIN_PUBLISHED, ///< The farthest one, as in the published code.
} plumb_forecast_vpt_origin;

/// How the VPTs of many trajectories become one number.
typedef enum plumb_forecast_average {
    /// Median of each batch, then mean over batches, as in the published code.
    PLUMB_FORECAST_AVERAGE_MEDIAN,
    PLUMB_FORECAST_AVERAGE_MEAN, ///< Mean over all trajectories, as in the paper.
} plumb_forecast_average;

/// The settings. Take them from plumb_forecast_defaults() and change what you need.
typedef struct plumb_forecast_options {
    size_t size;                    ///< sizeof(plumb_forecast_options)
    plumb_forecast_protocol frames; ///< Default PLUMB_FORECAST_PROTOCOL_PLAIN.
    int64_t split;                  ///< Frames of rec in the plain protocol, 0 or more. Default 60.
    int64_t extrapolate; ///< Nearest frames of extrapolation in the Ext MSE; 0: all. Default 60.
    int64_t inference;   ///< i: frames from which the state is inferred. Default 5.
    int64_t target;      ///< t: frames that the model was trained to predict. Default 60.
    double threshold;    ///< VPT ends at the first frame with e above it. Default 0.025.
    plumb_forecast_vpt_origin backward_count; ///< Default PLUMB_FORECAST_VPT_ORIGIN_INFERRED.
    plumb_forecast_average average;           ///< Default PLUMB_FORECAST_AVERAGE_MEDIAN.
    /// Trajectories per median; 0: all in one. A smaller last batch weighs less. Default 5.
    int64_t batch;
    int64_t resamples; ///< Bootstrap draws for the 95 % intervals; 0: none. Default 2000.
    uint64_t seed;     ///< Of the bootstrap. Default 1.
    int threads;       ///< 0: plumb_system_threads(). Does not affect the result. Default 0.
} plumb_forecast_options;

/// The MSE over a range of frames: mean over trajectories of the mean over frames of e.
typedef struct plumb_forecast_mse {
    double relative;   ///< The MSE; 1 for a prediction that is all black.
    double published;  ///< `relative` / (height * width * channels), as in the paper's tables.
    plumb_interval ci; ///< 95 % interval of `relative`; NaN with too few trajectories.
    plumb_interval published_ci;  ///< 95 % interval of `published`.
    int64_t first, frames;        ///< Truth frames first to first + frames - 1.
    const char *why;              ///< Why it is NaN or infinite, or NULL.
    const double *per_trajectory; ///< (trajectories) relative MSE of each.
} plumb_forecast_mse;

/// What a picture that never moves scores in place of the prediction.
typedef struct plumb_forecast_still {
    double vpt;   ///< Its valid prediction time, averaged as that of the prediction.
    double error; ///< Its mean relative error over the frames that the VPT counts.
} plumb_forecast_still;

/// One direction of time.
typedef struct plumb_forecast_direction {
    bool measured;                    ///< The rest is zero if false.
    plumb_forecast_mse rec;           ///< Reconstruction.
    plumb_forecast_mse ext;           ///< The nearest frames of extrapolation.
    plumb_forecast_mse full;          ///< All targets.
    double vpt;                       ///< Valid prediction time, in frames.
    double vpt_relative;              ///< `vpt` / `length`, 0 to 1.
    double vpt_published;             ///< VPT as the published code counts; differs only backward.
    plumb_interval vpt_ci;            ///< 95 % interval of `vpt`.
    int64_t length;                   ///< Frames of extrapolation, the largest possible VPT.
    const double *vpt_per_trajectory; ///< (trajectories), counted as `vpt` is.
    int64_t first, frames;            ///< Truth frames measured: first to first + frames - 1.
    const double *errors;             ///< e, (trajectories, frames). 0/0 is NaN, x/0 is infinity.
    int64_t black;                    ///< Black true frames, for which e is NaN or infinite.
    double vpt_mean;                 ///< VPT by PLUMB_FORECAST_AVERAGE_MEAN, whatever `average` is.
    double vpt_median;               ///< VPT by PLUMB_FORECAST_AVERAGE_MEDIAN.
    plumb_forecast_still mean_frame; ///< The mean of all true frames of all trajectories.
    plumb_forecast_still last_frame; ///< A copy of the last frame before those that the VPT
                                     ///< counts; NaN if there is none.
    /// Half of the smaller error of the two pictures, at most `threshold`.
    double still_threshold;
    double vpt_above_still; ///< VPT of the prediction with still_threshold in place of `threshold`.
} plumb_forecast_direction;

/// The largest Lyapunov exponent of the true states: how fast neighbouring states separate
/// [Rosenstein93]. The estimate is good to about a quarter where trajectories are dense, and to an
/// order of magnitude where a hundred short ones are far apart.
typedef struct plumb_lyapunov {
    double exponent;   ///< Per step; about 0 if not chaotic. VPT times it is in Lyapunov times.
    plumb_interval ci; ///< 95 % interval, bootstrap over trajectories.
    const char *why;   ///< Why it is NaN although states were given, or NULL.
} plumb_lyapunov;

/// The result. Free what it owns with plumb_forecast_clear().
typedef struct plumb_forecast {
    plumb_forecast_direction forward, backward; ///< `backward` only if it was predicted.
    double vpt;                                 ///< Mean over the directions measured, in frames.
    double vpt_relative;                        ///< The same of vpt_relative, 0 to 1.
    plumb_interval vpt_ci;                      ///< 95 % interval of `vpt`.
    const double *vpt_per_trajectory;           ///< (trajectories) mean over the directions.
    int64_t trajectories, steps;                ///< Of the truth.
    int64_t height, width, channels;            ///< Of the frames.
    plumb_lyapunov lyapunov;                    ///< Of `states`; NaN if they were not given.
    double seconds;                             ///< Time of the call.
    char input_hash[33];                        ///< XXH3-128 of the arrays, in hexadecimal.
    void *memory;                               ///< Private.
    double vpt_mean, vpt_median; ///< Means over the directions of the members of that name.
    double vpt_above_still;      ///< The same.
    plumb_forecast_still mean_frame, last_frame; ///< The same.
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

/// Measures how close `prediction` is to `truth`, and for how long.
/// All are (trajectories, steps, height, width, channels) in increasing time. In the plain protocol
/// predictions have as many steps as the truth. In the others they have at least as many as there
/// are targets; of a longer forward prediction the last frames count, of a longer backward one the
/// first. `backward` is predicted back in time from the last frames. `states` (trajectories, steps,
/// dimension) are the true states, for the Lyapunov exponent, which needs 8 trajectories of 16
/// steps. Arrays of different types are brought to one scale: u1 is divided by 255, u2 by 65535. A
/// black true frame has no relative error: 0/0 is NaN and never ends a VPT, x/0 is infinite and
/// does; an MSE over it is NaN or infinite, with `why` set.
/// May be NULL: backward, states, options. On failure `result` is unchanged.
/// Fails with PLUMB_ESHAPE if shapes or types do not fit together, PLUMB_ENUMERIC if a value is NaN
/// or infinite or no frame is left to extrapolate, PLUMB_EVALUE if an option is invalid.
PLUMB_API plumb_status plumb_forecast_measure(plumb_forecast *result, const plumb_array *prediction,
                                              const plumb_array *backward, const plumb_array *truth,
                                              const plumb_array *states,
                                              const plumb_forecast_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_forecast_clear(plumb_forecast *result);

/// Writes the result under the names that `plumb forecast --json` prints. May be NULL: options.
PLUMB_API void plumb_forecast_record(plumb_record *record, const plumb_forecast *result,
                                     const plumb_forecast_options *options);

/// Writes trajectory `trajectory`, 0 to trajectories - 1, as one line of `--items`: VPTs, MSEs and
/// the error of every frame.
PLUMB_API void plumb_forecast_item_record(plumb_record *record, const plumb_forecast *result,
                                          int64_t trajectory);

#ifdef __cplusplus
}
#endif
#endif
