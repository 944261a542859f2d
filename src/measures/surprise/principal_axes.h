// SPDX-License-Identifier: MIT
// Distances along the principal axes of points (math/pca.h).
#ifndef MEASURES_SURPRISE_PRINCIPAL_AXES_H
#define MEASURES_SURPRISE_PRINCIPAL_AXES_H

#include "math/pca.h"

/// Axes first .. last-1, and the weight of each axis (NULL: 1).
typedef struct axis_range {
    int64_t first, last;
    const double *weight;
} axis_range;

/// out (count) = sum over the axes of `range` of (x . axis)^2 * weight[axis], x the centred row.
plumb_status principal_axes_project(double *out, arena *mem, const pca_axes *basis,
                                    const double *rows, int64_t count, const axis_range *range,
                                    int threads);

/// Sum over axes of |x - axis| / share of variance: PyOD's, which takes axes for points.
double principal_axes_pyod(const double *x, const double *axes, int64_t width, const double *shares,
                           int64_t dims);

/// The two sums of [Shyu03]: y^2/value over the axes that hold 50 %, and over values below 0.2.
plumb_status principal_axes_shyu(double *major, double *minor, arena *mem, const pca_axes *basis,
                                 const double *rows, int64_t count, int threads);

#endif
