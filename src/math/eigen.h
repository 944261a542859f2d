// SPDX-License-Identifier: MIT
// Eigenvalues and eigenvectors of a symmetric matrix, for a few hundred rows.
#ifndef MATH_EIGEN_H
#define MATH_EIGEN_H

#include "base/arena.h"
#include "plumb/status.h"

/// values (n) descending and vectors (n, n), one a row, of the symmetric matrix (n, n), whose rows
/// lie n apart. The largest entry of a vector, the first of equals, is positive. `mem` lends
/// scratch. Fails with PLUMB_ENUMERIC if it is not finite, PLUMB_EMEMORY.
plumb_status eigen_symmetric(double *values, double *vectors, arena *mem, const double *matrix,
                             int64_t n);

#endif
