// SPDX-License-Identifier: MIT
// The tables of plumb evaluate for a video model.
#ifndef CLI_CMD_EVALUATE_VIDEO_H
#define CLI_CMD_EVALUATE_VIDEO_H

#include "cli/common/command.h"

/// Prints the tables of `evaluation`, whose kind is PLUMB_EVALUATION_VIDEO.
void print_evaluation_video(const char *run, const plumb_evaluation *evaluation);

#endif
