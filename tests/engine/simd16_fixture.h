// SPDX-License-Identifier: MIT
// The tiles and transforms once more in registers of sixteen floats, for whatever this compiler
// makes of them on this processor: the shape of the AVX-512 form is tested also where AVX-512 is
// not there.
#ifndef TESTS_ENGINE_SIMD16_FIXTURE_H
#define TESTS_ENGINE_SIMD16_FIXTURE_H

#include "engine/kernels/simd.h"

#pragma GCC diagnostic ignored "-Wpsabi" // no such vector is passed to other files
#pragma GCC optimize("O1")               // a table of unrolled loops: the compiler's time matters

typedef float wide_sixteen __attribute__((vector_size(64), aligned(4), may_alias));

static inline wide_sixteen wide_load(const float *p, int count)
{
    wide_sixteen v = {0};
    for (int i = 0; i < count; i++) v[i] = p[i];
    return v;
}

static inline void wide_store(float *p, wide_sixteen v, int count)
{
    for (int i = 0; i < count; i++) p[i] = v[i];
}

static inline float wide_sum(wide_sixteen v)
{
    float s = 0.0f;
    for (int i = 0; i < 16; i++) s += v[i];
    return s;
}

extern const kernel_set kernel_set_wide;

#define SET wide
#define TARGET
#define LANES 16
#define ROWS 8
#define ROWS1 8
#define PANEL_ROWS 16
#define FMA(a, b, c) ((a) * (b) + (c))
#define PART_LOAD(p, count) ((VEC)wide_load(p, count))
#define PART_STORE(p, v, count) wide_store(p, (wide_sixteen)(v), count)
#define SUMS(a, b, c, d) ((four){wide_sum(a), wide_sum(b), wide_sum(c), wide_sum(d)})
#include "engine/kernels/kernel_set_template.h"

// The sets that can be tried here, from 0 on; false after the last.
static inline bool wide_choose(int i)
{
    static const char *const sets[] = {"portable", "avx2", "avx512"};
    if (i < 3) {
        if (!kernel_set_select(sets[i])) kernel_set_select("portable");
    } else kernel_set_use(&kernel_set_wide);
    return i < 4;
}

#endif
