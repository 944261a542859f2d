// SPDX-License-Identifier: MIT
// Options of a sweep.
#ifndef SWEEP_OPTIONS_H
#define SWEEP_OPTIONS_H

#include "base/option.h"
#include "plumb/sweep.h"

extern const option_table sweep_option_table;

#endif
