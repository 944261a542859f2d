// SPDX-License-Identifier: MIT
// Are the arrays read as they were meant? A hint changes no number.
#ifndef MEASURES_PROBE_HINT_H
#define MEASURES_PROBE_HINT_H

#include "measures/probe/input.h"

/// The first column that jumps by a turn, as an angle does that is wrapped into one; NULL if none.
const probe_column *probe_find_wrapped_angle(const probe_data *data);

#endif
