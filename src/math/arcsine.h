// SPDX-License-Identifier: MIT
// The arc sine of many numbers at once, to within 2e-16; the same bits on every instruction set.
#ifndef MATH_ARCSINE_H
#define MATH_ARCSINE_H

#include <stdint.h>

/// x[i] = asin(x[i]) for |x[i]| <= 1.
void arcsine_all(double *x, int64_t n);

/// For tests: "avx2" or "portable" from here on; 0 if this processor does not have it.
int arcsine_select(const char *set);

#endif
