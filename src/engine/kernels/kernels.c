// SPDX-License-Identifier: MIT
// One body per tile and transform, compiled once per instruction set, chosen by a table when the
// library loads.
#include "engine/kernels/kernels.h"

#include <stddef.h>
#include <string.h>

#include "base/cpu.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ALWAYS __attribute__((always_inline))
#define NAME_(kernel, set) kernel##_##set
#define NAME(kernel, set) NAME_(kernel, set)

// Four floats, of which only the first `count` are touched in memory.
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

static inline ALWAYS four four_leaky(four v, float slope)
{
    const four_bits positive = v > 0.0f;
    return (four)((positive & (four_bits)v) | (~positive & (four_bits)(v * slope)));
}

#define SET portable
#define TARGET
#define LANES 4
#define ROWS 6
#define ROWS1 8
#define FMA(a, b, c) ((a) * (b) + (c))
#define PART_LOAD(p, count) ((VEC)four_load(p, count))
#define PART_STORE(p, v, count) four_store(p, (four)(v), count)
#define SUMS(a, b, c, d)               \
    (four)                             \
    {                                  \
        SUM(a), SUM(b), SUM(c), SUM(d) \
    }
#define SUM(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
#include "engine/kernels/set_kernels.h"

#if defined(__x86_64__)

#define SET avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define ROWS 6
#define ROWS1 8
#define FMA(a, b, c) ((VEC)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define MASK(count) _mm256_loadu_si256((const __m256i *)(mask + 8 - (count)))
#define PART_LOAD(p, count) ((VEC)_mm256_maskload_ps(p, MASK(count)))
#define PART_STORE(p, v, count) _mm256_maskstore_ps(p, MASK(count), (__m256)(v))
#define SUMS(a, b, c, d) sums_of_eight((__m256)(a), (__m256)(b), (__m256)(c), (__m256)(d))
static const int32_t mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
TARGET static inline ALWAYS four sums_of_eight(__m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 s = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return (four)_mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
}
#include "engine/kernels/set_kernels.h"

#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define LANES 16
#define ROWS 8
#define ROWS1 8
#define FMA(a, b, c) ((VEC)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define MASK(count) ((__mmask16)((1u << (count)) - 1u))
#define PART_LOAD(p, count) ((VEC)_mm512_maskz_loadu_ps(MASK(count), p))
#define PART_STORE(p, v, count) _mm512_mask_storeu_ps(p, MASK(count), (__m512)(v))
#define HALVES(v) \
    _mm256_add_ps(_mm512_castps512_ps256((__m512)(v)), _mm512_extractf32x8_ps((__m512)(v), 1))
#define SUMS(a, b, c, d) sums_of_sixteen((__m512)(a), (__m512)(b), (__m512)(c), (__m512)(d))
TARGET static inline ALWAYS four sums_of_sixteen(__m512 a, __m512 b, __m512 c, __m512 d)
{
    const __m256 s =
        _mm256_hadd_ps(_mm256_hadd_ps(HALVES(a), HALVES(b)), _mm256_hadd_ps(HALVES(c), HALVES(d)));
    return (four)_mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
}
#include "engine/kernels/set_kernels.h"

#endif

static const struct {
    const char *name;
    const kernel_set *set;
} sets[] = {
#if defined(__x86_64__)
    {"avx512", &avx512},
    {"avx2", &avx2},
#endif
    {"portable", &portable},
};

static const kernel_set *chosen = &portable, *narrow = &portable;

bool kernels_select(const char *set)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(sets[i].name, set) && cpu_has(set)) {
            chosen = narrow = sets[i].set;
#if defined(__x86_64__)
            if (chosen == &avx512) narrow = &avx2;
#endif
            return true;
        }
    return false;
}

__attribute__((constructor)) static void choose(void)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (kernels_select(sets[i].name)) return;
}

const kernel_set *kernels_for(int64_t columns)
{
    return columns <= narrow->lanes ? narrow : chosen;
}

const char *kernels_instructions(void)
{
    return chosen->name;
}
