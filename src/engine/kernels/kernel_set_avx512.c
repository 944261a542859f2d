// SPDX-License-Identifier: MIT
// The kernels in AVX-512: registers of sixteen floats.
#include "engine/kernels/kernel_set.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/kernels/simd.h"

#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define LANES 16
// Rows of a register tile with two and with one register of columns: 32 registers.
#define ROWS 8
#define ROWS1 8
#define PANEL_ROWS 16
#define FMA(a, b, c) ((VEC)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define MASK(count) ((__mmask16)((1u << (count)) - 1u))
#define PART_LOAD(p, count) ((VEC)_mm512_maskz_loadu_ps(MASK(count), p))
#define PART_STORE(p, v, count) _mm512_mask_storeu_ps(p, MASK(count), (__m512)(v))
#define HALVES(v) \
    _mm256_add_ps(_mm512_castps512_ps256((__m512)(v)), _mm512_extractf32x8_ps((__m512)(v), 1))
#define SUMS(a, b, c, d) sums_of_sixteen((__m512)(a), (__m512)(b), (__m512)(c), (__m512)(d))
// The halves of each register are added first, then as in AVX2.
TARGET static inline ALWAYS four sums_of_sixteen(__m512 a, __m512 b, __m512 c, __m512 d)
{
    const __m256 s =
        _mm256_hadd_ps(_mm256_hadd_ps(HALVES(a), HALVES(b)), _mm256_hadd_ps(HALVES(c), HALVES(d)));
    return (four)_mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
}
#include "engine/kernels/kernel_set_template.h"

#endif
