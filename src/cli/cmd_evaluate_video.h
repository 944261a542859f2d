// SPDX-License-Identifier: MIT
// plumb evaluate for models of films.
#ifndef CLI_CMD_EVALUATE_VIDEO_H
#define CLI_CMD_EVALUATE_VIDEO_H

#include "cli/common/command.h"

/// Judges, prints and saves; `require` may be NULL. Returns the exit code.
int evaluate_films(const command *c, const char *run, const plumb_expect_options *opt,
                   const char *require, bool json);

/// Its bars, for a spelling that is wrong before anything is computed.
int evaluate_films_bars(const command *c, const char *require, const plumb_expect *r,
                        bars_use *use);

#endif
