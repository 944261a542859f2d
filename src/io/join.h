// SPDX-License-Identifier: MIT
// Joins arrays of a file along their last axis: the columns q and p of a table are one array.
#ifndef IO_JOIN_H
#define IO_JOIN_H

#include "base/arena.h"
#include "base/status.h"
#include "plumb/array.h"

/// out = the parts side by side, as f8, in `mem`. In a table, parts (rows) and (rows, k) become
/// (rows, sum of k). Elsewhere parts of one shape with at most two axes get a new last axis, and
/// others are joined along the last one. `names` is for messages. Fails with PLUMB_ESHAPE if the
/// other axes differ, PLUMB_EMEMORY.
plumb_status join_arrays(plumb_array *out, arena *mem, const plumb_array *parts, int64_t count,
                         bool table, const char *names);

#endif
