// SPDX-License-Identifier: MIT
// Axes seen from one of them: what lies before it, itself, and what lies after.
#ifndef ENGINE_OP_LAYOUT_H
#define ENGINE_OP_LAYOUT_H

#include "engine/graph.h"

typedef struct op_layout {
    int64_t outer, middle, inner;
} op_layout;

static inline op_layout op_layout_along(const tensor_shape *s, int axis, int axes)
{
    op_layout l = {1, 1, 1};
    for (int i = 0; i < s->rank; i++)
        *(i < axis ? &l.outer : i < axis + axes ? &l.middle : &l.inner) *= s->size[i];
    return l;
}

#endif
