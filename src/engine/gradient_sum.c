// SPDX-License-Identifier: MIT
// One body per loop, compiled once per instruction set. Products and sums are rounded separately
// (no fused multiply-add), so all sets give the same bits.
#include "engine/gradient_sum.h"

#include "base/cpu.h"

// add: sum += other. sum_squares: in double, for the norm that clipping needs.
typedef struct gradient_kernels {
    void (*add)(float *restrict sum, const float *restrict other, int64_t count);
    double (*sum_squares)(const float *x, int64_t count);
} gradient_kernels;

#define SET portable
#define TARGET
#include "engine/gradient_sum_template.h"

#if defined(__x86_64__)
#define SET avx2
#define TARGET __attribute__((target("avx2")))
#include "engine/gradient_sum_template.h"

#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl")))
#include "engine/gradient_sum_template.h"
#endif

static const cpu_variant variants[] = {CPU_AVX512(avx512) CPU_AVX2(avx2) CPU_PORTABLE(portable)};
CPU_DISPATCH(gradient_kernels, variants, portable);

bool gradient_sum_select(const char *set)
{
    return choose_kernels(set);
}

void gradient_add(float *restrict sum, const float *restrict other, int64_t count)
{
    chosen->add(sum, other, count);
}

double gradient_sum_squares(const float *x, int64_t count)
{
    return chosen->sum_squares(x, count);
}
