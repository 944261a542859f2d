// SPDX-License-Identifier: MIT
// asin(x) = x + x R(x^2) up to one half, and pi/2 - 2 asin(sqrt((1 - x) / 2)) above. Both cases are
// computed without a branch, so that the compiler can vectorise the loop. R is the rational
// function of fdlibm, the C library of 1993.
#include "math/arcsine.h"

#include <math.h>

#include "base/cpu.h"

static inline __attribute__((always_inline)) void arcsine_loop(double *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double a = fabs(x[i]);
        const int large = a > 0.5;
        const double t = large ? 0.5 * (1.0 - a) : a * a;
        // R(t) = p / q
        const double p =
            t *
            (1.66666666666666657415e-01 +
             t * (-3.25565818622400915405e-01 +
                  t * (2.01212532134862925881e-01 +
                       t * (-4.00555345006794114027e-02 +
                            t * (7.91534994289814532176e-04 + t * 3.47933107596021167570e-05)))));
        const double q =
            1.0 + t * (-2.40339491173441421878e+00 +
                       t * (2.02094576023350569471e+00 +
                            t * (-6.88283971605453293030e-01 + t * 7.70381505559019352791e-02)));
        const double root = large ? sqrt(t) : a, arc = root + root * (p / q);
        const double value = large ? 1.57079632679489661923 - 2.0 * arc : arc;
        x[i] = copysign(value, x[i]);
    }
}

typedef struct arcsine_kernels {
    void (*all)(double *x, int64_t n);
} arcsine_kernels;

static void arcsine_portable(double *x, int64_t n)
{
    arcsine_loop(x, n);
}
static const arcsine_kernels portable = {arcsine_portable};

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void arcsine_avx2(double *x, int64_t n)
{
    arcsine_loop(x, n);
}
static const arcsine_kernels avx2 = {arcsine_avx2};
#endif

static const cpu_variant variants[] = {CPU_AVX2(avx2) CPU_PORTABLE(portable)};
CPU_DISPATCH(arcsine_kernels, variants, portable);

bool arcsine_select(const char *set)
{
    return choose_kernels(set);
}

void arcsine_all(double *x, int64_t n)
{
    chosen->all(x, n);
}
