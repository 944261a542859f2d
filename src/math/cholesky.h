// SPDX-License-Identifier: MIT
// Cholesky factors L L^T of symmetric positive definite matrices, row-major. cholesky_factor() and
// cholesky_solve() are for a few hundred rows and use OpenBLAS: call blas_library_load() first. The
// small ones are plain loops that need no library.
#ifndef MATH_CHOLESKY_H
#define MATH_CHOLESKY_H

#include <stdbool.h>
#include <stdint.h>

/// Replaces the lower triangle of a (n, n) by L with L L^T = a; the upper triangle is left
/// undefined. False if a is not positive definite to rounding, or not finite.
bool cholesky_factor(double *a, int64_t n);

/// Replaces b (n, k) by (L L^T)^-1 b.
void cholesky_solve(double *b, const double *l, int64_t n, int64_t k);

/// The same for small matrices. The upper triangle is neither read nor written. False if the square
/// of a diagonal element of L would not be above min_pivot; then `a` is partly overwritten.
bool cholesky_small_factor(double *a, int64_t n, double min_pivot);
void cholesky_small_solve(double *b, const double *l, int64_t n, int64_t k);

#endif
