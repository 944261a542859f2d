// SPDX-License-Identifier: MIT
// Covariances are sums of products of columns, a few hundred points at a time so that both stay in
// the cache; projections are products of rows. Both run in the fixed order of math/vector.h.
#include "measures/surprise/principal_axes.h"

#include <math.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "math/eigen.h"
#include "math/vector.h"
#include "measures/surprise/scorers.h"

enum { CHUNK = 512, TILE = 16, BATCH = 64 };

static const double singular = 1e-10; // eigenvalues below this share of the largest are none

static plumb_status moments(principal_axes *s, arena *mem, const double *rows, int64_t count,
                            bool standardise)
{
    const int64_t d = s->dims;
    s->mean = ARENA_ALLOC(mem, double, d);
    s->scale = ARENA_ALLOC(mem, double, d);
    if (!s->mean || !s->scale) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < d; i++) s->mean[i] += rows[r * d + i];
    for (int64_t i = 0; i < d; i++) s->mean[i] /= (double)count;
    for (int64_t r = 0; standardise && r < count; r++)
        for (int64_t i = 0; i < d; i++) {
            const double x = rows[r * d + i] - s->mean[i];
            s->scale[i] += x * x;
        }
    for (int64_t i = 0; i < d; i++) {
        const double deviation = sqrt(s->scale[i] / (double)count);
        // Below the rounding of its mean a column is constant.
        s->scale[i] = standardise && deviation > 1e-14 * fabs(s->mean[i]) ? deviation : 1.0;
    }
    return PLUMB_OK;
}

static plumb_status covariance(double *out, arena *mem, const principal_axes *s, const double *rows,
                               int64_t count, double divisor)
{
    const int64_t d = s->dims;
    double *columns = ARENA_ALLOC(mem, double, d *CHUNK), *part = ARENA_ALLOC(mem, double, TILE *d);
    if (!columns || !part) return PLUMB_EMEMORY;
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t n = count - first < CHUNK ? count - first : CHUNK;
        const int64_t padded = vector_padded(n);
        for (int64_t i = 0; i < d; i++)
            for (int64_t r = n; r < padded; r++) columns[i * CHUNK + r] = 0.0;
        for (int64_t r = 0; r < n; r++)
            for (int64_t i = 0; i < d; i++)
                columns[i * CHUNK + r] = (rows[(first + r) * d + i] - s->mean[i]) / s->scale[i];
        for (int64_t i = 0; i < d; i += TILE) { // the lower triangle, a few rows at a time
            const int64_t high = d - i < TILE ? d - i : TILE, wide = i + high;
            vector_products(part, wide, columns + i * CHUNK, CHUNK, high, columns, CHUNK, wide,
                            padded);
            for (int64_t j = 0; j < high; j++)
                for (int64_t k = 0; k < wide; k++) out[(i + j) * d + k] += part[j * wide + k];
        }
    }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++) out[i * d + j] = out[j * d + i] = out[i * d + j] / divisor;
    return PLUMB_OK;
}

static plumb_status room(principal_axes *s, arena *mem, int64_t dims)
{
    *s = (principal_axes){.dims = dims, .width = vector_padded(dims)};
    s->values = ARENA_ALLOC(mem, double, dims);
    s->axes = ARENA_ALLOC(mem, double, dims * s->width);
    return s->values && s->axes ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status eigenvectors(principal_axes *s, arena *mem, const double *matrix)
{
    const int64_t d = s->dims;
    double *vectors = ARENA_ALLOC(mem, double, d *d);
    if (!vectors) return PLUMB_EMEMORY;
    const plumb_status st = eigen_symmetric(s->values, vectors, mem, matrix, d);
    for (int64_t i = 0; !st && i < d; i++)
        memcpy(s->axes + i * s->width, vectors + i * d, (size_t)d * sizeof *vectors);
    s->largest = s->values[0];
    return st;
}

plumb_status principal_axes_fit(principal_axes *out, arena *mem, const double *rows, int64_t count,
                                int64_t dims, double divisor, bool standardise)
{
    plumb_status st = room(out, mem, dims);
    if (!st) st = moments(out, mem, rows, count, standardise);
    double *matrix = ARENA_ALLOC(mem, double, dims *dims);
    if (!st && !matrix) st = PLUMB_EMEMORY;
    if (!st) st = covariance(matrix, mem, out, rows, count, divisor);
    return st ? st : eigenvectors(out, mem, matrix);
}

// The inverse of the Cholesky factor into s->axes; false if the matrix is, or may be, singular.
static bool invert(principal_axes *s, double *factor, const double *matrix)
{
    const int64_t d = s->dims;
    double trace = 0.0;
    for (int64_t i = 0; i < d; i++) trace += matrix[i * d + i];
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = matrix[i * d + j];
            for (int64_t k = 0; k < j; k++) sum -= factor[i * d + k] * factor[j * d + k];
            if (j < i) {
                factor[i * d + j] = sum / factor[j * d + j];
                continue;
            }
            if (!(sum > singular * trace)) return false;
            factor[i * d + i] = sqrt(sum);
        }
    // Row i of the inverse is (unit_i - sum over k < i of factor_ik row_k) / factor_ii.
    double norm = 0.0;
    for (int64_t i = 0; i < d; i++) {
        double *row = s->axes + i * s->width;
        for (int64_t k = 0; k < i; k++) {
            const double *above = s->axes + k * s->width, c = factor[i * d + k];
            for (int64_t j = 0; j <= k; j++) row[j] -= c * above[j];
        }
        row[i] = 1.0;
        for (int64_t j = 0; j <= i; j++) {
            row[j] /= factor[i * d + i];
            norm += row[j] * row[j];
        }
    }
    // The least eigenvalue is at least 1 / norm, the largest at most the trace.
    return norm * singular * trace < 1.0;
}

plumb_status principal_axes_whiten(principal_axes *out, arena *mem, const double *rows,
                                   int64_t count, int64_t dims)
{
    plumb_status st = room(out, mem, dims);
    if (!st) st = moments(out, mem, rows, count, false);
    double *matrix = ARENA_ALLOC(mem, double, dims *dims),
           *factor = ARENA_ALLOC(mem, double, dims *dims);
    if (!st && (!matrix || !factor)) st = PLUMB_EMEMORY;
    if (!st) st = covariance(matrix, mem, out, rows, count, (double)count);
    if (st) return st;
    if (invert(out, factor, matrix)) {
        out->triangular = true;
        out->largest = 1.0;
        for (int64_t i = 0; i < dims; i++) out->values[i] = 1.0;
        return PLUMB_OK;
    }
    memset(out->axes, 0, (size_t)(dims * out->width) * sizeof *out->axes);
    return eigenvectors(out, mem, matrix);
}

typedef struct projection {
    const principal_axes *s;
    const double *rows, *weight;
    double *out;
    double **point, **along; // per worker: (BATCH, width), (BATCH, axes)
    int64_t count, first, last;
} projection;

static plumb_status project(void *context, int64_t item, int worker)
{
    const projection *p = context;
    const principal_axes *s = p->s;
    const int64_t start = item * BATCH, left = p->count - start, n = left < BATCH ? left : BATCH;
    const int64_t axes = p->last - p->first;
    double *point = p->point[worker], *along = p->along[worker];
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < s->dims; i++)
            point[r * s->width + i] =
                (p->rows[(start + r) * s->dims + i] - s->mean[i]) / s->scale[i];
    if (s->triangular) // the zeros of the upper triangle need not be multiplied
        for (int64_t i = 0; i < axes; i += TILE) {
            const int64_t some = axes - i < TILE ? axes - i : TILE;
            vector_products(
                along + i, axes, point, s->width, n, s->axes + i * s->width, s->width, some,
                vector_padded(i + some) < s->width ? vector_padded(i + some) : s->width);
        }
    else
        vector_products(along, axes, point, s->width, n, s->axes + p->first * s->width, s->width,
                        axes, s->width);
    for (int64_t r = 0; r < n; r++) {
        double sum = 0.0;
        for (int64_t i = 0; i < axes; i++) {
            const double y = along[r * axes + i];
            sum += p->weight ? y * y * p->weight[p->first + i] : y * y;
        }
        p->out[start + r] = sum;
    }
    return PLUMB_OK;
}

plumb_status principal_axes_project(double *out, arena *mem, const principal_axes *s,
                                    const double *rows, int64_t count, int64_t first, int64_t last,
                                    const double *weight, int threads)
{
    const arena_mark mark = arena_get_mark(mem);
    const int64_t items = (count + BATCH - 1) / BATCH;
    if (threads <= 0) threads = parallel_threads();
    if (threads > items) threads = items > 0 ? (int)items : 1;
    projection p = {.s = s,
                    .rows = rows,
                    .weight = weight,
                    .out = out,
                    .count = count,
                    .first = first,
                    .last = last};
    p.point = ARENA_ALLOC(mem, double *, threads);
    p.along = ARENA_ALLOC(mem, double *, threads);
    bool whole = p.point && p.along;
    for (int i = 0; whole && i < threads; i++) {
        p.point[i] = ARENA_ALLOC(mem, double, BATCH * s->width);
        p.along[i] = ARENA_ALLOC(mem, double, BATCH *(last - first));
        whole = p.point[i] && p.along[i];
    }
    const plumb_status st = whole ? parallel_for(items, threads, project, &p) : PLUMB_EMEMORY;
    arena_rewind(mem, mark);
    return st;
}

int64_t principal_axes_leading(const principal_axes *s, double share)
{
    double whole = 0.0, sum = 0.0;
    for (int64_t i = 0; i < s->dims; i++) whole += fmax(s->values[i], 0.0);
    int64_t i = 0;
    while (i < s->dims && sum < share * whole) sum += fmax(s->values[i++], 0.0);
    return i;
}

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

plumb_status principal_axes_shyu(double *major, double *minor, arena *mem, const principal_axes *s,
                                 const double *rows, int64_t count, int threads)
{
    const int64_t d = s->dims;
    double *weight = ARENA_ALLOC(mem, double, d);
    if (!weight) return PLUMB_EMEMORY;
    int64_t small = d, used = d; // values from `small` on are below 0.2, from `used` on zero
    while (small > 0 && s->values[small - 1] < 0.2) small--;
    while (used > 0 && s->values[used - 1] <= singular * s->largest) used--;
    for (int64_t i = 0; i < used; i++) weight[i] = 1.0 / s->values[i];
    plumb_status st = principal_axes_project(major, mem, s, rows, count, 0,
                                             principal_axes_leading(s, 0.5), weight, threads);
    if (!st)
        st = principal_axes_project(minor, mem, s, rows, count, small, used > small ? used : small,
                                    weight, threads);
    return st;
}

// ---- the scorers ----

plumb_status scorer_mahalanobis(double *r, arena *mem, const scorer_task *task)
{
    const arena_mark mark = arena_get_mark(mem);
    principal_axes s;
    plumb_status st = principal_axes_whiten(&s, mem, task->observed, task->seen_count, task->dims);
    double *weight = ARENA_ALLOC(mem, double, task->dims);
    if (!st && !weight) st = PLUMB_EMEMORY;
    int64_t rank = 0;
    for (; !st && rank < task->dims && s.values[rank] > singular * s.largest; rank++)
        weight[rank] = 1.0 / s.values[rank];
    if (!st && !rank)
        st = fail(PLUMB_ENUMERIC, "all observed features are equal; they have no covariance");
    if (!st && rank < task->dims)
        status_log("the covariance of %lld observed clips has rank %lld of %lld: Mahalanobis "
                   "distances are taken inside it",
                   (long long)task->seen_count, (long long)rank, (long long)task->dims);
    if (!st)
        st = principal_axes_project(r, mem, &s, task->queries, task->asked_count, 0, rank,
                                    s.triangular ? NULL : weight, task->opt->threads);
    arena_rewind(mem, mark);
    return st;
}

static plumb_status measure_pca(double *r, arena *mem, const scorer_task *task)
{
    const int64_t n = task->seen_count, m = task->asked_count;
    if (n < 2)
        return fail(PLUMB_ENUMERIC, "principal components need two observed clips, not %lld",
                    (long long)n);
    principal_axes s;
    const bool shyu = task->opt->pca == PLUMB_SURPRISE_PCA_SHYU;
    plumb_status st =
        principal_axes_fit(&s, mem, task->observed, n, task->dims, (double)(n - 1), shyu);
    if (!st && !(s.largest > 0.0))
        st = fail(PLUMB_ENUMERIC, "all observed features are equal; they have no components");
    if (st) return st;
    if (!shyu)
        // What is left over is the sum over the axes left out: a difference of sums would cancel.
        return principal_axes_project(r, mem, &s, task->queries, m,
                                      principal_axes_leading(&s, 0.95), task->dims, NULL,
                                      task->opt->threads);
    double *minor = ARENA_ALLOC(mem, double, m);
    if (!minor) return PLUMB_EMEMORY;
    st = principal_axes_shyu(r, minor, mem, &s, task->queries, m, task->opt->threads);
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
