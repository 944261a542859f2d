// SPDX-License-Identifier: MIT
// Eigenvalues and eigenvectors of a symmetric matrix of at most a few hundred rows.
#ifndef MATH_EIGEN_H
#define MATH_EIGEN_H

#include "base/arena.h"
#include "plumb/status.h"

/// values (n), descending, and vectors (n, n), one per row, of the symmetric matrix (n, n). The
/// entry of a vector that is largest in magnitude (the first of equal ones) is positive. `mem`
/// lends scratch memory. Fails with PLUMB_ENUMERIC if an element is not finite or the iteration
/// does not converge, PLUMB_EMEMORY.
plumb_status eigen_symmetric(double *values, double *vectors, arena *mem, const double *matrix,
                             int64_t n);

#endif
