// SPDX-License-Identifier: MIT
// Copies of floats. Most are short, as the channels of one pixel, and there a call of memcpy takes
// longer than the copy.
#ifndef ENGINE_COPY_FLOATS_H
#define ENGINE_COPY_FLOATS_H

#include <stdint.h>
#include <string.h>

/// The arrays must not overlap.
static inline void copy_floats(float *out, const float *in, int64_t count)
{
    enum { SHORT = 128, STEP = 8 };
    if (count > SHORT) {
        memcpy(out, in, (size_t)count * sizeof *out);
        return;
    }
    int64_t i = 0;
    for (; i + STEP <= count; i += STEP) memcpy(out + i, in + i, STEP * sizeof *out);
    for (; i < count; i++) memcpy(out + i, in + i, sizeof *out);
}

#endif
