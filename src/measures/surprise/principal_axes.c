// SPDX-License-Identifier: MIT
// Squared distances of points along the principal axes of other points (math/pca.h), and the
// scorers pca and mahalanobis. Projections add up in the fixed order of math/vector.h.
#include "measures/surprise/principal_axes.h"

#include <math.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "math/vector.h"
#include "measures/surprise/scorers.h"

enum { TILE = 16, BATCH = 64, FAR_PER_DIMENSION = 1000000 };

typedef struct projection {
    const pca_axes *basis;
    const double *rows, *weight;
    double *out;
    double **point, **along; // per worker: (BATCH, width), (BATCH, axes)
    int64_t count, first, last;
} projection;

// (x - mean) / scale of BATCH rows, along the axes, squared and added up.
static plumb_status project_batch(void *context, int64_t item, int worker)
{
    const projection *work = context;
    const pca_axes *basis = work->basis;
    const int64_t start = item * BATCH, left = work->count - start, n = left < BATCH ? left : BATCH;
    const int64_t axes = work->last - work->first, width = basis->width;
    double *point = work->point[worker], *along = work->along[worker];
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < basis->dims; i++)
            point[r * basis->width + i] =
                (work->rows[(start + r) * basis->dims + i] - basis->mean[i]) / basis->scale[i];
    if (basis->triangular) // skip the zeros of the upper triangle
        for (int64_t i = 0; i < axes; i += TILE) {
            const int64_t some = axes - i < TILE ? axes - i : TILE;
            const int64_t used = vector_padded(i + some);
            vector_products(along + i, axes, (vector_rows){point, n, width},
                            (vector_rows){basis->axes + i * width, some, width},
                            used < width ? used : width);
        }
    else
        vector_products(along, axes, (vector_rows){point, n, width},
                        (vector_rows){basis->axes + work->first * width, axes, width}, width);
    // r of each row: sum of weight y^2 over the chosen axes.
    for (int64_t r = 0; r < n; r++) {
        double sum = 0.0;
        for (int64_t i = 0; i < axes; i++) {
            const double y = along[r * axes + i];
            sum += work->weight ? y * y * work->weight[work->first + i] : y * y;
        }
        work->out[start + r] = sum;
    }
    return PLUMB_OK;
}

plumb_status principal_axes_project(double *out, arena *mem, const pca_axes *basis,
                                    const double *rows, int64_t count, const axis_range *range,
                                    int threads)
{
    const arena_mark mark = arena_get_mark(mem);
    // Scratch per worker.
    const int64_t items = (count + BATCH - 1) / BATCH;
    if (threads <= 0) threads = parallel_threads();
    if (threads > items) threads = items > 0 ? (int)items : 1;
    projection work = {.basis = basis,
                       .rows = rows,
                       .weight = range->weight,
                       .out = out,
                       .count = count,
                       .first = range->first,
                       .last = range->last};
    work.point = ARENA_ALLOC(mem, double *, threads);
    work.along = ARENA_ALLOC(mem, double *, threads);
    bool allocated = work.point && work.along;
    for (int i = 0; allocated && i < threads; i++) {
        work.point[i] = ARENA_ALLOC(mem, double, BATCH * basis->width);
        work.along[i] = ARENA_ALLOC(mem, double, BATCH *(range->last - range->first));
        allocated = work.point[i] && work.along[i];
    }
    const plumb_status st =
        allocated ? parallel_for(items, threads, project_batch, &work) : PLUMB_EMEMORY;
    arena_rewind(mem, mark);
    return st;
}

// The score of PyOD's PCA for one point x: distances to the axes themselves, weighted by the share
// of variance of each.
double principal_axes_pyod(const double *x, const double *axes, int64_t width, const double *shares,
                           int64_t dims)
{
    double sum = 0.0;
    for (int64_t i = 0; i < dims; i++) {
        double square = 0.0;
        for (int64_t j = 0; j < dims; j++) {
            const double off = x[j] - axes[i * width + j];
            square += off * off;
        }
        sum += sqrt(square) / shares[i];
    }
    return sum;
}

// The two sums of [Shyu03]: over major axes, which hold half of the variance, and over minor axes,
// whose eigenvalue is below 0.2. Zero eigenvalues are left out.
plumb_status principal_axes_shyu(double *major, double *minor, arena *mem, const pca_axes *basis,
                                 const double *rows, int64_t count, int threads)
{
    const int64_t d = basis->dims;
    double *weight = ARENA_ALLOC(mem, double, d);
    if (!weight) return PLUMB_EMEMORY;
    int64_t small = d, used = d; // values from `small` on are below 0.2, from `used` on zero
    while (small > 0 && basis->values[small - 1] < 0.2) small--;
    while (used > 0 && basis->values[used - 1] <= PCA_SINGULAR * basis->largest) used--;
    for (int64_t i = 0; i < used; i++) weight[i] = 1.0 / basis->values[i];
    plumb_status st =
        principal_axes_project(major, mem, basis, rows, count,
                               &(axis_range){0, pca_axes_leading(basis, 0.5), weight}, threads);
    if (!st)
        st = principal_axes_project(minor, mem, basis, rows, count,
                                    &(axis_range){small, used > small ? used : small, weight},
                                    threads);
    return st;
}

// ---- the scorers ----

// (z - m)^T C^-1 (z - m) = sum over axes of y^2 / eigenvalue, inside the rank of the covariance C.
plumb_status scorer_mahalanobis(double *r, arena *mem, const scorer_task *task)
{
    const arena_mark mark = arena_get_mark(mem);
    pca_axes basis;
    plumb_status st =
        pca_axes_whiten(&basis, mem, task->observed, task->observed_count, task->dims);
    double *weight = ARENA_ALLOC(mem, double, task->dims);
    if (!st && !weight) st = PLUMB_EMEMORY;
    // Eigenvalues within rounding of zero are no direction of the data.
    int64_t rank = 0;
    for (; !st && rank < task->dims && basis.values[rank] > PCA_SINGULAR * basis.largest; rank++)
        weight[rank] = 1.0 / basis.values[rank];
    if (!st && !rank)
        st = fail(PLUMB_ENUMERIC, "all observed features are equal; they have no covariance");
    if (!st && rank < task->dims && !task->quiet)
        status_log("the covariance of %lld observed clips has rank %lld of %lld: Mahalanobis "
                   "distances are taken inside it",
                   (long long)task->observed_count, (long long)rank, (long long)task->dims);
    if (!st)
        st = principal_axes_project(r, mem, &basis, task->queries, task->query_count,
                                    &(axis_range){0, rank, basis.triangular ? NULL : weight},
                                    task->opt->threads);
    // A few clips hardly extend in some directions, so that any other clip is far away in them.
    double farthest = 0.0;
    for (int64_t i = 0; !st && i < task->query_count; i++) farthest = fmax(farthest, r[i]);
    if (!task->quiet && farthest > FAR_PER_DIMENSION * (double)task->dims)
        status_log("Mahalanobis distances reach %.2g: %lld observed clips are too few for the "
                   "covariance of %lld dimensions, and the scorer says little",
                   farthest, (long long)task->observed_count, (long long)task->dims);
    arena_rewind(mem, mark);
    return st;
}

// r = squared residual outside the axes that hold 95 % of the variance, or the larger sum of
// [Shyu03].
static plumb_status measure_pca(double *r, arena *mem, const scorer_task *task)
{
    const int64_t n = task->observed_count, m = task->query_count;
    if (n < 2)
        return fail(PLUMB_ENUMERIC, "principal components need two observed clips, not %lld",
                    (long long)n);
    pca_axes basis;
    const bool shyu = task->opt->pca == PLUMB_SURPRISE_PCA_SHYU;
    plumb_status st =
        pca_axes_fit(&basis, mem, task->observed, n, task->dims, (double)(n - 1), shyu);
    if (!st && !(basis.largest > 0.0))
        st = fail(PLUMB_ENUMERIC, "all observed features are equal; they have no components");
    if (st) return st;
    if (!shyu)
        // The squared residual is the sum over the axes left out. A difference of sums would
        // cancel.
        return principal_axes_project(
            r, mem, &basis, task->queries, m,
            &(axis_range){pca_axes_leading(&basis, 0.95), task->dims, NULL}, task->opt->threads);
    double *minor = ARENA_ALLOC(mem, double, m);
    if (!minor) return PLUMB_EMEMORY;
    st = principal_axes_shyu(r, minor, mem, &basis, task->queries, m, task->opt->threads);
    for (int64_t i = 0; !st && i < m; i++) r[i] = fmax(r[i], minor[i]);
    return st;
}

plumb_status scorer_pca(double *r, arena *mem, const scorer_task *task)
{
    const arena_mark mark = arena_get_mark(mem);
    const plumb_status st = measure_pca(r, mem, task);
    arena_rewind(mem, mark);
    return st;
}
