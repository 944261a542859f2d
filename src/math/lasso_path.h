// SPDX-License-Identifier: MIT
// Lasso really solved: an active-set method along falling penalties.
//
// On a working set of features the optimum for fixed signs is one triangular solve; the step to it
// stops where a weight reaches zero, which then leaves [Osborne00, Lee06]. A feature whose column
// depends on the active ones has no curvature to step along: weight is moved over to it until
// another one is used up. Outside the working set only |x_j . r| <= a is checked, in whole-matrix
// products; what violates it is let in.
#ifndef MATH_LASSO_PATH_H
#define MATH_LASSO_PATH_H

#include "math/lasso_cd.h"

typedef struct lasso_active_set lasso_active_set;

/// `mem` keeps the path's memory and must not be rewound before it is done with.
plumb_status lasso_active_set_create(lasso_active_set **out, arena *mem, const lasso_target *t);

/// The minimum of 1/2 |y - Xw|^2 + a |w|_1 for the next penalty; start with the largest. The fit is
/// made in `mem`; it counts as converged if its duality gap is at most `gap` * |y|^2, or if the
/// optimality conditions hold to rounding.
plumb_status lasso_active_set_solve(lasso_fit *out, arena *mem, lasso_active_set *path, double a,
                                    double gap);

#endif
