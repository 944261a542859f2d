// SPDX-License-Identifier: MIT
// A polynomial regression written out in full: every column centred in long double. What the tests
// of designs and solvers are judged by.
#ifndef TESTS_MATH_DENSE_REFERENCE_H
#define TESTS_MATH_DENSE_REFERENCE_H

#include <string.h>

#include "math/lasso.h"
#include "math/rng.h"
#include "support/test.h"

typedef struct dense {
    arena mem;
    poly poly;
    int64_t rows, stride; // stride of x and y: a few more than the rows, with rubbish in them
    double *x, *y;        // (dims, stride), (stride): filled in by the test, then dense_expand
    double *columns;      // (count, rows) centred
    double *mean, *norm2; // (count)
    double *centred;      // (rows) y
    double yy;
} dense;

static inline void dense_init(dense *d, int64_t dims, int order, int64_t rows)
{
    *d = (dense){.rows = rows, .stride = rows + 5};
    CHECK_OK(poly_init(&d->poly, &d->mem, dims, order));
    d->x = ARENA_ALLOC(&d->mem, double, dims * d->stride);
    d->y = ARENA_ALLOC(&d->mem, double, d->stride);
    for (int64_t i = 0; i < dims * d->stride; i++) d->x[i] = 1e9;
    for (int64_t i = 0; i < d->stride; i++) d->y[i] = 1e9;
}

// Normal variables, and a target that some monomials and noise make up.
static inline void dense_random(dense *d, uint64_t seed, double noise)
{
    rng r = rng_at(seed, 0);
    for (int64_t v = 0; v < d->poly.dims; v++)
        for (int64_t i = 0; i < d->rows; i++) d->x[v * d->stride + i] = rng_normal(&r);
    for (int64_t i = 0; i < d->rows; i++) d->y[i] = 0.3 + noise * rng_normal(&r);
    for (int64_t f = 0; f < d->poly.count; f += 1 + d->poly.count / 7) {
        int64_t v[POLY_MAX_ORDER];
        const int degree = poly_variables(v, &d->poly, f);
        const double weight = rng_normal(&r);
        for (int64_t i = 0; i < d->rows; i++) {
            double product = weight;
            for (int k = 0; k < degree; k++) product *= d->x[v[k] * d->stride + i];
            d->y[i] += product;
        }
    }
}

static inline double dense_centre(double *out, const double *in, int64_t rows, double *norm2)
{
    long double mean = 0.0L, square = 0.0L;
    for (int64_t i = 0; i < rows; i++) mean += (long double)in[i];
    mean /= (long double)rows;
    for (int64_t i = 0; i < rows; i++) {
        const long double e = (long double)in[i] - mean;
        out[i] = (double)e;
        square += e * e;
    }
    *norm2 = (double)square;
    return (double)mean;
}

static inline void dense_expand(dense *d)
{
    d->columns = ARENA_ALLOC(&d->mem, double, d->poly.count * d->rows);
    d->mean = ARENA_ALLOC(&d->mem, double, d->poly.count);
    d->norm2 = ARENA_ALLOC(&d->mem, double, d->poly.count);
    d->centred = ARENA_ALLOC(&d->mem, double, d->rows);
    for (int64_t f = 0; f < d->poly.count; f++) {
        int64_t v[POLY_MAX_ORDER];
        const int degree = poly_variables(v, &d->poly, f);
        double *column = d->columns + f * d->rows;
        for (int64_t i = 0; i < d->rows; i++) {
            column[i] = 1.0;
            for (int k = 0; k < degree; k++) column[i] *= d->x[v[k] * d->stride + i];
        }
        d->mean[f] = dense_centre(column, column, d->rows, &d->norm2[f]);
    }
    dense_centre(d->centred, d->y, d->rows, &d->yy);
}

static inline double dense_dot(const double *a, const double *b, int64_t n)
{
    long double sum = 0.0L;
    for (int64_t i = 0; i < n; i++) sum += (long double)a[i] * (long double)b[i];
    return (double)sum;
}

static inline double *dense_weights(dense *d, const lasso_fit *fit)
{
    double *w = ARENA_ALLOC(&d->mem, double, d->poly.count);
    int64_t last = -1;
    for (int64_t k = 0; k < fit->count; k++) {
        CHECK(fit->features[k] > last && fit->features[k] < d->poly.count); // rising
        CHECK(fit->weights[k] != 0.0);
        w[last = fit->features[k]] = fit->weights[k];
    }
    return w;
}

/// r (rows) = y - X w, centred.
static inline void dense_residual(double *r, const dense *d, const double *w)
{
    for (int64_t i = 0; i < d->rows; i++) {
        long double left = (long double)d->centred[i];
        for (int64_t f = 0; f < d->poly.count; f++)
            if (w[f] != 0.0) left -= (long double)w[f] * (long double)d->columns[f * d->rows + i];
        r[i] = (double)left;
    }
}

static inline double dense_objective(dense *d, const double *w, double a)
{
    double *r = ARENA_ALLOC(&d->mem, double, d->rows), l1 = 0.0;
    dense_residual(r, d, w);
    for (int64_t f = 0; f < d->poly.count; f++) l1 += fabs(w[f]);
    return 0.5 * dense_dot(r, r, d->rows) + a * l1;
}

/// max |x_j . y|: from this penalty on all weights are zero.
static inline double dense_largest(const dense *d)
{
    double largest = 0.0;
    for (int64_t f = 0; f < d->poly.count; f++)
        largest = fmax(largest, fabs(dense_dot(d->columns + f * d->rows, d->centred, d->rows)));
    return largest;
}

static inline void dense_target(lasso_target *out, poly_design *design_, dense *d,
                                poly_design_kind kind)
{
    CHECK_OK(poly_design_init(design_, &d->mem, &d->poly,
                              &(poly_rows){d->x, d->stride, 0, d->rows, NULL}, kind));
    CHECK_OK(lasso_target_init(out, &d->mem, design_, d->y));
}

static inline void dense_clear(dense *d)
{
    arena_clear(&d->mem);
}

#endif
