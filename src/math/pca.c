// SPDX-License-Identifier: MIT
// Covariances are sums of products of columns, a few hundred points at a time so that both stay in
// the cache; eigenvectors come from math/eigen.c.
#include "math/pca.h"

#include <math.h>
#include <string.h>

#include "math/blas.h"
#include "math/cholesky.h"
#include "math/eigen.h"
#include "math/vector.h"

enum { CHUNK = 512, TILE = 16 }; // points, and rows of the covariance, at a time

// ---- axes of points ----

static plumb_status allocate_axes(pca_axes *out, arena *mem, int64_t dims)
{
    *out = (pca_axes){.dims = dims, .width = vector_padded(dims)};
    out->values = ARENA_ALLOC(mem, double, dims);
    out->axes = ARENA_ALLOC(mem, double, dims * out->width);
    return out->values && out->axes ? PLUMB_OK : PLUMB_EMEMORY;
}

// Mean of each column and, if `standardise`, its standard deviation.
static plumb_status compute_moments(pca_axes *out, arena *mem, const double *rows, int64_t count,
                                    bool standardise)
{
    const int64_t d = out->dims;
    double *mean = out->mean = ARENA_ALLOC(mem, double, d);
    double *scale = out->scale = ARENA_ALLOC(mem, double, d);
    if (!mean || !scale) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < d; i++) mean[i] += rows[r * d + i];
    for (int64_t i = 0; i < d; i++) mean[i] /= (double)count;
    for (int64_t r = 0; standardise && r < count; r++)
        for (int64_t i = 0; i < d; i++) {
            const double x = rows[r * d + i] - mean[i];
            scale[i] += x * x;
        }
    for (int64_t i = 0; i < d; i++) {
        const double deviation = sqrt(scale[i] / (double)count);
        // A deviation below the rounding of the mean: the column is constant.
        scale[i] = standardise && deviation > 1e-14 * fabs(mean[i]) ? deviation : 1.0;
    }
    return PLUMB_OK;
}

// out (dims, dims) = sum over points of z z^T / divisor, with z = (x - mean) / scale.
static plumb_status compute_covariance(double *out, arena *mem, const pca_axes *axes,
                                       const double *rows, int64_t count, double divisor)
{
    const int64_t d = axes->dims;
    double *columns = ARENA_ALLOC(mem, double, d *CHUNK), *part = ARENA_ALLOC(mem, double, TILE *d);
    if (!columns || !part) return PLUMB_EMEMORY;
    for (int64_t first = 0; first < count; first += CHUNK) {
        // The columns of a chunk of points, filled up with zeros.
        const int64_t n = count - first < CHUNK ? count - first : CHUNK;
        const int64_t padded = vector_padded(n);
        for (int64_t i = 0; i < d; i++)
            for (int64_t r = n; r < padded; r++) columns[i * CHUNK + r] = 0.0;
        for (int64_t r = 0; r < n; r++)
            for (int64_t i = 0; i < d; i++)
                columns[i * CHUNK + r] =
                    (rows[(first + r) * d + i] - axes->mean[i]) / axes->scale[i];
        // The lower triangle, a few rows at a time.
        for (int64_t i = 0; i < d; i += TILE) {
            const int64_t high = d - i < TILE ? d - i : TILE, wide = i + high;
            vector_products(part, wide, (vector_rows){columns + i * CHUNK, high, CHUNK},
                            (vector_rows){columns, wide, CHUNK}, padded);
            for (int64_t j = 0; j < high; j++)
                for (int64_t k = 0; k < wide; k++) out[(i + j) * d + k] += part[j * wide + k];
        }
    }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++) out[i * d + j] = out[j * d + i] = out[i * d + j] / divisor;
    return PLUMB_OK;
}

static plumb_status set_eigenvectors(pca_axes *out, arena *mem, const double *matrix)
{
    const int64_t d = out->dims;
    double *vectors = ARENA_ALLOC(mem, double, d *d);
    if (!vectors) return PLUMB_EMEMORY;
    const plumb_status st = eigen_symmetric(out->values, vectors, mem, matrix, d);
    for (int64_t i = 0; !st && i < d; i++)
        memcpy(out->axes + i * out->width, vectors + i * d, (size_t)d * sizeof *vectors);
    out->largest = out->values[0];
    return st;
}

plumb_status pca_axes_fit(pca_axes *out, arena *mem, const double *rows, int64_t count,
                          int64_t dims, double divisor, bool standardise)
{
    plumb_status st = allocate_axes(out, mem, dims);
    if (!st) st = compute_moments(out, mem, rows, count, standardise);
    double *matrix = ARENA_ALLOC(mem, double, dims *dims);
    if (!st && !matrix) st = PLUMB_EMEMORY;
    if (!st) st = compute_covariance(matrix, mem, out, rows, count, divisor);
    return st ? st : set_eigenvectors(out, mem, matrix);
}

// axes = L^-1 with L L^T = matrix. False if the matrix is, or may be, singular.
static bool set_inverse_factor(pca_axes *out, double *factor, const double *matrix)
{
    const int64_t d = out->dims;
    double trace = 0.0;
    for (int64_t i = 0; i < d; i++) trace += matrix[i * d + i];
    memcpy(factor, matrix, (size_t)(d * d) * sizeof *factor);
    if (!cholesky_small_factor(factor, d, PCA_SINGULAR * trace)) return false;

    // Row i of the inverse is (unit_i - sum over k < i of L_ik row_k) / L_ii.
    double norm = 0.0;
    for (int64_t i = 0; i < d; i++) {
        double *row = out->axes + i * out->width;
        for (int64_t k = 0; k < i; k++) {
            const double *above = out->axes + k * out->width, c = factor[i * d + k];
            for (int64_t j = 0; j <= k; j++) row[j] -= c * above[j];
        }
        row[i] = 1.0;
        for (int64_t j = 0; j <= i; j++) {
            row[j] /= factor[i * d + i];
            norm += row[j] * row[j];
        }
    }
    // The smallest eigenvalue is at least 1 / norm, the largest at most the trace.
    return norm * PCA_SINGULAR * trace < 1.0;
}

plumb_status pca_axes_whiten(pca_axes *out, arena *mem, const double *rows, int64_t count,
                             int64_t dims)
{
    plumb_status st = allocate_axes(out, mem, dims);
    if (!st) st = compute_moments(out, mem, rows, count, false);
    double *matrix = ARENA_ALLOC(mem, double, dims *dims),
           *factor = ARENA_ALLOC(mem, double, dims *dims);
    if (!st && (!matrix || !factor)) st = PLUMB_EMEMORY;
    if (!st) st = compute_covariance(matrix, mem, out, rows, count, (double)count);
    if (st) return st;
    if (set_inverse_factor(out, factor, matrix)) {
        out->triangular = true;
        out->largest = 1.0;
        for (int64_t i = 0; i < dims; i++) out->values[i] = 1.0;
        return PLUMB_OK;
    }
    memset(out->axes, 0, (size_t)(dims * out->width) * sizeof *out->axes);
    return set_eigenvectors(out, mem, matrix);
}

int64_t pca_axes_leading(const pca_axes *axes, double share)
{
    double total = 0.0, sum = 0.0;
    for (int64_t i = 0; i < axes->dims; i++) total += fmax(axes->values[i], 0.0);
    int64_t i = 0;
    while (i < axes->dims && sum < share * total) sum += fmax(axes->values[i++], 0.0);
    return i;
}

// ---- components of variables ----

plumb_status pca_components_fit(pca_components *out, double **projected, arena *mem,
                                const pca_variables *variables, int64_t max_count)
{
    // Components with less than this share of the first one's variance are rounding errors.
    const double least_share = 1e-12;
    const double *x = variables->x;
    const int64_t dims = variables->dims, stride = variables->stride;
    const int64_t first = variables->first, end = variables->end;
    *out = (pca_components){.dims = dims, .axes = ARENA_ALLOC(mem, double, (max_count * dims))};
    out->deviation = ARENA_ALLOC(mem, double, max_count);
    double *components = ARENA_ALLOC(mem, double, (max_count * stride));
    const arena_mark mark = arena_get_mark(mem);
    // Scratch memory, freed before the projection.
    double *square = ARENA_ALLOC(mem, double, (dims * dims)),
           *values = ARENA_ALLOC(mem, double, dims);
    double *vectors = ARENA_ALLOC(mem, double, (dims * dims));
    if (!out->axes || !out->deviation || !components || !square || !values || !vectors)
        return PLUMB_EMEMORY;
    plumb_status st = blas_library_load();
    if (st) return st;

    // square = x x^T / n, and its eigenvectors.
    blas_gemm(square, dims, x + first, stride, false, x + first, stride, true, dims, dims,
              end - first, 1.0 / (double)(end - first), 0.0);
    st = eigen_symmetric(values, vectors, mem, square, dims);
    if (st) return st;

    // Each axis divided by its deviation.
    while (out->count < max_count && values[out->count] > least_share * values[0]) out->count++;
    for (int64_t k = 0; k < out->count; k++) {
        out->deviation[k] = sqrt(values[k]);
        for (int64_t d = 0; d < dims; d++)
            out->axes[k * dims + d] = vectors[k * dims + d] / out->deviation[k];
    }
    arena_rewind(mem, mark);
    blas_gemm(components, stride, out->axes, dims, false, x, stride, false, out->count, end, dims,
              1.0, 0.0);
    *projected = components;
    return PLUMB_OK;
}

void pca_components_chain(double *j, const pca_components *components, const double *inner,
                          int64_t rows)
{
    blas_gemm(j, components->dims, inner, components->count, false, components->axes,
              components->dims, false, rows, components->dims, components->count, 1.0, 0.0);
}
