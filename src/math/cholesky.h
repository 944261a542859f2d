// SPDX-License-Identifier: MIT
// Cholesky factors of symmetric positive definite matrices of a few hundred rows, row-major. The
// bulk of the work is products by OpenBLAS: blas_library_load() comes first.
#ifndef MATH_CHOLESKY_H
#define MATH_CHOLESKY_H

#include <stdbool.h>
#include <stdint.h>

/// a (n, n) becomes L with L L^T = a in its lower triangle; what lies above is left undefined.
/// False if a is not positive definite to rounding, or not finite.
bool cholesky_factor(double *a, int64_t n);

/// b (n, k) becomes (L L^T)^-1 b.
void cholesky_solve(double *b, const double *l, int64_t n, int64_t k);

#endif
