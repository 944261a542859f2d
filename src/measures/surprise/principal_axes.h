// SPDX-License-Identifier: MIT
// Distances along the principal axes of points (math/pca.h).
#ifndef MEASURES_SURPRISE_PRINCIPAL_AXES_H
#define MEASURES_SURPRISE_PRINCIPAL_AXES_H

#include "math/pca.h"

/// out[i] = sum over axes first .. last-1 of (x . axis)^2 * weight[axis] (NULL: 1).
plumb_status principal_axes_project(double *out, arena *mem, const pca_axes *s, const double *rows,
                                    int64_t count, int64_t first, int64_t last,
                                    const double *weight, int threads);

/// Sum over axes of |x - axis| / share of variance: PyOD's, which takes axes for points.
double principal_axes_pyod(const double *x, const double *axes, int64_t width, const double *shares,
                           int64_t dims);

/// The two sums of [Shyu03]: y^2/value over the axes that hold 50 %, and over values below 0.2.
plumb_status principal_axes_shyu(double *major, double *minor, arena *mem, const pca_axes *s,
                                 const double *rows, int64_t count, int threads);

#endif
