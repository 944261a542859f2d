// SPDX-License-Identifier: MIT
// The kernels in AVX2 with FMA: registers of eight floats.
#include "engine/kernels/kernel_set.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/kernels/simd.h"

#define SET avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
// Rows of a register tile with two and with one register of columns: as many sums as fit in 16
// registers.
#define ROWS 6
#define ROWS1 8
#define PANEL_ROWS 12
#define FMA(a, b, c) ((VEC)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define MASK(count) _mm256_loadu_si256((const __m256i *)(mask + 8 - (count)))
#define PART_LOAD(p, count) ((VEC)_mm256_maskload_ps(p, MASK(count)))
#define PART_STORE(p, v, count) _mm256_maskstore_ps(p, MASK(count), (__m256)(v))
#define SUMS(a, b, c, d) sums_of_eight((__m256)(a), (__m256)(b), (__m256)(c), (__m256)(d))
static const int32_t mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
// The sums of four registers, side by side, by horizontal additions.
TARGET static inline ALWAYS four sums_of_eight(__m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 s = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return (four)_mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
}
#include "engine/kernels/kernel_set_template.h"

#endif
