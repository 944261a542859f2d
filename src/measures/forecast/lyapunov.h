// SPDX-License-Identifier: MIT
// The largest Lyapunov exponent of trajectories.
#ifndef MEASURES_FORECAST_LYAPUNOV_H
#define MEASURES_FORECAST_LYAPUNOV_H

#include "plumb/forecast.h"

/// Estimates the exponent from (trajectories, steps, dimension) states. Fails with PLUMB_ESHAPE
/// below 8 trajectories of 16 steps, PLUMB_ENUMERIC if states are not finite or constant.
plumb_status lyapunov_estimate(plumb_lyapunov *out, const plumb_array *states);

#endif
