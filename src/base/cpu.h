// SPDX-License-Identifier: MIT
// Which instructions this processor has: kernels are compiled for several sets and chosen by name.
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

/// "avx512" (F, DQ, VL), "avx2" (with FMA) or "sse4.2" of an x86-64; "portable" is always there.
bool cpu_has(const char *set);

#endif
