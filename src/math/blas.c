// SPDX-License-Identifier: MIT
// The door to OpenBLAS. Its own threads are switched off when this library is loaded: they change
// bits with their number, and plumb has threads of its own.
#include "math/blas.h"

#include <cblas.h>
#include <stdio.h>
#include <string.h>

static char version[64];

__attribute__((constructor)) static void on_load(void)
{
    openblas_set_num_threads(1);
    // The library that is loaded, not the one whose headers we saw: its first two words.
    const char *config = openblas_get_config();
    const char *first = strchr(config, ' ');
    const int length = first ? (int)(first + 1 - config + (ptrdiff_t)strcspn(first + 1, " ")) : 0;
    snprintf(version, sizeof version, "%.*s", length, config);
}

void blas_gemm(double *c, int64_t ldc, const double *a, int64_t lda, bool transpose_a,
               const double *b, int64_t ldb, bool transpose_b, int64_t m, int64_t n, int64_t k,
               double alpha, double beta)
{
    cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a, (int)lda,
                b, (int)ldb, beta, c, (int)ldc);
}

void blas_gemv(double *y, const double *a, int64_t lda, bool transpose, const double *x, int64_t m,
               int64_t n, double alpha, double beta)
{
    cblas_dgemv(CblasRowMajor, transpose ? CblasTrans : CblasNoTrans, (int)m, (int)n, alpha, a,
                (int)lda, x, 1, beta, y, 1);
}

void blas_gram_rows(double *c, int64_t ldc, const double *x, int64_t ldx, int64_t n, int64_t k)
{
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)n, (int)k, 1.0, x, (int)ldx, 1.0, c,
                (int)ldc);
}

double blas_dot(const double *x, const double *y, int64_t n)
{
    return cblas_ddot((int)n, x, 1, y, 1);
}

void blas_axpy(double *y, double a, const double *x, int64_t n)
{
    cblas_daxpy((int)n, a, x, 1, y, 1);
}

const char *blas_kernel(void)
{
    return openblas_get_corename();
}

const char *blas_version(void)
{
    return version;
}
