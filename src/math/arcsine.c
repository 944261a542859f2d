// SPDX-License-Identifier: MIT
// A rational function of the square, below one half of x itself, above of sqrt((1 - x) / 2); both
// without a branch, so that the compiler makes wide instructions of the loop. The coefficients are
// those of the C library of 1993 (fdlibm).
#include "math/arcsine.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"

static inline __attribute__((always_inline)) void loop(double *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double a = fabs(x[i]);
        const int large = a > 0.5;
        const double t = large ? 0.5 * (1.0 - a) : a * a;
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
        const double of = large ? sqrt(t) : a, arc = of + of * (p / q);
        const double value = large ? 1.57079632679489661923 - 2.0 * arc : arc;
        x[i] = copysign(value, x[i]);
    }
}

typedef struct kernels {
    void (*all)(double *, int64_t);
} kernels;

static void all_portable(double *x, int64_t n)
{
    loop(x, n);
}
static const kernels portable = {all_portable};

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void all_avx2(double *x, int64_t n)
{
    loop(x, n);
}
static const kernels avx2 = {all_avx2};
#endif

static const cpu_variant sets[] = {CPU_AVX2(avx2) CPU_PORTABLE(portable)};
static const kernels *chosen = &portable;

int arcsine_select(const char *set)
{
    const cpu_variant *k = cpu_choose(sets, set);
    if (k) chosen = k->kernels;
    return k != NULL;
}

__attribute__((constructor)) static void choose(void)
{
    arcsine_select(NULL);
}

void arcsine_all(double *x, int64_t n)
{
    chosen->all(x, n);
}
