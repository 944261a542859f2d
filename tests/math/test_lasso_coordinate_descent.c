// SPDX-License-Identifier: MIT
// The published solver stops early, so every sweep counts: sweeps and weights are compared with a
// literal implementation, one scalar step at a time.
#include "math/lasso_coordinate_descent.h"

#include "math/dense_reference.h"

// Gram and blocks: the two forms that walk.
static const poly_design_kind kinds[] = {POLY_DESIGN_GRAM, POLY_DESIGN_STORED};
static const char *const kind_names[] = {"Gram", "blocks"};

static double soft_threshold(double t, double a)
{
    return t > a ? t - a : t < -a ? t + a : 0.0;
}

static lasso_fit solve_problem(dense *d, poly_design_kind kind, double a, int64_t max_sweeps,
                               double tolerance)
{
    poly_design design_;
    lasso_target target;
    lasso_fit fit;
    arena scratch = {0};
    dense_target(&target, &design_, d, kind);
    CHECK_OK(
        lasso_coordinate_descent_solve(&fit, &d->mem, &scratch, &target, a, max_sweeps, tolerance));
    arena_clear(&scratch);
    return fit;
}

// Literally: cold start, features in order, residual updated at once, stop by the duality gap.
typedef struct literal_walk {
    double *w;
    int64_t sweeps;
    bool converged;
} literal_walk;

static double literal_gap(const dense *d, const double *r, const double *w, double a)
{
    const int64_t n = d->rows;
    double u = 0.0, l1 = 0.0;
    for (int64_t j = 0; j < d->poly.count; j++) {
        u = fmax(u, fabs(dense_dot(d->columns + j * n, r, n)));
        l1 += fabs(w[j]);
    }
    const double s = u > a ? a / u : 1.0;
    return (1.0 + s * s) / 2.0 * dense_dot(r, r, n) + a * l1 - s * dense_dot(r, d->centred, n);
}

static literal_walk walk_literally(dense *d, double a, int64_t max_sweeps, double tolerance)
{
    const int64_t n = d->rows, count = d->poly.count;
    literal_walk out = {.w = ARENA_ALLOC(&d->mem, double, count)};
    double *r = ARENA_ALLOC(&d->mem, double, n), *w = out.w;
    memcpy(r, d->centred, (size_t)n * sizeof *r);
    while (out.sweeps < max_sweeps && !out.converged) {
        double change = 0.0, largest = 0.0;
        for (int64_t j = 0; j < count; j++) {
            if (d->norm2[j] == 0.0) continue;
            const double *x = d->columns + j * n, old = w[j];
            w[j] = soft_threshold(dense_dot(x, r, n) + d->norm2[j] * old, a) / d->norm2[j];
            for (int64_t i = 0; i < n && w[j] != old; i++) r[i] -= (w[j] - old) * x[i];
            change = fmax(change, fabs(w[j] - old));
            largest = fmax(largest, fabs(w[j]));
        }
        out.sweeps++;
        if (largest == 0.0 || change / largest < tolerance || out.sweeps == max_sweeps)
            out.converged = literal_gap(d, r, w, a) < tolerance * d->yy;
    }
    return out;
}

TEST(one_feature_is_soft_thresholding)
{
    for (int k = 0; k < 2; k++)
        for (int quarters = 1; quarters < 6; quarters++) {
            const double share = 0.25 * quarters;
            dense d;
            dense_init(&d, 1, 1, 33);
            dense_random(&d, 7, 1.0);
            dense_expand(&d);
            const double xy = dense_dot(d.columns, d.centred, 33), a = share * fabs(xy);
            const lasso_fit fit = solve_problem(&d, kinds[k], a, 1000, 1e-4);
            CHECK_EQUAL(fit.count, share < 1.0);
            if (fit.count) CHECK_NEAR(fit.weights[0], soft_threshold(xy, a) / d.norm2[0], 1e-14);
            CHECK(fit.converged);
            // Nothing moves: seen at once. Something did: the second sweep finds it settled.
            CHECK_EQUAL(fit.sweeps, share < 1.0 ? 2 : 1);
            double mean = 0.0;
            for (int i = 0; i < 33; i++) mean += d.y[i] / 33.0;
            const double w = fit.count ? fit.weights[0] : 0.0;
            CHECK_NEAR(fit.intercept, mean - w * d.mean[0], 1e-14);
            dense_clear(&d);
        }
}

TEST(orthogonal_columns_are_thresholded_one_by_one)
{
    // Walsh functions: columns of +-1, orthogonal to each other and to the constant.
    for (int k = 0; k < 2; k++) {
        dense d;
        dense_init(&d, 3, 1, 8);
        for (int i = 0; i < 8; i++) {
            for (int v = 0; v < 3; v++) d.x[v * d.stride + i] = i >> v & 1 ? 1.0 : -1.0;
            d.y[i] = 5.0 + 3.0 * d.x[i] - 0.5 * d.x[d.stride + i] + 1.0 * d.x[2 * d.stride + i];
        }
        const lasso_fit fit = solve_problem(&d, kinds[k], 0.75 * 8.0, 1000, 1e-4);
        CHECK_EQUAL(fit.count, 2);
        CHECK_EQUAL(fit.features[0], 0);
        CHECK_EQUAL(fit.features[1], 2);
        CHECK_NEAR(fit.weights[0], 3.0 - 0.75, 1e-15);
        CHECK_NEAR(fit.weights[1], 1.0 - 0.75, 1e-15);
        CHECK_NEAR(fit.intercept, 5.0, 1e-15);
        CHECK_EQUAL(fit.sweeps, 2);
        dense_clear(&d);
    }
}

static const struct {
    int64_t dims, rows;
    int order;
    double noise;
} problems[] = {
    {2, 60, 1, 0.1},  {3, 33, 2, 0.5}, {4, 150, 3, 0.1}, {2, 300, 5, 0.2}, {6, 40, 3, 0.1},
    {5, 150, 4, 0.3}, {8, 30, 3, 0.0}, {17, 50, 1, 0.3}, {9, 64, 2, 1.0},  {3, 7, 4, 0.1},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

TEST(the_iterates_are_those_of_the_literal_algorithm)
{
    int stopped = 0, settled = 0, wide = 0;
    for (int p = 0; p < PROBLEMS; p++)
        for (int power = 0; power < 5; power++) {
            const double share = 0.5 * pow(6.0, -power);
            dense d;
            dense_init(&d, problems[p].dims, problems[p].order, problems[p].rows);
            dense_random(&d, (uint64_t)p, problems[p].noise);
            dense_expand(&d);
            const double a = share * dense_largest(&d);
            const literal_walk want = walk_literally(&d, a, 200, 1e-4);
            double size = 1.0;
            for (int64_t j = 0; j < d.poly.count; j++) size = fmax(size, fabs(want.w[j]));
            for (int k = 0; k < 2; k++) {
                const lasso_fit fit = solve_problem(&d, kinds[k], a, 200, 1e-4);
                const double *w = dense_weights(&d, &fit);
                if (fit.sweeps != want.sweeps)
                    print_error("problem %d, a = %g, %s\n", p, a, kind_names[k]);
                CHECK_EQUAL(fit.sweeps, want.sweeps);
                CHECK_EQUAL(fit.converged, want.converged);
                for (int64_t j = 0; j < d.poly.count; j++)
                    CHECK_NEAR(w[j], want.w[j], 1e-11 * size);
            }
            stopped += !want.converged;
            settled += want.converged;
            wide += d.poly.count > d.rows;
            dense_clear(&d);
        }
    // Both ends and both shapes are really among them.
    CHECK(stopped >= 5 && settled >= 5 && wide >= 5);
}

TEST(gram_matrix_and_blocks_give_the_same_iterates)
{
    for (int p = 0; p < PROBLEMS; p++) {
        dense d;
        dense_init(&d, problems[p].dims, problems[p].order, problems[p].rows);
        dense_random(&d, (uint64_t)(50 + p), problems[p].noise);
        dense_expand(&d);
        const double a = 0.003 * dense_largest(&d);
        const lasso_fit gram = solve_problem(&d, POLY_DESIGN_GRAM, a, 1000, 1e-4);
        const lasso_fit blocks = solve_problem(&d, POLY_DESIGN_STORED, a, 1000, 1e-4);
        CHECK_EQUAL(gram.sweeps, blocks.sweeps);
        CHECK_EQUAL(gram.converged, blocks.converged);
        const double *v = dense_weights(&d, &gram), *w = dense_weights(&d, &blocks);
        for (int64_t j = 0; j < d.poly.count; j++)
            CHECK_NEAR(v[j], w[j], 1e-12 * fmax(1.0, fabs(v[j])));
        CHECK_NEAR(gram.intercept, blocks.intercept, 1e-11);
        dense_clear(&d);
    }
}

TEST(a_fit_stopped_by_max_sweeps_says_so)
{
    for (int k = 0; k < 2; k++) {
        dense d;
        dense_init(&d, 4, 3, 150);
        dense_random(&d, 9, 0.1);
        dense_expand(&d);
        const double a = 1e-4 * dense_largest(&d);
        for (int64_t sweeps = 1; sweeps <= 3; sweeps++) {
            const lasso_fit fit = solve_problem(&d, kinds[k], a, sweeps, 1e-12);
            CHECK_EQUAL(fit.sweeps, sweeps);
            CHECK(!fit.converged);
        }
        dense_clear(&d);
    }
}

TEST(a_constant_target_runs_all_sweeps_to_no_weight)
{
    // Its norm is 0, and no gap is below 0: so the published loop goes on, harmlessly.
    for (int k = 0; k < 2; k++) {
        dense d;
        dense_init(&d, 2, 2, 33);
        dense_random(&d, 10, 0.0);
        for (int i = 0; i < 33; i++) d.y[i] = 0.7;
        const lasso_fit fit = solve_problem(&d, kinds[k], 1.0, 1000, 1e-4);
        CHECK_EQUAL(fit.count, 0);
        CHECK_EQUAL(fit.sweeps, 1000);
        CHECK_NEAR(fit.intercept, 0.7, 1e-15);
        dense_clear(&d);
    }
}

TEST(columns_of_zero_length_are_never_used)
{
    for (int k = 0; k < 2; k++) {
        dense d;
        dense_init(&d, 3, 2, 33);
        dense_random(&d, 11, 0.1);
        for (int i = 0; i < 33; i++) d.x[d.stride + i] = 0.0;
        const lasso_fit fit = solve_problem(&d, kinds[k], 0.01, 1000, 1e-4);
        CHECK(fit.count > 0);
        for (int64_t f = 0; f < fit.count; f++) {
            int64_t v[POLY_MAX_ORDER];
            const int degree = poly_variables(v, &d.poly, fit.features[f]);
            for (int i = 0; i < degree; i++) CHECK(v[i] != 1);
        }
        dense_clear(&d);
    }
}

TEST(scratch_memory_is_rewound)
{
    dense d;
    dense_init(&d, 3, 2, 33);
    dense_random(&d, 12, 0.1);
    poly_design design_;
    lasso_target target;
    lasso_fit fit;
    arena scratch = {0};
    dense_target(&target, &design_, &d, POLY_DESIGN_STORED);
    int64_t *mine = ARENA_ALLOC(&scratch, int64_t, 1);
    *mine = 42;
    const arena_mark before = arena_get_mark(&scratch);
    CHECK_OK(lasso_coordinate_descent_solve(&fit, &d.mem, &scratch, &target, 0.1, 1000, 1e-4));
    const arena_mark after = arena_get_mark(&scratch);
    CHECK(before.block == after.block && before.used == after.used && *mine == 42);
    arena_clear(&scratch);
    dense_clear(&d);
}
