// SPDX-License-Identifier: MIT
// One body per loop (vector_template.h), compiled once per instruction set.
#include "math/vector.h"

#include "base/cpu.h"

typedef struct vector_kernels {
    double (*dot)(const double *, const double *, int64_t);
    void (*dots)(double *restrict, const double *restrict, int64_t, int64_t, const double *restrict,
                 int64_t);
    void (*moments)(double *restrict, double *restrict, const double *restrict, int64_t, int64_t,
                    const double *restrict, int64_t);
    void (*axpy)(double *restrict, double, const double *restrict, int64_t);
    void (*axpy_product)(double *restrict, double, const double *restrict, const double *restrict,
                         int64_t);
    void (*product)(double *restrict, const double *restrict, const double *restrict, int64_t);
} vector_kernels;

#define SET portable
#define TARGET
#define WIDTH 4
#include "math/vector_template.h"

#if defined(__x86_64__)
#define SET avx2
#define TARGET __attribute__((target("avx2")))
#define WIDTH 4
#include "math/vector_template.h"

#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl")))
#define WIDTH 8
#include "math/vector_template.h"
#endif

static const cpu_variant variants[] = {CPU_AVX512(avx512) CPU_AVX2(avx2) CPU_PORTABLE(portable)};
CPU_DISPATCH(vector_kernels, variants, portable);

bool vector_select(const char *set)
{
    return choose_kernels(set);
}

double vector_dot(const double *a, const double *b, int64_t n)
{
    return chosen->dot(a, b, n);
}

void vector_dots(double *restrict out, const double *restrict rows, int64_t stride, int64_t count,
                 const double *restrict z, int64_t n)
{
    chosen->dots(out, rows, stride, count, z, n);
}

void vector_products(double *restrict out, int64_t ldo, const double *restrict a, int64_t lda,
                     int64_t m, const double *restrict b, int64_t ldb, int64_t n, int64_t k)
{
    // Rows of B in groups that stay in the second cache while all rows of A pass.
    enum { GROUP_BYTES = 128 << 10 };
    int64_t group = GROUP_BYTES / 8 / (k > 0 ? k : 1) / 4 * 4;
    if (group < 4) group = 4;
    for (int64_t j = 0; j < n; j += group) {
        const int64_t width = j + group <= n ? group : n - j;
        for (int64_t i = 0; i < m; i++)
            chosen->dots(out + i * ldo + j, b + j * ldb, ldb, width, a + i * lda, k);
    }
}

void vector_moments(double *restrict sum, double *restrict square, const double *restrict rows,
                    int64_t stride, int64_t count, const double *restrict z, int64_t n)
{
    chosen->moments(sum, square, rows, stride, count, z, n);
}

void vector_axpy(double *restrict y, double a, const double *restrict x, int64_t n)
{
    chosen->axpy(y, a, x, n);
}

void vector_axpy_product(double *restrict y, double a, const double *restrict x1,
                         const double *restrict x2, int64_t n)
{
    chosen->axpy_product(y, a, x1, x2, n);
}

void vector_product(double *restrict out, const double *restrict a, const double *restrict b,
                    int64_t n)
{
    chosen->product(out, a, b, n);
}

const char *vector_instructions(void)
{
    return chosen_set;
}
