// SPDX-License-Identifier: MIT
// Options of SyMetric.
#ifndef MEASURES_SYMETRIC_OPTIONS_H
#define MEASURES_SYMETRIC_OPTIONS_H

#include "base/option.h"
#include "plumb/symetric.h"

extern const option_table symetric_option_table;

/// Fails with PLUMB_EVALUE, naming the member, if an option is out of range.
plumb_status symetric_options_check(const plumb_symetric_options *opt);

#endif
