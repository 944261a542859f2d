// SPDX-License-Identifier: MIT
// Options of the measures of a phase space.
#ifndef MEASURES_PHASE_SPACE_OPTIONS_H
#define MEASURES_PHASE_SPACE_OPTIONS_H

#include "base/option.h"
#include "plumb/phase_space.h"

extern const option_table phase_space_option_table;

#endif
