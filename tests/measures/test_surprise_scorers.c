// SPDX-License-Identifier: MIT
// Every density scorer finds a planted outlier and gives inliers no high score.
#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "measures/surprise/isolation_forest.h"
#include "measures/surprise/one_class_svm.h"
#include "measures/surprise/principal_axes.h"
#include "measures/surprise/scorers.h"
#include "measures/surprise/uniformity.h"
#include "support/test.h"

enum { N = 600, M = 80, D = 10, STRANGERS = 10 };

// A stretched cloud; the first few asked for lie along its thinnest axis.
static scorer_task plant(double *seen, double *asked, const plumb_surprise_options *opt)
{
    rng r = rng_at(21, 0);
    for (int i = 0; i < N * D; i++) seen[i] = rng_normal(&r) / (1 + i % D);
    for (int i = 0; i < M * D; i++) asked[i] = rng_normal(&r) / (1 + i % D);
    for (int i = 0; i < STRANGERS; i++) asked[i * D + D - 1] = 2.0 + 0.1 * i;
    return (scorer_task){.observed = seen,
                         .observed_count = N,
                         .queries = asked,
                         .query_count = M,
                         .dims = D,
                         .opt = opt};
}

static double seen[N * D], asked[M * D];

TEST(every_scorer_finds_the_strangers)
{
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = 50;
    for (int s = PLUMB_SCORER_KNN; s <= PLUMB_SCORER_MAHALANOBIS; s++) {
        if (!scorer_available((plumb_scorer)s)) continue;
        const scorer_task task = plant(seen, asked, &opt);
        arena mem = {0};
        double r[M];
        CHECK_OK(scorer_find((plumb_scorer)s)(r, &mem, &task));
        int wrong = 0;
        for (int i = 0; i < STRANGERS; i++)
            for (int j = STRANGERS; j < M; j++) wrong += r[i] <= r[j];
        // A forest cuts along one of ten axes at a time, and only one of them tells.
        const int bearable = STRANGERS * (M - STRANGERS) / (s == PLUMB_SCORER_IFOREST ? 5 : 50);
        if (wrong > bearable)
            fail_msg("%s: %d pairs wrong", plumb_scorer_name((plumb_scorer)s), wrong);
        arena_clear(&mem);
    }
}

TEST(threads_change_no_bit_of_any_scorer)
{
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = 50;
    for (int s = PLUMB_SCORER_KNN; s <= PLUMB_SCORER_MAHALANOBIS; s++) {
        if (!scorer_available((plumb_scorer)s)) continue;
        arena mem = {0};
        double r[2][M];
        for (int t = 0; t < 2; t++) {
            opt.threads = t ? 3 : 1;
            const scorer_task task = plant(seen, asked, &opt);
            CHECK_OK(scorer_find((plumb_scorer)s)(r[t], &mem, &task));
        }
        CHECK(memcmp(r[0], r[1], sizeof r[0]) == 0);
        arena_clear(&mem);
    }
}

TEST(mahalanobis_by_cholesky_is_mahalanobis_by_eigenvectors)
{
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = 50;
    const scorer_task task = plant(seen, asked, &opt);
    arena mem = {0};
    double fast[M], slow[M], weight[D];
    CHECK_OK(scorer_mahalanobis(fast, &mem, &task));
    pca_axes s;
    CHECK_OK(pca_axes_fit(&s, &mem, seen, N, D, N, false));
    for (int i = 0; i < D; i++) weight[i] = 1.0 / s.values[i];
    CHECK_OK(principal_axes_project(slow, &mem, &s, asked, M, &(axis_range){0, D, weight}, 1));
    for (int i = 0; i < M; i++) CHECK_NEAR(fast[i], slow[i], 1e-10 * slow[i]);
    arena_clear(&mem);
}

TEST(mahalanobis_of_a_flat_cloud_stays_inside_it)
{
    // The last column is the sum of the first two: rank D - 1.
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = 50;
    const scorer_task task = plant(seen, asked, &opt);
    for (int i = 0; i < N; i++) seen[i * D + D - 1] = seen[i * D] + seen[i * D + 1];
    arena mem = {0};
    double r[M];
    CHECK_OK(scorer_mahalanobis(r, &mem, &task));
    for (int i = 0; i < M; i++) CHECK(isfinite(r[i]) && r[i] < 1000.0);
    for (int i = 0; i < N * D; i++) seen[i] = 1.0;
    CHECK_FAILS(scorer_mahalanobis(r, &mem, &task), PLUMB_ENUMERIC, "all observed features are");
    CHECK_FAILS(scorer_pca(r, &mem, &task), PLUMB_ENUMERIC, "all observed features are equal");
    arena_clear(&mem);
}

TEST(paths_of_a_forest_of_equal_points_are_those_of_a_leaf)
{
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = 50;
    const scorer_task task = plant(seen, asked, &opt);
    for (int i = 0; i < N * D; i++) seen[i] = 1.0;
    arena mem = {0};
    double r[M];
    CHECK_OK(scorer_iforest(r, &mem, &task));
    for (int i = 0; i < M; i++) CHECK_NEAR(r[i], 0.5, 1e-15); // c(256) / c(256)
    CHECK_NEAR(isolation_forest_average(2), 1.0, 0);
    CHECK_NEAR(isolation_forest_average(256),
               2 * (log(255.0) + 0.5772156649015329) - 2 * 255.0 / 256, 1e-12);
    arena_clear(&mem);
}

TEST(an_svm_keeps_its_own_conditions)
{
    if (one_class_svm_load()) skip();
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = 50;
    plant(seen, asked, &opt);
    const one_class_svm_settings settings = {.nu = 0.3, .tolerance = 1e-8};
    arena mem = {0};
    double decision[N], rho;
    const one_class_svm_points points = {seen, N, seen, N, D};
    CHECK_OK(one_class_svm_decide(decision, &rho, &mem, &points, &settings));
    int outside = 0;
    for (int i = 0; i < N; i++) outside += decision[i] < -1e-6;
    CHECK(outside <= 0.3 * N + 1); // nu bounds the share of those left outside
    CHECK(outside > 0.25 * N);
    const one_class_svm_settings wild = {.nu = 1.5, .tolerance = 1e-3};
    CHECK_FAILS(one_class_svm_decide(decision, &rho, &mem, &points, &wild), PLUMB_EVALUE, "nu");
    arena_clear(&mem);
}

TEST(a_cap_has_the_share_geometry_gives_it)
{
    // On the ordinary sphere the share is r^2 / 4; on a circle the angle over pi.
    for (int k = 0; k < 10; k++) {
        const double r = 0.1 + 0.2 * k;
        CHECK_NEAR(uniformity_cap(r, 3), r * r / 4, 1e-13);
        CHECK_NEAR(uniformity_cap(r, 2), 2 * asin(r / 2) / M_PI, 1e-13);
        CHECK_NEAR(uniformity_cap(r, 40) + uniformity_cap(sqrt(4 - r * r), 40), 1.0, 1e-12);
    }
    CHECK(uniformity_cap(0.2, 128) > 0.0 && uniformity_cap(0.2, 128) < 1e-80);
}

static plumb_surprise_uniformity test_sphere(int dims, double lean, uint64_t seed)
{
    enum { SEEN = 400, ASKED = 300 };
    double *x = calloc((size_t)((SEEN + ASKED) * dims), 8), r[ASKED];
    int64_t sizes[ASKED];
    rng random = rng_at(seed, 0);
    for (int i = 0; i < SEEN + ASKED; i++) {
        double square = 0.0;
        for (int j = 0; j < dims; j++) {
            x[i * dims + j] = rng_normal(&random) + (j ? 0.0 : lean);
            square += x[i * dims + j] * x[i * dims + j];
        }
        for (int j = 0; j < dims; j++) x[i * dims + j] /= sqrt(square);
    }
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = 50;
    opt.k = 20;
    const scorer_task task = {.observed = x,
                              .observed_count = SEEN,
                              .queries = x + SEEN * dims,
                              .query_count = ASKED,
                              .dims = dims,
                              .opt = &opt};
    arena mem = {0};
    plumb_surprise_uniformity u;
    CHECK_OK(scorer_knn(r, &mem, &task));
    for (int i = 0; i < ASKED; i++) sizes[i] = SEEN;
    CHECK_OK(uniformity_measure(&u, &mem, r, sizes, ASKED, 20, dims));
    arena_clear(&mem);
    free(x);
    return u;
}

TEST(the_exact_test_accepts_an_even_sphere_and_the_papers_does_not)
{
    int accepted = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        const plumb_surprise_uniformity u = test_sphere(5, 0.0, seed);
        accepted += u.exact.p > 0.01;
        CHECK(u.paper.p < 1e-4);
    }
    CHECK(accepted >= 7); // test points share one observation set, so p is approximate
    CHECK(test_sphere(5, 1.5, 1).exact.p < 1e-10);
}
