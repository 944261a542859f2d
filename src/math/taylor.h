// SPDX-License-Identifier: MIT
// Ordinary differential equations to rounding, by Taylor series.
#ifndef MATH_TAYLOR_H
#define MATH_TAYLOR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TAYLOR_ORDER = 22,
    TAYLOR_TERMS = TAYLOR_ORDER + 1,
    TAYLOR_MAX_UNKNOWNS = 8, ///< unknowns
};

/// A vector field, as a recipe for the Taylor series of its solutions: row i of `x` (n, TERMS)
/// comes with x_i in its first place; fill in the rest, x[i][k] being the k-th derivative over k!.
typedef void taylor_series(double (*x)[TAYLOR_TERMS], const void *system);

/// A solution under way. A plain struct; `system` must outlive it.
typedef struct taylor_solution {
    taylor_series *series;
    const void *system;
    int n;
    bool relative;                        ///< accuracy relative to every unknown, not to 1
    double sign;                          ///< of time's direction
    double t, step;                       ///< the series holds from t to t + step
    double rounding[TAYLOR_MAX_UNKNOWNS]; ///< what rounding took from the state so far
    double x[TAYLOR_MAX_UNKNOWNS][TAYLOR_TERMS];
} taylor_solution;

/// From x0 (n) at time 0, forward or backward.
void taylor_start(taylor_solution *solution, taylor_series *series, const void *system, int n,
                  const double *x0, bool backward, bool relative);

/// The state at time t. Times are asked for in order, away from 0. The steps taken do not depend
/// on which times are asked for.
void taylor_evaluate(double *x, taylor_solution *solution, double t);

/// Term n of a product of two series.
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

/// Term n of sine and cosine of a series `a` (terms to n known), n at least 1; `da` is its
/// derivative, da[k] = (k + 1) a[k + 1], terms to n - 1 known.
static inline void taylor_sincos(double *s, double *c, const double *da, int n)
{
    s[n] = taylor_product(c, da, n - 1) / n;
    c[n] = -taylor_product(s, da, n - 1) / n;
}

#endif
