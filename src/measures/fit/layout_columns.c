// SPDX-License-Identifier: MIT
#include "measures/fit/layout_columns.h"

#include <stddef.h>

const char *const layout_words[] = {"positions-first", "momenta-first", "interleaved",
                                    "velocities",      "circle",        NULL};

int64_t layout_column(plumb_layout layout, int64_t i, int64_t columns)
{
    const int64_t half = columns / 2;
    if (layout == PLUMB_LAYOUT_MOMENTA_FIRST) return i < half ? i + half : i - half;
    if (layout == PLUMB_LAYOUT_INTERLEAVED) return i < half ? 2 * i : 2 * (i - half) + 1;
    return i;
}
