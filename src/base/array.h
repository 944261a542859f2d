// SPDX-License-Identifier: MIT
// Inside the house: arrays as doubles, and sizes that cannot overflow.
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>

#include "base/arena.h"
#include "plumb/array.h"

/// The number of elements of a shape that came from outside; false if it is negative or overflows,
/// or if the bytes would.
bool array_count_checked(int64_t *count, const int64_t *shape, int ndim, size_t item_size);

/// A fresh array in `mem`, zeroed. Fails with PLUMB_EMEMORY.
plumb_status array_create(plumb_array *out, arena *mem, plumb_dtype dtype, int ndim,
                          const int64_t *shape);

/// Fails with PLUMB_ENUMERIC: `name` has `count` values that are not finite, the first at flat
/// index `first`; `advice` ends the sentence and may be "".
plumb_status array_reject_nonfinite(const plumb_array *array, const char *name, int64_t count,
                                    int64_t first, const char *advice);

/// The value of white of images of this type: 255 for u1, 65535 for u2, 1 for floats and bool, 0
/// for types that have none.
double array_white_level(plumb_dtype dtype);

/// The whole array as doubles: the array's own memory if it is F8 already, else a copy in `mem`;
/// NULL if memory runs out.
const double *array_as_doubles(arena *mem, const plumb_array *array);

#endif
