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

// The first `count` floats at p; none of the others is touched.
#define SET portable
#define TARGET
#define LANES 4
#define ROWS 6
#define ROWS1 8
#define FMA(a, b, c) ((a) * (b) + (c))
#define PART_LOAD(p, count) ((VEC)part_load(p, count))
#define PART_STORE(p, v, count) part_store(p, v, count)
#define SUM(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
static inline ALWAYS four part_load(const float *p, int count)
{
    return (four){p[0], count > 1 ? p[1] : 0.0f, count > 2 ? p[2] : 0.0f, 0.0f};
}
static inline ALWAYS void part_store(float *p, four v, int count)
{
    for (int i = 0; i < 3; i++)
        if (i < count) p[i] = v[i];
}
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
#define SUM(v) sum_eight((__m256)(v))
static const int32_t mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
TARGET static inline ALWAYS float sum_eight(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
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
#define SUM(v) _mm512_reduce_add_ps((__m512)(v))
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
