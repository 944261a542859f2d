// SPDX-License-Identifier: MIT
// Which instructions this processor has: kernels are compiled for several sets and chosen by name.
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

/// "avx512" (F, DQ, VL), "avx2" (with FMA) or "sse4.2" of an x86-64; "portable" is always there.
bool cpu_has(const char *set);

/// The same loops compiled for one set of instructions.
typedef struct cpu_variant {
    const char *set;
    const void *kernels;
} cpu_variant;

/// Of tables that end with portable ones, best first: those for `set`, or the first that this
/// processor can run if it is NULL. NULL if there are none for it here.
const cpu_variant *cpu_choose(const cpu_variant *table, const char *set);

// Tables of kernels by the names of their sets.
#if defined(__x86_64__)
#define CPU_AVX512(name) {"avx512", &(name)},
#define CPU_AVX2(name) {"avx2", &(name)},
#else
#define CPU_AVX512(name)
#define CPU_AVX2(name)
#endif
#define CPU_PORTABLE(name) \
    {"portable", &(name)}, \
    {                      \
        0                  \
    }

#endif
