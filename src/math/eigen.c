// SPDX-License-Identifier: MIT
// Householder reflections to a tridiagonal matrix, then implicit QL steps with Wilkinson's shift
// [Golub13, sec. 8.3]. Vectors are rows throughout, so that every inner loop reads contiguous
// memory.
#include "math/eigen.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/status.h"

// a . b, in four sums that can be computed in parallel.
static double dot_product(const double *a, const double *b, int64_t n)
{
    double sum[4] = {0.0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Row k of `a` becomes v of the reflection I - scale[k] v v^T that makes row k zero past its first
// neighbour; the rest of the matrix is transformed from both sides.
static void reduce_to_tridiagonal(double *a, double *scale, double *diagonal, double *off_diagonal,
                                  double *w, int64_t n)
{
    for (int64_t k = 0; k + 1 < n; k++) {
        double *v = a + k * n;
        const int64_t first = k + 1, left = n - first;
        diagonal[k] = v[k];
        double largest = 0.0;
        for (int64_t i = first; i < n; i++) largest = fmax(largest, fabs(v[i]));
        scale[k] = 0.0;
        off_diagonal[k] = v[first];
        double below = 0.0;
        for (int64_t i = first + 1; i < n; i++) below = fmax(below, fabs(v[i]));
        if (below == 0.0) continue;

        // The reflector, scaled against overflow: v = row - head e_1, with |head| = |row|.
        for (int64_t i = first; i < n; i++) v[i] /= largest;
        const double norm = sqrt(dot_product(v + first, v + first, left));
        const double head = v[first] > 0.0 ? -norm : norm;
        off_diagonal[k] = head * largest;
        v[first] -= head;
        scale[k] = 2.0 / dot_product(v + first, v + first, left);

        // A -= v w^T + w v^T with w = scale A v - (scale^2 / 2) (v . A v) v.
        double along = 0.0;
        for (int64_t i = first; i < n; i++) {
            w[i] = scale[k] * dot_product(a + i * n + first, v + first, left);
            along += w[i] * v[i];
        }
        for (int64_t i = first; i < n; i++) w[i] -= 0.5 * scale[k] * along * v[i];
        for (int64_t i = first; i < n; i++) {
            double *row = a + i * n;
            const double vi = v[i], wi = w[i];
            for (int64_t j = first; j < n; j++) row[j] -= vi * w[j] + wi * v[j];
        }
    }
    diagonal[n - 1] = a[n * n - 1];
    off_diagonal[n - 1] = 0.0;
}

// z = the product of all reflections, from the last to the first: row i is axis i of the
// tridiagonal matrix.
static void multiply_reflections(double *z, const double *a, const double *scale, int64_t n)
{
    memset(z, 0, (size_t)(n * n) * sizeof *z);
    for (int64_t i = 0; i < n; i++) z[i * n + i] = 1.0;
    for (int64_t k = n - 2; k >= 0; k--) {
        if (scale[k] == 0.0) continue;
        const double *v = a + k * n;
        const int64_t first = k + 1, left = n - first;
        for (int64_t i = first; i < n; i++) {
            double *row = z + i * n;
            const double s = scale[k] * dot_product(row + first, v + first, left);
            for (int64_t j = first; j < n; j++) row[j] -= s * v[j];
        }
    }
}

// Givens rotation of two rows.
static void rotate_rows(double *restrict upper, double *restrict lower, double c, double s,
                        int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double u = upper[i], l = lower[i];
        upper[i] = c * u - s * l;
        lower[i] = s * u + c * l;
    }
}

// One implicit QL step on rows first .. last: d is the diagonal, e the off-diagonal.
static void ql_step(double *d, double *e, double *z, int64_t first, int64_t last, int64_t n)
{
    double g = (d[first + 1] - d[first]) / (2.0 * e[first]);
    double r = hypot(g, 1.0);
    g = d[last] - d[first] + e[first] / (g + copysign(r, g));
    double s = 1.0, c = 1.0, p = 0.0;
    for (int64_t i = last - 1; i >= first; i--) {
        double f = s * e[i];
        const double b = c * e[i];
        r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0.0) { // the matrix splits here
            d[i + 1] -= p;
            e[last] = 0.0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2.0 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        rotate_rows(z + i * n, z + (i + 1) * n, c, s, n);
    }
    d[first] -= p;
    e[first] = g;
    e[last] = 0.0;
}

// The matrix splits where an off-diagonal element is small against its two neighbours on the
// diagonal. If those are themselves rounding errors, as in a covariance of few rows, that may never
// happen; after 30 steps, small against the whole matrix is enough.
static bool diagonalise_tridiagonal(double *d, double *e, double *z, int64_t n)
{
    enum { MAX_STRICT_STEPS = 30, MAX_STEPS = 60 };
    double norm = 0.0;
    for (int64_t i = 0; i < n; i++) norm = fmax(norm, fabs(d[i]) + fabs(e[i]));
    for (int64_t first = 0; first < n; first++)
        for (int steps = 0;; steps++) {
            int64_t last = first;
            const double tolerance = steps < MAX_STRICT_STEPS ? 0.0 : DBL_EPSILON * norm;
            while (last + 1 < n &&
                   fabs(e[last]) >
                       fmax(tolerance, DBL_EPSILON * (fabs(d[last]) + fabs(d[last + 1]))))
                last++;
            if (last == first) break;
            if (steps == MAX_STEPS) return false;
            ql_step(d, e, z, first, last, n);
        }
    return true;
}

// Makes the entry of largest magnitude positive.
static void fix_sign(double *row, int64_t n)
{
    int64_t largest = 0;
    for (int64_t i = 1; i < n; i++)
        if (fabs(row[i]) > fabs(row[largest])) largest = i;
    if (row[largest] < 0.0)
        for (int64_t i = 0; i < n; i++) row[i] = -row[i];
}

static plumb_status solve_symmetric(double *values, double *vectors, arena *mem,
                                    const double *matrix, int64_t n)
{
    double *a = ARENA_ALLOC(mem, double, n *n), *z = ARENA_ALLOC(mem, double, n *n);
    double *d = ARENA_ALLOC(mem, double, n), *e = ARENA_ALLOC(mem, double, n);
    double *w = ARENA_ALLOC(mem, double, n), *scale = ARENA_ALLOC(mem, double, n);
    bool *taken = ARENA_ALLOC(mem, bool, n);
    if (!a || !z || !d || !e || !w || !scale || !taken) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n * n; i++)
        if (!isfinite(matrix[i]))
            return fail(PLUMB_ENUMERIC, "a matrix has a value that is not finite");
    memcpy(a, matrix, (size_t)(n * n) * sizeof *a);
    reduce_to_tridiagonal(a, scale, d, e, w, n);
    multiply_reflections(z, a, scale, n);
    if (!diagonalise_tridiagonal(d, e, z, n))
        return fail(PLUMB_ENUMERIC, "the eigenvalues of a %lld x %lld matrix do not converge",
                    (long long)n, (long long)n);
    // In descending order.
    for (int64_t k = 0; k < n; k++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (!taken[i] && (best < 0 || d[i] > d[best])) best = i;
        taken[best] = true;
        values[k] = d[best];
        memcpy(vectors + k * n, z + best * n, (size_t)n * sizeof *z);
        fix_sign(vectors + k * n, n);
    }
    return PLUMB_OK;
}

plumb_status eigen_symmetric(double *values, double *vectors, arena *mem, const double *matrix,
                             int64_t n)
{
    if (n < 1) return PLUMB_OK;
    const arena_mark mark = arena_get_mark(mem);
    const plumb_status st = solve_symmetric(values, vectors, mem, matrix, n);
    arena_rewind(mem, mark);
    return st;
}
