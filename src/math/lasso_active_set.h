// SPDX-License-Identifier: MIT
// Lasso solved to rounding, by an active-set method along falling penalties.
//
// On a working set of features, the optimum for fixed signs is one triangular solve. The step to it
// stops where a weight reaches zero; that feature then leaves the active set [Osborne00, Lee06]. A
// feature whose column is a linear combination of the active ones has no curvature to step along:
// weight is moved over to it until another one is used up. Outside the working set only the
// condition |x_j . r| <= a is checked, with products of the whole matrix; features that violate it
// are added.
#ifndef MATH_LASSO_ACTIVE_SET_H
#define MATH_LASSO_ACTIVE_SET_H

#include "math/lasso.h"

typedef struct lasso_active_set lasso_active_set;

/// `mem` keeps the solver's memory and must not be rewound while it is used. Fails with
/// PLUMB_EMEMORY.
plumb_status lasso_active_set_create(lasso_active_set **out, arena *mem,
                                     const lasso_target *target);

/// The minimum of 1/2 |y - X w|^2 + a |w|_1. Penalties must fall from call to call. The fit lives
/// in `mem`. It has converged if its duality gap is at most gap * |y|^2, or if the optimality
/// conditions hold to rounding. Fails with PLUMB_EMEMORY, or if stopped.
plumb_status lasso_active_set_solve(lasso_fit *out, arena *mem, lasso_active_set *set, double a,
                                    double gap);

#endif
