// SPDX-License-Identifier: MIT
// Options of the flow.
#ifndef MEASURES_FLOW_OPTIONS_H
#define MEASURES_FLOW_OPTIONS_H

#include "base/option.h"
#include "plumb/flow.h"

extern const option_table flow_option_table;

#endif
