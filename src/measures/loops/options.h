// SPDX-License-Identifier: MIT
// Options of the measure of loops.
#ifndef MEASURES_LOOPS_OPTIONS_H
#define MEASURES_LOOPS_OPTIONS_H

#include "base/option.h"
#include "plumb/loops.h"

extern const option_table loops_option_table;

#endif
