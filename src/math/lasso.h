// SPDX-License-Identifier: MIT
// What the two Lasso solvers share: a regression target, and the sparse model they fit.
//     minimise 1/2 |y - X w|^2 + a |w|_1
// X is a polynomial design matrix whose columns are centred (math/poly_design.h). In the solvers w
// is the vector of weights, r = y - X w the residual, g = X^T r the correlations, a the penalty.
#ifndef MATH_LASSO_H
#define MATH_LASSO_H

#include "math/poly_design.h"

/// A sparse linear model: yhat = intercept + sum over k of weights[k] * column(features[k]).
typedef struct lasso_fit {
    int64_t count;           ///< Number of weights that are not zero.
    const int64_t *features; ///< (count) rising.
    const double *weights;   ///< (count).
    double intercept;
    int64_t sweeps; ///< Sweeps over the features, or rounds of the active-set method.
    bool converged; ///< The solver met its tolerance.
} lasso_fit;

/// One target on one set of rows, centred: what all penalties share.
typedef struct lasso_target {
    const poly_design *design;
    const double *y; ///< (stride) centred; zero past the rows.
    double mean;     ///< What was subtracted.
    double yy;       ///< y . y
    const double *c; ///< X^T y (features of the design).
} lasso_target;

/// Centres y (rows of the design). The target lives in `mem`. Fails with PLUMB_EMEMORY.
plumb_status lasso_target_init(lasso_target *out, arena *mem, const poly_design *design,
                               const double *y);

/// The same for `count` targets y, `stride` apart.
plumb_status lasso_targets_init(lasso_target *out, arena *mem, const poly_design *design,
                                const double *y, int64_t stride, int64_t count);

/// Sets features, weights and intercept of a fit from dense weights (features of the design). They
/// live in `mem`. Fails with PLUMB_EMEMORY.
plumb_status lasso_fit_pack(lasso_fit *out, arena *mem, const lasso_target *target,
                            const double *weights);

#endif
