// SPDX-License-Identifier: MIT
// Columns that are cosines and sines of angles: (cos, sin, momenta).
#ifndef MEASURES_FIT_CIRCLE_COLUMNS_H
#define MEASURES_FIT_CIRCLE_COLUMNS_H

#include <stdbool.h>

#include "plumb/array.h"

/// How cosines and sines are ordered.
typedef enum circle_order {
    CIRCLE_NONE,    ///< there are none
    CIRCLE_BY_PAIR, ///< cos 1, sin 1, cos 2, sin 2 ...
    CIRCLE_BY_KIND, ///< cos 1, cos 2 ..., sin 1, sin 2 ...
} circle_order;

/// The order in which the first two thirds of the columns of an array (trajectories, steps, 3n) are
/// cosines and sines: two squares add up to the same number in all rows.
circle_order circle_columns_find(const plumb_array *array);

/// The column of the cosine (part 0) or sine (part 1) of angle i of n.
int64_t circle_column(circle_order order, int64_t n, int64_t i, int part);

#endif
