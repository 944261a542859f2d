// SPDX-License-Identifier: MIT
// Options of the probe.
#ifndef MEASURES_PROBE_OPTIONS_H
#define MEASURES_PROBE_OPTIONS_H

#include "base/option.h"
#include "plumb/probe.h"

extern const option_table probe_option_table;

/// Fails with PLUMB_EVALUE, naming the member, if an option is out of range.
plumb_status probe_options_check(const plumb_probe_options *opt);

#endif
