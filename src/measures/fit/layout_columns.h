// SPDX-License-Identifier: MIT
// The order of columns of states: which column of an array is which position or momentum.
#ifndef MEASURES_FIT_LAYOUT_COLUMNS_H
#define MEASURES_FIT_LAYOUT_COLUMNS_H

#include <stdint.h>

#include "plumb/layout.h"

/// The names of the values of plumb_layout, for tables of options.
extern const char *const layout_words[];

/// Of an array whose layout is a permutation of `columns`: where its column i of positions first
/// is.
int64_t layout_column(plumb_layout layout, int64_t i, int64_t columns);

#endif
