// SPDX-License-Identifier: MIT
// The error of every frame: the small table that all numbers of the forecast are made from.
#ifndef MEASURES_FORECAST_FRAME_ERRORS_H
#define MEASURES_FORECAST_FRAME_ERRORS_H

#include "base/arena.h"
#include "measures/forecast/protocol.h"

/// What one direction is measured from.
typedef struct frame_errors_source {
    const plumb_array *truth, *prediction;
    const plumb_forecast_options *opt;
    bool backward;
    bool truth_is_new;  ///< false: it is known to be finite
    double from, share; ///< of the progress
} frame_errors_source;

typedef struct frame_errors {
    int64_t trajectories;
    forecast_plan plan;
    const double *errors; ///< (trajectories, plan.count): sum (x - y)^2 / sum x^2
    const bool *black;    ///< alike: the true frame is black, its error NaN or infinite
} frame_errors;

/// Five axes, none empty, and all but the second as the truth's. `name` is for the message.
plumb_status frame_errors_check_shape(const plumb_array *array, const plumb_array *truth,
                                      const char *name);

/// The truth's shape is checked already. Memory is taken from `mem`. Fails with PLUMB_ESHAPE,
/// PLUMB_ENUMERIC or PLUMB_EMEMORY.
plumb_status frame_errors_compute(frame_errors *out, arena *mem, const frame_errors_source *from);

#endif
