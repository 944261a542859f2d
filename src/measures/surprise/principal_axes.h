// SPDX-License-Identifier: MIT
// What principal components say: the covariance of points, its axes, and distances along them.
#ifndef MEASURES_SURPRISE_PRINCIPAL_AXES_H
#define MEASURES_SURPRISE_PRINCIPAL_AXES_H

#include "base/arena.h"
#include "plumb/status.h"

/// Mean, scale and axes of points: x is seen as (x - mean) / scale along the rows of `axes`.
typedef struct principal_axes {
    int64_t dims, width; ///< rows of `axes` are `width` apart, a multiple of VECTOR_PAD
    double *mean, *scale;
    double *values; ///< descending
    double *axes;
    double largest;  ///< values[0]
    bool triangular; ///< axes is the inverse of the Cholesky factor, values are all 1
} principal_axes;

/// Of rows (count, dims) with divisor `divisor`; columns divided by their population standard
/// deviation (a constant one by 1) if `standardise`. All live in `mem`.
plumb_status principal_axes_fit(principal_axes *out, arena *mem, const double *rows, int64_t count,
                                int64_t dims, double divisor, bool standardise);

/// The same for Mahalanobis distances, where any axes do: Cholesky's if it is plain that no
/// eigenvalue is below 1e-10 of the largest, else eigenvectors.
plumb_status principal_axes_whiten(principal_axes *out, arena *mem, const double *rows,
                                   int64_t count, int64_t dims);

/// out[i] = sum over axes first .. last-1 of (x . axis)^2 * weight[axis] (NULL: 1).
plumb_status principal_axes_project(double *out, arena *mem, const principal_axes *s,
                                    const double *rows, int64_t count, int64_t first, int64_t last,
                                    const double *weight, int threads);

/// How many leading axes hold this share of the variance.
int64_t principal_axes_leading(const principal_axes *s, double share);

/// Sum over axes of |x - axis| / share of variance: PyOD's, which takes axes for points.
double principal_axes_pyod(const double *x, const double *axes, int64_t width, const double *shares,
                           int64_t dims);

/// The two sums of [Shyu03]: y^2/value over the axes that hold 50 %, and over values below 0.2.
plumb_status principal_axes_shyu(double *major, double *minor, arena *mem, const principal_axes *s,
                                 const double *rows, int64_t count, int threads);

#endif
