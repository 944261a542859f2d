// SPDX-License-Identifier: MIT
// Checks the optimality conditions of the lasso: a feature in use has |x_j . r| = a with the sign
// of its weight, any other at most a.
#include "math/lasso_active_set.h"
#include "math/lasso_coordinate_descent.h"

#include "math/dense_reference.h"

static const poly_design_kind kinds[] = {POLY_DESIGN_GRAM, POLY_DESIGN_PLAIN};
enum { PENALTIES = 8 };

// Penalties from just below the largest that does anything to 10^-5 of it, largest first.
static double penalty_at(const dense *d, int i)
{
    return 0.7 * dense_largest(d) * pow(10.0, -5.0 * i / (PENALTIES - 1));
}

static void check_optimal(dense *d, const double *w, double a)
{
    double *r = ARENA_ALLOC(&d->mem, double, d->rows);
    dense_residual(r, d, w);
    // Above 1e-9 a comes only rounding: of the columns themselves, times what cancels in r.
    double cancelled = sqrt(d->yy);
    for (int64_t j = 0; j < d->poly.count; j++) cancelled += fabs(w[j]) * sqrt(d->norm2[j]);
    for (int64_t j = 0; j < d->poly.count; j++) {
        const double g = dense_dot(d->columns + j * d->rows, r, d->rows);
        const double spread = 1e-9 * a + 2e-15 * cancelled * sqrt(d->norm2[j]);
        if (w[j] != 0.0) CHECK_NEAR(g, copysign(a, w[j]), spread);
        else CHECK(fabs(g) <= a + spread);
    }
}

// The whole path on one kind of design; every fit optimal, converged, and its objective kept.
static void check_path(dense *d, poly_design_kind kind, double objective[PENALTIES])
{
    poly_design design_;
    lasso_target target;
    lasso_active_set *path;
    dense_target(&target, &design_, d, kind);
    CHECK_OK(lasso_active_set_create(&path, &d->mem, &target));
    for (int i = 0; i < PENALTIES; i++) {
        lasso_fit fit;
        const double a = penalty_at(d, i);
        CHECK_OK(lasso_active_set_solve(&fit, &d->mem, path, a, 1e-11));
        const double *w = dense_weights(d, &fit);
        CHECK(fit.converged);
        check_optimal(d, w, a);
        objective[i] = dense_objective(d, w, a);
        CHECK(fit.count <= d->rows); // some optimum has no more weights than rows
        double intercept = target.mean;
        for (int64_t j = 0; j < d->poly.count; j++) intercept -= w[j] * d->mean[j];
        CHECK_NEAR(fit.intercept, intercept, 1e-10 * (1.0 + fabs(intercept)));
    }
}

static void check_both(dense *d)
{
    double gram[PENALTIES], plain[PENALTIES];
    dense_expand(d);
    check_path(d, kinds[0], gram);
    check_path(d, kinds[1], plain);
    for (int i = 0; i < PENALTIES; i++) CHECK_NEAR(gram[i], plain[i], 1e-11 * d->yy);
}

TEST(random_problems_meet_the_optimality_conditions)
{
    static const struct {
        int64_t dims, rows;
        int order;
        double noise;
    } rows[] = {{2, 60, 1, 0.1}, {3, 33, 2, 0.5},  {4, 150, 3, 0.1}, {2, 300, 5, 0.2},
                {6, 40, 3, 0.1}, {8, 30, 3, 0.5},  {17, 50, 1, 0.3}, {9, 64, 2, 1.0},
                {3, 7, 4, 0.1},  {5, 100, 4, 0.0}, {40, 20, 1, 0.2}};
    for (size_t p = 0; p < sizeof rows / sizeof *rows; p++) {
        dense d;
        dense_init(&d, rows[p].dims, rows[p].order, rows[p].rows);
        dense_random(&d, p, rows[p].noise);
        check_both(&d);
        dense_clear(&d);
    }
}

TEST(of_equal_columns_the_first_is_used)
{
    for (int k = 0; k < 2; k++) {
        dense d;
        dense_init(&d, 4, 1, 50);
        dense_random(&d, 20, 0.1);
        memcpy(d.x + 2 * d.stride, d.x, (size_t)d.rows * sizeof *d.x);            // x2 = x0
        memcpy(d.x + 3 * d.stride, d.x + d.stride, (size_t)d.rows * sizeof *d.x); // x3 = x1
        for (int64_t i = 0; i < d.rows; i++)
            d.y[i] = d.x[i] - 2.0 * d.x[d.stride + i] + 0.1 * d.y[i];
        dense_expand(&d);
        poly_design design_;
        lasso_target target;
        lasso_active_set *path;
        dense_target(&target, &design_, &d, kinds[k]);
        CHECK_OK(lasso_active_set_create(&path, &d.mem, &target));
        for (int i = 0; i < PENALTIES; i++) {
            lasso_fit fit;
            CHECK_OK(lasso_active_set_solve(&fit, &d.mem, path, penalty_at(&d, i), 1e-11));
            const double *w = dense_weights(&d, &fit);
            check_optimal(&d, w, penalty_at(&d, i));
            CHECK_NEAR(w[2], 0.0, 0.0);
            CHECK_NEAR(w[3], 0.0, 0.0);
            if (i > 2) CHECK(w[0] != 0.0 && w[1] != 0.0);
        }
        dense_clear(&d);
    }
}

TEST(columns_that_are_sums_of_others_do_no_harm)
{
    for (int order = 1; order <= 3; order++) {
        dense d;
        dense_init(&d, 4, order, 80);
        dense_random(&d, (uint64_t)(30 + order), 0.3);
        for (int64_t i = 0; i < d.rows; i++) {
            double *x = d.x + i;
            x[2 * d.stride] = x[0] + x[d.stride];
            x[3 * d.stride] = x[0] - x[d.stride];
        }
        check_both(&d);
        dense_clear(&d);
    }
}

TEST(a_target_that_some_column_is_outright_is_found)
{
    // Two bodies whose centre of mass rests: the latents are the target, and half of them the
    // negative of the other half.
    dense d;
    dense_init(&d, 8, 1, 300);
    dense_random(&d, 40, 0.0);
    for (int64_t v = 0; v < 4; v++)
        for (int64_t i = 0; i < d.rows; i++) d.x[(v + 4) * d.stride + i] = -d.x[v * d.stride + i];
    memcpy(d.y, d.x + 5 * d.stride, (size_t)d.rows * sizeof *d.y);
    check_both(&d);
    dense_clear(&d);
}

TEST(heavy_tails_and_columns_of_very_different_size_are_solved)
{
    for (int order = 2; order <= 5; order++) {
        dense d;
        dense_init(&d, 3, order, 150);
        dense_random(&d, (uint64_t)(60 + order), 0.3);
        rng r = rng_at(61, (uint64_t)order);
        for (int64_t v = 0; v < 3; v++)
            for (int64_t i = 0; i < d.rows; i++)
                d.x[v * d.stride + i] *= 0.2 / (0.05 + rng_uniform(&r));
        check_both(&d);
        dense_clear(&d);
    }
}

TEST(easy_problems_agree_with_descent_run_to_the_end)
{
    for (int p = 0; p < 4; p++) {
        dense d;
        dense_init(&d, 3, 1 + p % 2, 100);
        dense_random(&d, (uint64_t)(70 + p), 0.5);
        dense_expand(&d);
        poly_design design_;
        lasso_target target;
        lasso_active_set *path;
        arena scratch = {0};
        dense_target(&target, &design_, &d, POLY_DESIGN_GRAM);
        CHECK_OK(lasso_active_set_create(&path, &d.mem, &target));
        for (int i = 0; i < PENALTIES; i++) {
            lasso_fit fit, slow;
            const double a = penalty_at(&d, i);
            CHECK_OK(lasso_active_set_solve(&fit, &d.mem, path, a, 1e-11));
            CHECK_OK(lasso_coordinate_descent_solve(&slow, &d.mem, &scratch, &target, a, 1000000,
                                                    1e-15));
            const double *v = dense_weights(&d, &fit), *w = dense_weights(&d, &slow);
            for (int64_t j = 0; j < d.poly.count; j++) CHECK_NEAR(v[j], w[j], 1e-9);
        }
        arena_clear(&scratch);
        dense_clear(&d);
    }
}

TEST(one_feature_is_soft_thresholding)
{
    for (int k = 0; k < 2; k++) {
        dense d;
        dense_init(&d, 1, 1, 33);
        dense_random(&d, 80, 1.0);
        dense_expand(&d);
        const double xy = dense_dot(d.columns, d.centred, 33);
        poly_design design_;
        lasso_target target;
        lasso_active_set *path;
        dense_target(&target, &design_, &d, kinds[k]);
        CHECK_OK(lasso_active_set_create(&path, &d.mem, &target));
        for (int i = 6; i >= 1; i--) {
            lasso_fit fit;
            const double a = 0.25 * i * fabs(xy);
            CHECK_OK(lasso_active_set_solve(&fit, &d.mem, path, a, 1e-11));
            CHECK(fit.converged);
            CHECK_EQUAL(fit.count, i < 4);
            if (fit.count)
                CHECK_NEAR(fit.weights[0], copysign(fabs(xy) - a, xy) / d.norm2[0], 1e-14);
        }
        dense_clear(&d);
    }
}

TEST(a_constant_target_has_no_weights)
{
    for (int k = 0; k < 2; k++) {
        dense d;
        dense_init(&d, 2, 2, 33);
        dense_random(&d, 90, 0.0);
        for (int i = 0; i < 33; i++) d.y[i] = 0.7;
        poly_design design_;
        lasso_target target;
        lasso_active_set *path;
        lasso_fit fit;
        dense_target(&target, &design_, &d, kinds[k]);
        CHECK_OK(lasso_active_set_create(&path, &d.mem, &target));
        CHECK_OK(lasso_active_set_solve(&fit, &d.mem, path, 1e-3, 1e-11));
        CHECK(fit.converged);
        CHECK_EQUAL(fit.count, 0);
        CHECK_NEAR(fit.intercept, 0.7, 1e-15);
        dense_clear(&d);
    }
}

TEST(constant_columns_are_left_alone)
{
    for (int k = 0; k < 2; k++) {
        dense d;
        dense_init(&d, 3, 2, 40);
        dense_random(&d, 91, 0.2);
        for (int i = 0; i < 40; i++) d.x[d.stride + i] = 0.0;
        double objective[PENALTIES];
        dense_expand(&d);
        check_path(&d, kinds[k], objective);
        dense_clear(&d);
    }
}
