// SPDX-License-Identifier: MIT
// Principal component analysis: the axes of the largest variance of many points.
//
// There are two forms, because their results must not change in the last bit and their sums have a
// different order. pca_axes come from points in rows and sum the covariance in the eight fixed
// lanes of math/vector.h, so that every processor gives the same bits. pca_components come from
// variables in rows that are centred already, and use OpenBLAS, which is faster. Both take their
// eigenvectors from math/eigen.h.
#ifndef MATH_PCA_H
#define MATH_PCA_H

#include <stdbool.h>

#include "base/arena.h"
#include "plumb/status.h"

/// Mean, scale and axes of points: the coordinates of x are (x - mean) / scale along the rows of
/// `axes`.
typedef struct pca_axes {
    int64_t dims, width;  ///< Rows of `axes` lie `width` apart, a multiple of VECTOR_PAD.
    double *mean, *scale; ///< (dims). scale is 1 unless standardised.
    double *values;       ///< (dims) variances along the axes, descending.
    double *axes;         ///< (dims, width) one axis per row; zero past dims.
    double largest;       ///< values[0]
    bool triangular;      ///< axes is the inverse of the Cholesky factor, and values are all 1.
} pca_axes;

/// Axes of rows (count, dims). The covariance is divided by `divisor`. If `standardise`, columns
/// are divided by their population standard deviation (a constant column by 1). All memory is in
/// `mem`. Fails with PLUMB_EMEMORY, PLUMB_ENUMERIC if a value is not finite.
plumb_status pca_axes_fit(pca_axes *out, arena *mem, const double *rows, int64_t count,
                          int64_t dims, double divisor, bool standardise);

/// The same for Mahalanobis distances, for which any axes that whiten will do: those of the
/// Cholesky factor if certainly no eigenvalue is below PCA_SINGULAR times the largest, else
/// eigenvectors.
plumb_status pca_axes_whiten(pca_axes *out, arena *mem, const double *rows, int64_t count,
                             int64_t dims);

/// Number of leading axes that hold this share of the variance.
int64_t pca_axes_leading(const pca_axes *axes, double share);

/// Eigenvalues below this share of the largest count as zero.
#define PCA_SINGULAR 1e-10

/// Fits that cannot take all latents use at most this many components: what 16 pairs (q, p) have.
enum { PCA_MAX_COMPONENTS = 32 };

/// The first components of centred variables, each scaled to deviation 1.
typedef struct pca_components {
    int64_t count, dims;
    double *axes;      ///< (count, dims): component = axes . variables
    double *deviation; ///< (count) of each component before it was scaled.
} pca_components;

/// Variables in rows: x (dims, stride). The components are found from columns first .. end-1.
typedef struct pca_variables {
    const double *x;
    int64_t dims, stride, first, end;
} pca_variables;

/// The first max_count components; fewer if the variables span fewer dimensions. *projected becomes
/// the components of columns 0 .. end-1, (count, stride). All memory is in `mem`. Fails with
/// PLUMB_EMEMORY, PLUMB_EMISSING without OpenBLAS, PLUMB_ENUMERIC.
plumb_status pca_components_fit(pca_components *out, double **projected, arena *mem,
                                const pca_variables *variables, int64_t max_count);

/// Derivatives by the variables, j (rows, dims), from derivatives by the components, inner (rows,
/// count): j = inner axes.
void pca_components_chain(double *j, const pca_components *components, const double *inner,
                          int64_t rows);

#endif
