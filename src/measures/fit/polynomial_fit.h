// SPDX-License-Identifier: MIT
// The map F from latents to truth: Lasso on polynomials of rising order, the penalty chosen on two
// halves of the rows [Higgins21, section 4].
#ifndef MEASURES_FIT_POLYNOMIAL_FIT_H
#define MEASURES_FIT_POLYNOMIAL_FIT_H

#include "math/lasso.h"

typedef struct polynomial_fit_problem {
    const double *x; // (dims, stride), standardised, zero past the rows; NULL: of `source`
    poly_source source;
    const double *y; // (targets, stride)
    int64_t dims, targets, rows, stride;
    const double *alphas; // increasing
    int64_t alpha_count;
    int max_order;
    int threads;
    double r2_bar;           // the search for an order ends above it
    bool explained_r2;       // R2 is SSexplained/SStot; else 1 - SSres/SStot
    double gap;              // relative duality gap to reach
    bool coordinate_descent; // the published iterates, with max_sweeps and tolerance; not `gap`
    int64_t max_sweeps;      // of coordinate descent
    double tolerance;        // relative duality gap that ends coordinate descent
} polynomial_fit_problem;

typedef struct polynomial_fit {
    int order;
    int alpha_index;
    poly poly;
    lasso_fit *full;    // (targets) on all rows
    lasso_fit *half[2]; // (targets) on the first and second half, same alpha
    double *residual;   // (targets, stride) of `full`
    double *heldout;    // (targets, stride) residuals; each row by the fit to the other half
    double r2;
    double r2_by_order[POLY_MAX_ORDER + 1];  // NaN where not tried
    int alpha_by_order[POLY_MAX_ORDER + 1];  // -1 where not tried
    double *cv_by_order[POLY_MAX_ORDER + 1]; // (2, alphas) explained variance on the half held out;
                                             // NULL where not tried
    int64_t unconverged;                     // Lasso problems that did not converge, all orders
} polynomial_fit;

/// Rows of the first half: ceil(rows / 2), even if that cuts a trajectory.
static inline int64_t polynomial_fit_half(int64_t rows)
{
    return (rows + 1) / 2;
}

/// On failure what `out` points to is undefined.
plumb_status polynomial_fit_search(polynomial_fit *out, arena *mem,
                                   const polynomial_fit_problem *problem);

#endif
