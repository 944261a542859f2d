// SPDX-License-Identifier: MIT
// Solves ordinary differential equations to rounding error, by Taylor series [Jorba05].
#ifndef MATH_TAYLOR_H
#define MATH_TAYLOR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TAYLOR_ORDER = 22,
    TAYLOR_TERMS = TAYLOR_ORDER + 1,
    TAYLOR_MAX_UNKNOWNS = 8,
};

/// Steps are multiples of 2^-20: up to here times add up without rounding.
#define TAYLOR_MAX_TIME 0x1p32

/// A vector field, given by the Taylor series of its solutions. On entry x[i][0] is unknown i; fill
/// in x[i][k], its k-th time derivative divided by k!, for all k up to TAYLOR_ORDER.
typedef void taylor_series(double (*x)[TAYLOR_TERMS], const void *system);

/// A solution at its current step. `system` must outlive it.
typedef struct taylor_solution {
    taylor_series *series;
    const void *system;
    int n;
    bool relative;                        ///< Accuracy is relative to each unknown, not to 1.
    double sign;                          ///< 1 forward, -1 backward in time.
    double t, step;                       ///< The series is valid from t to t + step.
    double rounding[TAYLOR_MAX_UNKNOWNS]; ///< Rounding error of x so far, to be added back.
    double x[TAYLOR_MAX_UNKNOWNS][TAYLOR_TERMS];
} taylor_solution;

/// Starts from x0 (n) at time 0, forward or backward in time. n is at most TAYLOR_MAX_UNKNOWNS.
void taylor_start(taylor_solution *solution, taylor_series *series, const void *system, int n,
                  const double *x0, bool backward, bool relative);

/// x (n) = the state at time t. Times must be requested in order, moving away from 0, up to
/// TAYLOR_MAX_TIME. The steps do not depend on which times are requested. After plumb_set_stop() it
/// returns early with a wrong state: the caller must check status_stopped().
void taylor_evaluate(double *x, taylor_solution *solution, double t);

/// Term n of the product of two series: sum over k of a[k] b[n - k].
static inline double taylor_product(const double *a, const double *b, int n)
{
    double even = 0.0, odd = 0.0;
    int k = 0;
    for (; k + 1 <= n; k += 2) {
        even += a[k] * b[n - k];
        odd += a[k + 1] * b[n - k - 1];
    }
    if (k <= n) even += a[k] * b[n - k];
    return even + odd;
}

/// Term n >= 1 of sine and cosine of a series a, from s' = c a' and c' = -s a'. `da` is the
/// derivative of a, da[k] = (k + 1) a[k + 1], with terms up to n - 1.
static inline void taylor_sincos(double *s, double *c, const double *da, int n)
{
    s[n] = taylor_product(c, da, n - 1) / n;
    c[n] = -taylor_product(s, da, n - 1) / n;
}

#endif
