// SPDX-License-Identifier: MIT
// Which frames are compared with which, and in which part they fall.
#ifndef MEASURES_FORECAST_PROTOCOL_H
#define MEASURES_FORECAST_PROTOCOL_H

#include "plumb/forecast.h"

typedef struct forecast_window {
    int64_t first, count;
} forecast_window;

typedef struct forecast_plan {
    int64_t first, count;          ///< the targets: truth frames first .. first+count-1
    int64_t shift;                 ///< prediction frame = truth frame + shift
    forecast_window rec, ext, vpt; ///< counted from `first`
} forecast_plan;

/// The targets of one direction, for truth of `steps` frames and a prediction of `predicted`.
/// Options are in range already. Fails with PLUMB_ESHAPE or PLUMB_ENUMERIC.
plumb_status forecast_protocol_plan(forecast_plan *out, const plumb_forecast_options *opt,
                                    int64_t steps, int64_t predicted, bool backward);

/// Frames from the near end of `errors` to the first above `threshold`, `count` if none is. The
/// near end is the last one if `reversed`. NaN is above nothing.
int64_t forecast_protocol_valid_steps(const double *errors, int64_t count, double threshold,
                                      bool reversed);

/// "overlap-by-one" and so on: the names the command line uses.
const char *forecast_protocol_name(plumb_forecast_protocol frames);

#endif
