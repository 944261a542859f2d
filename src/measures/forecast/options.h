// SPDX-License-Identifier: MIT
// Options of the forecast.
#ifndef MEASURES_FORECAST_OPTIONS_H
#define MEASURES_FORECAST_OPTIONS_H

#include "base/option.h"
#include "plumb/forecast.h"

extern const option_table forecast_option_table;

/// Fails with PLUMB_EVALUE, naming the member, if an option is out of range.
plumb_status forecast_options_check(const plumb_forecast_options *opt);

#endif
