// SPDX-License-Identifier: MIT
#include "math/eigen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "support/test.h"

// A = V^T diag V with orthogonal V, largest error of A v = l v and of V V^T = I.
static void check_eigenvectors(const double *a, int64_t n, double tolerance)
{
    arena mem = {0};
    double *l = calloc(256, 8), *v = calloc(256 * 256, 8);
    CHECK_OK(eigen_symmetric(l, v, &mem, a, n));
    double size = 1e-300, worst = 0.0;
    for (int64_t i = 0; i < n * n; i++) size = fmax(size, fabs(a[i]));
    for (int64_t k = 0; k < n; k++) {
        if (k) CHECK(l[k] <= l[k - 1]);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0.0, product = 0.0;
            for (int64_t j = 0; j < n; j++) {
                sum += a[i * n + j] * v[k * n + j];
                product += v[i * n + j] * v[k * n + j];
            }
            worst = fmax(worst, fabs(sum - l[k] * v[k * n + i]) / size / (double)n);
            worst = fmax(worst, fabs(product - (i == k)) / (double)n);
        }
    }
    CHECK_NEAR(worst, 0.0, tolerance);
    free(l);
    free(v);
    arena_clear(&mem);
}

TEST(eigenvectors_are_eigenvectors_at_odd_sizes)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 33, 130};
    for (int s = 0; s < 6; s++) {
        const int64_t n = sizes[s];
        rng r = rng_at(3, (uint64_t)s);
        double *a = calloc(256 * 256, 8);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = rng_normal(&r);
        check_eigenvectors(a, n, 1e-14);
        free(a);
    }
}

TEST(diagonal_and_low_rank_matrices_are_solved)
{
    double zero[16] = {0}, diagonal[16] = {0}, one[16];
    for (int i = 0; i < 4; i++) diagonal[5 * i] = i == 2 ? 9.0 : 1.0;
    for (int i = 0; i < 16; i++) one[i] = 1e-9;
    check_eigenvectors(zero, 4, 0.0);
    check_eigenvectors(diagonal, 4, 0.0);
    check_eigenvectors(one, 4, 1e-14);
    double values[4], vectors[16];
    arena mem = {0};
    CHECK_OK(eigen_symmetric(values, vectors, &mem, one, 4));
    CHECK_NEAR(values[0], 4e-9, 1e-22);
    CHECK_NEAR(values[1], 0.0, 1e-22);
    for (int i = 0; i < 4; i++) CHECK_NEAR(vectors[i], 0.5, 1e-14); // and positive
    one[5] = (double)NAN;
    CHECK_FAILS(eigen_symmetric(values, vectors, &mem, one, 4), PLUMB_ENUMERIC, "not finite");
    arena_clear(&mem);
}

// Covariances of fewer rows than columns, as of features of few clips: most eigenvalues are zero,
// and what is left of them is the rounding of the large ones.
TEST(covariances_of_few_rows_converge)
{
    enum { N = 128 };
    double *a = calloc((size_t)N * N, sizeof *a), x[N];
    for (uint64_t seed = 0; seed < 40; seed++) {
        const int rows = 1 + (int)(seed % 32);
        rng r = rng_at(7, seed);
        memset(a, 0, (size_t)N * N * sizeof *a);
        for (int k = 0; k < rows; k++) {
            for (int i = 0; i < N; i++) x[i] = rng_normal(&r) * exp(-0.2 * (double)(seed % 5) * i);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) a[i * N + j] += x[i] * x[j] / rows;
        }
        check_eigenvectors(a, N, 1e-12);
    }
    free(a);
}
