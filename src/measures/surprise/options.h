// SPDX-License-Identifier: MIT
// Options of surprise.
#ifndef MEASURES_SURPRISE_OPTIONS_H
#define MEASURES_SURPRISE_OPTIONS_H

#include "base/option.h"
#include "plumb/surprise.h"

extern const option_table surprise_option_table;

/// Names of plumb_surprise_frames, NULL at the end.
extern const char *const surprise_frames_words[];

/// Fails with PLUMB_EVALUE, naming the member, if an option is out of range.
plumb_status surprise_options_check(const plumb_surprise_options *opt);

#endif
