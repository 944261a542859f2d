// SPDX-License-Identifier: MIT
// Arrays inside the library: sizes checked against overflow, conversion to double.
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>

#include "base/arena.h"
#include "plumb/array.h"

/// Counts the elements of a shape that was read from a file. False if an axis is negative, or if
/// the number of elements or bytes overflows.
bool array_count_checked(int64_t *count, const int64_t *shape, int ndim, size_t item_size);

/// Creates an array in `mem`, zeroed. Fails with PLUMB_EMEMORY.
plumb_status array_create(plumb_array *out, arena *mem, plumb_dtype dtype, int ndim,
                          const int64_t *shape);

/// Fails with PLUMB_ENUMERIC: `name` has `count` values that are not finite, the first at flat
/// index `first`; `advice` ends the sentence and may be "".
plumb_status array_reject_nonfinite(const plumb_array *array, const char *name, int64_t count,
                                    int64_t first, const char *advice);

/// The value of white in images of this type: 255 for u1, 65535 for u2, 1 for floats and bool, 0
/// for other types.
double array_white_level(plumb_dtype dtype);

/// out = steps first .. first + count - 1 of an array (trajectories, steps, ...), a copy in `mem`.
/// Fails with PLUMB_EMEMORY.
plumb_status array_copy_steps(plumb_array *out, arena *mem, const plumb_array *array, int64_t first,
                              int64_t count);

/// Returns the elements as doubles: the memory of the array if it is f8, else a copy in `mem`; NULL
/// if out of memory.
const double *array_as_doubles(arena *mem, const plumb_array *array);

#endif
