// SPDX-License-Identifier: MIT
// plumb surprise FOLDER: the table of a study.
#ifndef CLI_CMD_SURPRISE_STUDY_H
#define CLI_CMD_SURPRISE_STUDY_H

#include "cli/common/command.h"

/// True for a folder that holds loss files, or a folder raw_surprises.
bool surprise_study_is(const char *path);

/// Measures and prints the table of a folder. Returns the exit code.
int surprise_study_run(const char *folder, const plumb_surprise_losses_options *options,
                       cli_format format);

#endif
