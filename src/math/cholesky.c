// SPDX-License-Identifier: MIT
// Cholesky factorisation [Golub13, sec. 4.2]. The large form is blocked: it factors a panel of 32
// columns by plain loops and updates the rest of the matrix by one product.
#include "math/cholesky.h"

#include <math.h>

#include "math/blas.h"

enum { BLOCK = 32 };

static int64_t block_size(int64_t at, int64_t n)
{
    return n - at < BLOCK ? n - at : BLOCK;
}

// a . b, in four sums that can be computed in parallel.
static double dot_product(const double *a, const double *b, int64_t n)
{
    double sum[4] = {0.0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Factors columns at .. at+size-1 of all rows from `at` on. The columns left of them have already
// been subtracted.
static bool factor_panel(double *a, int64_t n, int64_t at, int64_t size)
{
    for (int64_t i = at; i < n; i++) {
        double *row = a + i * n + at;
        const int64_t last = i - at < size ? i - at : size;
        for (int64_t j = 0; j < last; j++) {
            const double *up = a + (at + j) * n + at;
            row[j] = (row[j] - dot_product(row, up, j)) / up[j];
        }
        if (i - at >= size) continue;
        const double left = row[last] - dot_product(row, row, last);
        if (!(left > 0.0) || !isfinite(left)) return false;
        row[last] = sqrt(left);
    }
    return true;
}

bool cholesky_factor(double *a, int64_t n)
{
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t size = block_size(at, n), next = at + size;
        if (!factor_panel(a, n, at, size)) return false;
        // Subtract the panel from the lower triangle of the rest, in slabs, so that little above
        // the diagonal is computed.
        enum { SLAB = 128 };
        for (int64_t i = next; i < n; i += SLAB) {
            const int64_t rows = n - i < SLAB ? n - i : SLAB;
            blas_gemm(a + i * n + next, n, a + i * n + at, n, false, a + next * n + at, n, true,
                      rows, i + rows - next, size, -1.0, 1.0);
        }
    }
    return true;
}

void cholesky_solve(double *b, const double *l, int64_t n, int64_t k)
{
    // L y = b, from the top.
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t size = block_size(at, n);
        if (at) blas_gemm(b + at * k, k, l + at * n, n, false, b, k, false, size, k, at, -1.0, 1.0);
        for (int64_t i = at; i < at + size; i++) {
            for (int64_t j = at; j < i; j++)
                for (int64_t c = 0; c < k; c++) b[i * k + c] -= l[i * n + j] * b[j * k + c];
            for (int64_t c = 0; c < k; c++) b[i * k + c] /= l[i * n + i];
        }
    }
    // L^T x = y, from the bottom.
    const int64_t last = (n - 1) / BLOCK * BLOCK;
    for (int64_t at = last; at >= 0; at -= BLOCK) {
        const int64_t size = block_size(at, n), next = at + size;
        if (next < n)
            blas_gemm(b + at * k, k, l + next * n + at, n, true, b + next * k, k, false, size, k,
                      n - next, -1.0, 1.0);
        for (int64_t i = next - 1; i >= at; i--) {
            for (int64_t j = i + 1; j < next; j++)
                for (int64_t c = 0; c < k; c++) b[i * k + c] -= l[j * n + i] * b[j * k + c];
            for (int64_t c = 0; c < k; c++) b[i * k + c] /= l[i * n + i];
        }
    }
}

// ---- small matrices ----

bool cholesky_small_factor(double *a, int64_t n, double min_pivot)
{
    // L_ij = (a_ij - sum over k < j of L_ik L_jk) / L_jj, row by row.
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > min_pivot)) return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

void cholesky_small_solve(double *b, const double *l, int64_t n, int64_t k)
{
    for (int64_t c = 0; c < k; c++) {
        // L y = b, from the top.
        for (int64_t i = 0; i < n; i++) {
            double sum = b[i * k + c];
            for (int64_t j = 0; j < i; j++) sum -= l[i * n + j] * b[j * k + c];
            b[i * k + c] = sum / l[i * n + i];
        }
        // L^T x = y, from the bottom.
        for (int64_t i = n - 1; i >= 0; i--) {
            double sum = b[i * k + c];
            for (int64_t j = i + 1; j < n; j++) sum -= l[j * n + i] * b[j * k + c];
            b[i * k + c] = sum / l[i * n + i];
        }
    }
}
