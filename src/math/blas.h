// SPDX-License-Identifier: MIT
// Dense linear algebra in double, row-major, one thread: the same bits however many of our own
// threads call it.
//
// OpenBLAS is loaded when it is first asked for, not with the library: whoever only measures never
// pays for it, and by then its environment can be put right. It reads there how many threads to
// start and which kernels to use, and version 0.3.21 chooses kernels of 2004 for processors it does
// not know (OpenMathLib/OpenBLAS#4267).
#ifndef MATH_BLAS_H
#define MATH_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/// Loads OpenBLAS. Call it before any of the products. Fails with PLUMB_EMISSING.
plumb_status blas_library_load(void);

/// C (m, n) = alpha A B + beta C, with A (m, k) or its transpose stored (k, m), B (k, n).
void blas_gemm(double *c, int64_t ldc, const double *a, int64_t lda, bool transpose_a,
               const double *b, int64_t ldb, bool transpose_b, int64_t m, int64_t n, int64_t k,
               double alpha, double beta);

/// G (n, n) = A^T A, both halves, with A (rows, n) whose rows lie lda apart.
void blas_gram(double *g, int64_t ldg, const double *a, int64_t lda, int64_t rows, int64_t n);

/// The kernel set in use, as OpenBLAS names it; "none" if there is no OpenBLAS.
const char *blas_kernel(void);
/// "OpenBLAS 0.3.21", or "".
const char *blas_version(void);
/// The kernel set there should be, if the one in use is too old for this processor and the host
/// program had loaded OpenBLAS before us, so that we could not mend it; else NULL.
const char *blas_wanted_kernel(void);

#endif
