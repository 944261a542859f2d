// SPDX-License-Identifier: MIT
#include "math/knn.h"

#include <stdlib.h>

#include "math/rng.h"
#include "support/test.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double kth_by_sorting(const double *rows, int64_t n, const double *query, int64_t d,
                             int64_t k)
{
    double *all = calloc((size_t)n, sizeof *all);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < d; j++)
            all[i] += (rows[i * d + j] - query[j]) * (rows[i * d + j] - query[j]);
        all[i] = sqrt(all[i]);
    }
    qsort(all, (size_t)n, sizeof *all, by_value);
    const double r = all[k - 1];
    free(all);
    return r;
}

static void check_points(const double *rows, int64_t n, const double *queries, int64_t m, int64_t d)
{
    arena mem = {0};
    knn_index points;
    double *r = calloc((size_t)m, 8), *other = calloc((size_t)m, 8);
    CHECK_OK(knn_init(&points, &mem, rows, n, d));
    const int64_t ks[] = {1, 2, (n + 1) / 2, n};
    for (int i = 0; i < 4; i++) {
        const int64_t k = ks[i] > n ? n : ks[i];
        CHECK_OK(knn_kth_distance(r, &points, queries, m, k, 1));
        for (int64_t q = 0; q < m; q++) {
            const double want = kth_by_sorting(rows, n, queries + q * d, d, k);
            CHECK_NEAR(r[q], want, 1e-13 * want);
        }
        // Not a bit depends on threads or instructions.
        const char *usual = knn_instructions();
        CHECK(knn_select("portable"));
        CHECK_OK(knn_kth_distance(other, &points, queries, m, k, 3));
        CHECK(knn_select(usual));
        for (int64_t q = 0; q < m; q++) CHECK(r[q] == other[q]);
    }
    free(r);
    free(other);
    arena_clear(&mem);
}

TEST(the_kth_distance_is_that_of_sorting_all_at_odd_sizes)
{
    static const int64_t sizes[][3] = {{1, 1, 1},    {7, 3, 2},     {16, 4, 5},   {33, 70, 3},
                                       {600, 9, 33}, {1200, 65, 8}, {700, 5, 129}};
    for (int s = 0; s < 7; s++) {
        const int64_t n = sizes[s][0], m = sizes[s][1], d = sizes[s][2];
        rng r = rng_at(5, (uint64_t)s);
        double *rows = calloc((size_t)(n * d), 8), *queries = calloc((size_t)(m * d), 8);
        for (int64_t i = 0; i < n * d; i++) rows[i] = rng_normal(&r);
        for (int64_t i = 0; i < m * d; i++) queries[i] = rng_normal(&r);
        check_points(rows, n, queries, m, d);
        free(rows);
        free(queries);
    }
}

TEST(rounding_to_sixteen_bits_loses_no_neighbour)
{
    // Tight clusters in a wide space: at 16 bits the points of a cluster are all the same.
    enum { N = 900, M = 30, D = 12 };
    static double rows[N * D], queries[M * D];
    rng r = rng_at(6, 0);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++) rows[i * D + j] = 100.0 * (i % 3) + 1e-6 * rng_normal(&r);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < D; j++) queries[i * D + j] = 100.0 * (i % 4) + 1e-6 * rng_normal(&r);
    check_points(rows, N, queries, M, D);
    // All the same, and a query that is one of them.
    for (int i = 0; i < N * D; i++) rows[i] = 0.25;
    for (int i = 0; i < M * D; i++) queries[i] = i < D ? 0.25 : 3.0;
    check_points(rows, N, queries, M, D);
    // One point so far out that the others have no digits left.
    for (int i = 0; i < N * D; i++) rows[i] = rng_normal(&r);
    for (int i = 0; i < M * D; i++) queries[i] = rng_normal(&r);
    rows[17] = 1e20;
    check_points(rows, N, queries, M, D);
}

TEST(distances_that_overflow_are_infinite_and_nothing_else_happens)
{
    // Twice 1.5e308 is infinity: the differences from the centre have no integer part.
    double rows[3 * 40];
    for (int i = 0; i < 3 * 40; i++) rows[i] = i % 2 ? 1.5e308 : -1.5e308;
    arena mem = {0};
    knn_index points;
    double r[40];
    CHECK_OK(knn_init(&points, &mem, rows, 40, 3));
    CHECK_OK(knn_kth_distance(r, &points, rows, 40, 1, 1));
    for (int i = 0; i < 40; i++) CHECK(r[i] == 0.0); // each row is its own nearest
    CHECK_OK(knn_kth_distance(r, &points, rows, 40, 40, 1));
    for (int i = 0; i < 40; i++) CHECK(isinf(r[i]));
    arena_clear(&mem);
}
