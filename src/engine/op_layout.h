// SPDX-License-Identifier: MIT
// The axes of an array as three: those before an axis, the axis (or several), those after.
#ifndef ENGINE_OP_LAYOUT_H
#define ENGINE_OP_LAYOUT_H

#include "engine/graph.h"

/// Products of the sizes of these axes.
typedef struct op_layout {
    int64_t outer, middle, inner;
} op_layout;

static inline op_layout op_layout_along(const tensor_shape *shape, int axis, int axes)
{
    op_layout layout = {1, 1, 1};
    for (int i = 0; i < shape->rank; i++)
        *(i < axis          ? &layout.outer
          : i < axis + axes ? &layout.middle
                            : &layout.inner) *= shape->size[i];
    return layout;
}

#endif
