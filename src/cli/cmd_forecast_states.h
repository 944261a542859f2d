// SPDX-License-Identifier: MIT
// plumb forecast of states and physical fields.
#ifndef CLI_CMD_FORECAST_STATES_H
#define CLI_CMD_FORECAST_STATES_H

#include "cli/common/command.h"

typedef struct forecast_states {
    plumb_array truth, prediction;
    plumb_array energy, prediction_energy; ///< ndim 0: not given
    const char *world;                     ///< NULL: none
    const char *require;
    cli_format format;
    plumb_state_forecast_options opt;
} forecast_states;

/// Checks --require, measures, prints. Returns the exit code.
int forecast_states_run(const forecast_states *cmd, const char *file);

#endif
