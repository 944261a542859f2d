// SPDX-License-Identifier: MIT
// Lasso by cyclic coordinate descent, iterate for iterate as scikit-learn's solver walks
// [Friedman10]: cold start, features in order, at most so many sweeps, stop by the duality gap.
// The published SyMetric depends on where this stops, so it is kept to the letter; only the
// arithmetic behind each visit is faster.
#ifndef MATH_LASSO_CD_H
#define MATH_LASSO_CD_H

#include "math/poly_design.h"

/// A sparse linear model: yhat = intercept + sum weights[k] column(features[k]).
typedef struct lasso_fit {
    int64_t count;
    const int64_t *features; // rising
    const double *weights;
    double intercept;
    int64_t sweeps;
    bool converged;
} lasso_fit;

/// One target on one set of rows, centred: what all penalties share.
typedef struct lasso_target {
    const poly_design *design;
    const double *y; // (stride), centred, zero behind the rows
    double mean;     // taken off
    double yy;       // y . y
    const double *c; // X^T y (count)
} lasso_target;

plumb_status lasso_target_init(lasso_target *out, arena *mem, const poly_design *d,
                               const double *y);

/// Minimises 1/2 |y - Xw|^2 + a |w|_1. The fit is made in `mem`; `scratch` is left as it was.
plumb_status lasso_coordinate_descent_solve(lasso_fit *out, arena *mem, arena *scratch,
                                            const lasso_target *t, double a, int64_t max_sweeps,
                                            double tolerance);

/// Packs dense weights into a fit.
plumb_status lasso_fit_pack(lasso_fit *out, arena *mem, const lasso_target *t,
                            const double *weights);

#endif
