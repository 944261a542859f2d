// SPDX-License-Identifier: MIT
// plumb evaluate for models of films.
#ifndef CLI_CMD_EVALUATE_VIDEO_H
#define CLI_CMD_EVALUATE_VIDEO_H

#include "cli/common/command.h"

/// Judges, prints and saves; `require` may be NULL. Returns the exit code.
int cmd_evaluate_video(const cli_command *c, const char *run,
                       const plumb_evaluation_video_options *opt, const char *require, bool json);

/// Its bars, for a spelling that is wrong before anything is computed.
int cmd_evaluate_video_requirements(const cli_command *c, const char *require,
                                    const plumb_evaluation_video *r, require_use *use);

#endif
