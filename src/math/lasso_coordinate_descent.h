// SPDX-License-Identifier: MIT
// Lasso by cyclic coordinate descent [Friedman10], iterate for iterate as scikit-learn does it:
// start from zero, features in order, a limited number of sweeps, stop by the duality gap. The
// published SyMetric depends on where this solver stops. So the iterates must stay the same; only
// the arithmetic of each visit is faster here.
#ifndef MATH_LASSO_COORDINATE_DESCENT_H
#define MATH_LASSO_COORDINATE_DESCENT_H

#include "math/lasso.h"

/// Minimises 1/2 |y - X w|^2 + a |w|_1. It stops when the duality gap is below tolerance * y.y, or
/// after max_sweeps. The design must have a Gram matrix or blocks (POLY_DESIGN_GRAM, _STORED). The
/// fit lives in `mem`; `scratch` is left as it was. Fails with PLUMB_EMEMORY, or if stopped.
plumb_status lasso_coordinate_descent_solve(lasso_fit *out, arena *mem, arena *scratch,
                                            const lasso_target *target, double a,
                                            int64_t max_sweeps, double tolerance);

#endif
