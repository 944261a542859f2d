// SPDX-License-Identifier: MIT
// Dense linear algebra in double by OpenBLAS: row-major, one thread. The result does not depend on
// how many of plumb's threads call it.
//
// OpenBLAS is loaded at first use, not with the library: programs that do not need it do not pay
// for it, and its environment variables can be set before. They say how many threads it starts and
// which kernels it uses; version 0.3.21 chooses kernels of 2004 for processors that it does not
// know (OpenMathLib/OpenBLAS#4267). If the host program has loaded it before, its number of threads
// is 1 while a product is computed, and afterwards what it was.
#ifndef MATH_BLAS_H
#define MATH_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/// Loads OpenBLAS. Call it before any of the products; repeated calls do nothing. Fails with
/// PLUMB_EMISSING.
plumb_status blas_library_load(void);

/// C (m, n) = alpha op(A) op(B) + beta C. A is (m, k), or (k, m) if transpose_a; B is (k, n), or
/// (n, k) if transpose_b. Rows lie ldc, lda and ldb apart. Arguments as in BLAS.
void blas_gemm(double *c, int64_t ldc, const double *a, int64_t lda, bool transpose_a,
               const double *b, int64_t ldb, bool transpose_b, int64_t m, int64_t n, int64_t k,
               double alpha, double beta);

/// G (n, n) = A^T A, both triangles, with A (rows, n). Rows lie ldg and lda apart.
void blas_gram(double *g, int64_t ldg, const double *a, int64_t lda, int64_t rows, int64_t n);

/// The upper triangle of G (n, n) += A^T A, with A (rows, n).
void blas_gram_add(double *g, int64_t ldg, const double *a, int64_t lda, int64_t rows, int64_t n);

/// The kernel set in use, as OpenBLAS calls it; "none" without OpenBLAS.
const char *blas_kernel(void);
/// As in "OpenBLAS 0.3.21"; "" without OpenBLAS.
const char *blas_version(void);
/// The kernel set that should be in use, if the actual one is too old for this processor and cannot
/// be changed because the host program loaded OpenBLAS first; else NULL.
const char *blas_wanted_kernel(void);

#endif
