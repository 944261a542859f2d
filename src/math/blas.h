// SPDX-License-Identifier: MIT
// Dense linear algebra in double, row-major, one thread: the same bits however many of our own
// threads call it.
#ifndef MATH_BLAS_H
#define MATH_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/// C (m, n) = alpha A B + beta C, with A (m, k) or its transpose stored (k, m), B (k, n).
void blas_gemm(double *c, int64_t ldc, const double *a, int64_t lda, bool transpose_a,
               const double *b, int64_t ldb, bool transpose_b, int64_t m, int64_t n, int64_t k,
               double alpha, double beta);

/// y (m) = alpha A x + beta y with A (m, n); or y (n) = alpha A^T x + beta y.
void blas_gemv(double *y, const double *a, int64_t lda, bool transpose, const double *x, int64_t m,
               int64_t n, double alpha, double beta);

/// Upper triangle of C (n, n) += X X^T, X (n, k).
void blas_gram_rows(double *c, int64_t ldc, const double *x, int64_t ldx, int64_t n, int64_t k);

double blas_dot(const double *x, const double *y, int64_t n);
void blas_axpy(double *y, double a, const double *x, int64_t n);

/// The kernel set in use, as OpenBLAS names it.
const char *blas_kernel(void);
/// "OpenBLAS 0.3.21".
const char *blas_version(void);

#endif
