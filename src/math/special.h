// SPDX-License-Identifier: MIT
// Distribution functions for p-values, accurate in the tails too.
#ifndef MATH_SPECIAL_H
#define MATH_SPECIAL_H

#include <stdint.h>

/// I_x(a, b), the regularised incomplete beta function, for a, b > 0. y = 1 - x is passed
/// separately, so that no digits are lost near either end.
double special_beta(double x, double y, double a, double b);

double special_log_gamma(double x); ///< For x > 0; safe in any thread.

/// Q(a, x), the upper regularised incomplete gamma function.
double special_gamma_upper(double a, double x);

double special_chi_square_tail(double x, double freedom); ///< P(X >= x)
double special_t_tail(double t, double freedom);          ///< P(T >= t), one-sided
double special_normal_tail(double z);                     ///< P(Z >= z)

/// P(X >= k), X the number of heads in n throws of a fair coin.
double special_coin_tail(int64_t k, int64_t n);

/// Kolmogorov's limit distribution: P(sqrt(n) D >= x).
double special_kolmogorov_tail(double x);

#endif
