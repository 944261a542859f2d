// SPDX-License-Identifier: MIT
// What the instruction sets share: names that end with the set, and vectors of four floats.
#ifndef ENGINE_KERNELS_SIMD_H
#define ENGINE_KERNELS_SIMD_H

#include <stddef.h>

#include "engine/kernels/kernel_set.h"

// Tiles are inlined with constant sizes and unrolled, so that their sums stay in registers. Under a
// sanitizer that would take minutes to compile; there they are ordinary loops.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif
#ifdef SANITIZED
#define ALWAYS
#define UNROLL
#else
#define ALWAYS __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#endif

// The compiler must compute with these variables as they are, and not replace sums of them by more
// variables.
#define KEEP_IN_REGISTERS(a, b) __asm__("" : "+r"(a), "+r"(b))

#define NAME_(kernel, set) kernel##_##set
#define NAME(kernel, set) NAME_(kernel, set)

// Four floats. Loads and stores touch only the first `count` of them in memory.
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t four_bits __attribute__((vector_size(16)));

static inline ALWAYS four four_load(const float *p, int count)
{
    if (count == 4) return *(const four *)p;
    return (four){p[0], count > 1 ? p[1] : 0.0f, count > 2 ? p[2] : 0.0f, 0.0f};
}

static inline ALWAYS void four_store(float *p, four v, int count)
{
    if (count == 4) *(four *)p = v;
    else
        for (int i = 0; i < 3; i++)
            if (i < count) p[i] = v[i];
}

static inline ALWAYS four four_leaky_relu(four v, float slope)
{
    const four_bits positive = v > 0.0f;
    return (four)((positive & (four_bits)v) | (~positive & (four_bits)(v * slope)));
}

#endif
