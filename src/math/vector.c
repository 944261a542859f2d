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

void vector_products(double *restrict out, int64_t out_stride, vector_rows a, vector_rows b,
                     int64_t length)
{
    // Rows of B in groups that stay in the second cache while all rows of A pass.
    enum { GROUP_BYTES = 128 << 10 };
    int64_t group = GROUP_BYTES / 8 / (length > 0 ? length : 1) / 4 * 4;
    if (group < 4) group = 4;
    for (int64_t j = 0; j < b.count; j += group) {
        const int64_t width = j + group <= b.count ? group : b.count - j;
        for (int64_t i = 0; i < a.count; i++)
            chosen->dots(out + i * out_stride + j, b.data + j * b.stride, b.stride, width,
                         a.data + i * a.stride, length);
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
