// SPDX-License-Identifier: MIT
// Options of kappa.
#ifndef MEASURES_KAPPA_OPTIONS_H
#define MEASURES_KAPPA_OPTIONS_H

#include "base/option.h"
#include "plumb/kappa.h"

extern const option_table kappa_option_table;

/// Fails with PLUMB_EVALUE, naming the member, if an option is out of range.
plumb_status kappa_options_check(const plumb_kappa_options *opt);

#endif
