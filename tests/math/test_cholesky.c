// SPDX-License-Identifier: MIT
#include "math/cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/blas.h"
#include "math/rng.h"
#include "support/test.h"

// A symmetric matrix with eigenvalues above `min_eigenvalue`, and a right side that makes x = 1, 2,
// 3 ...
static void make_equations(double *a, double *b, int64_t n, int64_t k, double min_eigenvalue)
{
    double *m = malloc((size_t)(n * n) * sizeof *m);
    rng r = rng_at(7, (uint64_t)n);
    for (int64_t i = 0; i < n * n; i++) m[i] = rng_normal(&r);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = i == j ? min_eigenvalue : 0.0;
            for (int64_t s = 0; s < n; s++) sum += m[s * n + i] * m[s * n + j];
            a[i * n + j] = sum;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) {
            b[i * k + c] = 0.0;
            for (int64_t j = 0; j < n; j++) b[i * k + c] += a[i * n + j] * (double)(1 + j + 10 * c);
        }
    free(m);
}

TEST(equations_of_any_size_are_solved)
{
    assert_int_equal(blas_library_load(), PLUMB_OK);
    const int64_t sizes[] = {1, 2, 31, 32, 33, 97, 200};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int64_t n = sizes[s], k = 3;
        double *a = malloc((size_t)(n * n) * sizeof *a), *b = malloc((size_t)(n * k) * sizeof *b);
        make_equations(a, b, n, k, 1.0);
        assert_true(cholesky_factor(a, n));
        cholesky_solve(b, a, n, k);
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < k; c++)
                CHECK_NEAR(b[i * k + c], (double)(1 + i + 10 * c), 1e-7);
        free(a);
        free(b);
    }
}

TEST(a_matrix_that_is_not_positive_is_rejected)
{
    assert_int_equal(blas_library_load(), PLUMB_OK);
    double a[4] = {1.0, 2.0, 2.0, 1.0};
    assert_false(cholesky_factor(a, 2));
    double nan[1] = {(double)NAN};
    assert_false(cholesky_factor(nan, 1));
    enum { N = 40 };
    static double big[N * N], side[N];
    make_equations(big, side, N, 1, 1.0);
    big[35 * N + 35] = -1.0;
    assert_false(cholesky_factor(big, N));
}

TEST(small_matrices_are_solved_without_a_library)
{
    enum { N = 17, K = 3 };
    static double a[N * N], b[N * K];
    make_equations(a, b, N, K, 1.0);
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++) a[i * N + j] = (double)NAN; // never read
    assert_true(cholesky_small_factor(a, N, 0.0));
    cholesky_small_solve(b, a, N, K);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < K; c++) CHECK_NEAR(b[i * K + c], (double)(1 + i + 10 * c), 1e-9);
    double pivots[4] = {4.0, 0.0, 2.0, 1.5};
    assert_false(cholesky_small_factor(pivots, 2, 0.5)); // 1.5 - 1 is not above 0.5
    double not_positive[4] = {1.0, 2.0, 2.0, 1.0};
    assert_false(cholesky_small_factor(not_positive, 2, 0.0));
}
