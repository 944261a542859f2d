// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "math/blas.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

// Small whole numbers: every sum is exact, so the plain loops are the answer.
enum { M = 7, N = 5, K = 33, SPARE = 3 };

static double random_number(int i, int j)
{
    return (double)((i * 31 + j * 17) % 13 - 6);
}

TEST(products_equal_plain_loops_with_and_without_transposing)
{
    double a[M * (K + SPARE)], at[K * M], b[K * N], bt[N * K], c[M * N];
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) a[i * (K + SPARE) + k] = at[k * M + i] = random_number(i, k);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) b[k * N + j] = bt[j * K + k] = random_number(k + 3, j);
    CHECK_OK(blas_library_load());
    for (int which = 0; which < 4; which++) {
        const bool ta = which & 1, tb = which & 2;
        for (int i = 0; i < M * N; i++) c[i] = i;
        blas_gemm(c, N, ta ? at : a, ta ? M : K + SPARE, ta, tb ? bt : b, tb ? K : N, tb, M, N, K,
                  2.0, 3.0);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int k = 0; k < K; k++) sum += random_number(i, k) * random_number(k + 3, j);
                CHECK_NEAR(c[i * N + j], 2 * sum + 3 * (i * N + j), 0);
            }
    }
}

TEST(a_gram_matrix_has_both_halves)
{
    double a[K * (N + SPARE)], g[N * N];
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) a[k * (N + SPARE) + j] = random_number(k, j);
    CHECK_OK(blas_library_load());
    blas_gram(g, N, a, N + SPARE, K, N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += random_number(k, i) * random_number(k, j);
            CHECK_NEAR(g[i * N + j], sum, 0);
        }
}

TEST(a_gram_matrix_can_be_added)
{
    double a[K * N], g[N * N];
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) a[k * N + j] = random_number(k, j);
    for (int i = 0; i < N * N; i++) g[i] = i;
    CHECK_OK(blas_library_load());
    blas_gram_add(g, N, a, N, K, N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = i * N + j;
            for (int k = 0; k < K && j >= i; k++) sum += random_number(k, i) * random_number(k, j);
            CHECK_NEAR(g[i * N + j], sum, 0);
        }
}

TEST(the_kernels_are_not_older_than_the_processor)
{
    // This process loaded nothing before, so there was nothing in the way of mending them.
    CHECK(blas_wanted_kernel() == NULL);
}

TEST(loading_leaves_the_environment_as_it_was)
{
    setenv("OPENBLAS_NUM_THREADS", "7", 1);
    CHECK_OK(blas_library_load());
    CHECK_TEXT(getenv("OPENBLAS_NUM_THREADS"), "7");
}

TEST(the_version_names_the_library_that_was_loaded)
{
    CHECK(strlen(blas_kernel()) > 0);
    CHECK(!strncmp(blas_version(), "OpenBLAS ", 9));
    CHECK(blas_version()[9] >= '0' && blas_version()[9] <= '9');
}
