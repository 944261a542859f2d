// SPDX-License-Identifier: MIT
// The incomplete beta function by Lentz's continued fraction [Press07, sec. 6.4]. Its prefactor
// x^a y^b / B(a, b) is a quotient of large numbers that nearly cancel. Written relative to the mean
// a / (a + b), with the remainders of Stirling's formula, nothing large is left to cancel.
#define _GNU_SOURCE
#include "math/special.h"

#include <math.h>

enum { MAX_TERMS = 100000 };
static const double pi = 3.141592653589793238462643383279503;

double special_log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

// log Gamma(x) - [(x - 1/2) log x - x + log(2 pi)/2], for x > 0: an asymptotic series from 12 on.
static double stirling_remainder(double x)
{
    if (x < 12.0) return special_log_gamma(x) - ((x - 0.5) * log(x) - x + 0.5 * log(2.0 * pi));
    const double z = 1.0 / (x * x);
    return (1.0 / 12 -
            z * (1.0 / 360 -
                 z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188 - z * 691.0 / 360360))))) /
           x;
}

// n log(x / (n / total)), small when x is near n / total.
static double log_power(double x, double n, double total)
{
    const double mean = n / total, off = (x - mean) / mean;
    return n * (fabs(off) < 0.5 ? log1p(off) : log(x / mean));
}

// x^a y^b / B(a, b)
static double beta_prefactor(double x, double y, double a, double b)
{
    if (x <= 0.0 || y <= 0.0) return 0.0;
    const double total = a + b;
    const double rest = stirling_remainder(total) - stirling_remainder(a) - stirling_remainder(b);
    return sqrt(a * b / (2.0 * pi * total)) *
           exp(log_power(x, a, total) + log_power(y, b, total) + rest);
}

// Continued fraction of the incomplete beta function, by Lentz's method.
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m < MAX_TERMS; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
        double step = 1.0;
        for (int half = 0; half < 2; half++) {
            const double term = half ? odd : even;
            d = 1.0 + term * d;
            c = 1.0 + term / c;
            d = 1.0 / (fabs(d) < tiny ? tiny : d);
            if (fabs(c) < tiny) c = tiny;
            step = c * d;
            h *= step;
        }
        if (fabs(step - 1.0) < 1e-16) break;
    }
    return h;
}

// The fraction converges fast for x below the mean; else use I_x(a, b) = 1 - I_y(b, a).
double special_beta(double x, double y, double a, double b)
{
    if (isnan(x) || isnan(y)) return (double)NAN;
    if (x <= 0.0) return 0.0;
    if (y <= 0.0) return 1.0;
    const double front = beta_prefactor(x, y, a, b);
    if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(x, a, b) / a;
    return 1.0 - front * beta_fraction(y, b, a) / b;
}

double special_gamma_upper(double a, double x)
{
    if (isnan(x)) return (double)NAN;
    if (x <= 0.0) return 1.0;
    const double front = exp(a * log(x) - x - special_log_gamma(a));
    // Below a + 1: the series of the lower function [Press07, sec. 6.2].
    if (x < a + 1.0) {
        double term = 1.0 / a, sum = term;
        for (int n = 1; n < MAX_TERMS && term > 1e-17 * sum; n++) sum += term *= x / (a + n);
        return 1.0 - front * sum;
    }
    // Above: its continued fraction.
    const double tiny = 1e-300;
    double b = x + 1.0 - a, c = 1.0 / tiny, d = 1.0 / b, h = d;
    for (int n = 1; n < MAX_TERMS; n++) {
        const double term = -n * (n - a);
        b += 2.0;
        d = term * d + b;
        c = b + term / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        if (fabs(c) < tiny) c = tiny;
        h *= c * d;
        if (fabs(c * d - 1.0) < 1e-16) break;
    }
    return front * h;
}

double special_chi_square_tail(double x, double freedom)
{
    return special_gamma_upper(freedom / 2.0, x / 2.0);
}

double special_t_tail(double t, double freedom)
{
    if (isnan(t)) return (double)NAN;
    const double square = t * t, whole = freedom + square;
    const double tail =
        isinf(square) ? 0.0
                      : 0.5 * special_beta(freedom / whole, square / whole, freedom / 2.0, 0.5);
    return t >= 0.0 ? tail : 1.0 - tail;
}

double special_normal_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2.0));
}

double special_coin_tail(int64_t k, int64_t n)
{
    if (k <= 0) return 1.0;
    if (k > n) return 0.0;
    return special_beta(0.5, 0.5, (double)k, (double)(n - k + 1));
}

double special_kolmogorov_tail(double x)
{
    if (isnan(x)) return (double)NAN;
    if (x <= 0.0) return 1.0;
    double sum = 0.0;
    if (x < 1.0) { // the same by Jacobi's identity, which converges fast for small x
        for (int j = 1; j < 100; j += 2) {
            const double term = exp(-(double)j * j * pi * pi / (8.0 * x * x));
            sum += term;
            if (term < 1e-18 * sum) break;
        }
        return 1.0 - sqrt(2.0 * pi) / x * sum;
    }
    for (int j = 1; j < 100; j++) {
        const double term = exp(-2.0 * j * j * x * x);
        sum += j % 2 ? term : -term;
        if (term < 1e-18 * sum) break;
    }
    return 2.0 * sum;
}
