// SPDX-License-Identifier: MIT
// The arc sine of an array, to within 2e-16. Every instruction set gives the same bits.
#ifndef MATH_ARCSINE_H
#define MATH_ARCSINE_H

#include <stdbool.h>
#include <stdint.h>

/// x[i] = asin(x[i]) for |x[i]| <= 1.
void arcsine_all(double *x, int64_t n);

/// For tests: chooses "avx2" or "portable"; false if this processor does not have it.
bool arcsine_select(const char *set);

#endif
