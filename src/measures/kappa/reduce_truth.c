// SPDX-License-Identifier: MIT
// The truth in coordinates that the data span. In each pair q -> a q, p -> p / a, so that both have
// the same deviation. Then linearly redundant coordinates are removed (a centre of mass at rest,
// strategies that sum to one). Curved surfaces are found later, by surface.c.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "math/eigen.h"
#include "measures/kappa/kappa.h"

// An eigenvalue below this share of the largest is rounding.
static const double rounding = 1e-8;
// Entry (i, j) of the canonical form A = [[0, I], [-I, 0]].
static double form_entry(int64_t n, int64_t i, int64_t j)
{
    return j == i + n ? 1.0 : i == j + n ? -1.0 : 0.0;
}

// w (rows, 2n): the given coordinates minus their mean, each pair scaled by a = sqrt(sd p / sd q).
static plumb_status balance_pairs(kappa_work *work)
{
    kappa_truth *t = &work->truth;
    arena *mem = work->mem;
    const kappa_rows *rows = &work->rows;
    const plumb_kappa_options *opt = work->opt;
    const int64_t d = rows->truth_dims, n = d / 2, count = rows->rows;
    t->dims = t->form_dims = d;
    t->w = ARENA_ALLOC(mem, double, (count * d));
    t->deviation = ARENA_ALLOC(mem, double, d);
    t->per_radian = ARENA_ALLOC(mem, double, d);
    t->true_form = ARENA_ALLOC(mem, double, (d * d));
    if (!t->w || !t->deviation || !t->per_radian || !t->true_form) return PLUMB_EMEMORY;
    t->is_plain = true;
    for (int64_t i = 0; i < d; i++) {
        double mean = 0.0, square = 0.0, low = (double)INFINITY, high = -low, size = 0.0;
        for (int64_t r = 0; r < count; r++) {
            const double v = rows->truth[r * d + i];
            mean += v / (double)count;
            low = fmin(low, v), high = fmax(high, v);
            size = fmax(size, fabs(v));
        }
        for (int64_t r = 0; r < count; r++) {
            t->w[r * d + i] = rows->truth[r * d + i] - mean;
            square += t->w[r * d + i] * t->w[r * d + i] / (double)count;
        }
        t->deviation[i] = sqrt(square) > rows->truth_rounding * size ? sqrt(square) : 0.0;
        // A position that ranges over more than a turn may be an angle. It is given in radians;
        // beyond a million of them its sine is rounding.
        const double range = (high - low) * rows->truth_unit;
        if (i < n && (opt->angles ? opt->angles[i] : range > 6.283185307179586 && range < 1e6))
            t->per_radian[i] = 1.0 / rows->truth_unit;
    }
    for (int64_t i = 0; i < n; i++) {
        double *q = &t->deviation[i], *p = &t->deviation[i + n];
        const double a = *q > 0.0 && *p > 0.0 ? sqrt(*p / *q) : 1.0;
        for (int64_t r = 0; r < count; r++) {
            t->w[r * d + i] *= a;
            t->w[r * d + i + n] /= a;
        }
        *q *= a, *p /= a;
        t->per_radian[i] *= a;
    }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++) t->true_form[i * d + j] = form_entry(n, i, j);
    return PLUMB_OK;
}

// basis (rank, d): an orthonormal basis of the span of the data, from the eigenvectors of their
// correlation; Gram-Schmidt runs twice against rounding.
static plumb_status find_span(double *basis, int64_t *rank, arena *mem, const kappa_truth *t,
                              int64_t rows)
{
    const int64_t d = t->dims;
    double *cov = ARENA_ALLOC(mem, double, (d * d)), *values = ARENA_ALLOC(mem, double, d);
    double *vectors = ARENA_ALLOC(mem, double, (d * d));
    if (!cov || !values || !vectors) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < d; i++) {
            if (t->deviation[i] == 0.0) continue;
            const double z = t->w[r * d + i] / t->deviation[i];
            for (int64_t j = 0; j <= i; j++)
                if (t->deviation[j] > 0.0)
                    cov[i * d + j] += z * t->w[r * d + j] / t->deviation[j] / (double)rows;
        }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = i + 1; j < d; j++) cov[i * d + j] = cov[j * d + i];
    const plumb_status st = eigen_symmetric(values, vectors, mem, cov, d);
    if (st) return st;
    *rank = 0;
    while (*rank < d && values[*rank] > rounding * values[0]) ++*rank;
    for (int64_t k = 0; k < *rank; k++) {
        double *row = basis + k * d;
        for (int64_t i = 0; i < d; i++) row[i] = vectors[k * d + i] * t->deviation[i];
        for (int twice = 0; twice < 2; twice++)
            for (int64_t l = 0; l < k; l++) {
                double along = 0.0;
                for (int64_t i = 0; i < d; i++) along += row[i] * basis[l * d + i];
                for (int64_t i = 0; i < d; i++) row[i] -= along * basis[l * d + i];
            }
        double norm = 0.0;
        for (int64_t i = 0; i < d; i++) norm += row[i] * row[i];
        for (int64_t i = 0; i < d; i++) row[i] /= sqrt(norm);
    }
    return PLUMB_OK;
}

// out (k, k) = b A b^T for b (k, d): the canonical form on the rows of b.
static void restrict_form(double *out, const double *b, int64_t k, int64_t d)
{
    const int64_t n = d / 2;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) {
            double sum = 0.0;
            for (int64_t s = 0; s < n; s++)
                sum += b[i * d + s] * b[j * d + n + s] - b[i * d + n + s] * b[j * d + s];
            out[i * k + j] = sum;
        }
}

// Rotates the basis so that directions on which the form does not vanish come first; *form is their
// number. They are the eigenvectors of a^T a, a the restricted form, with eigenvalue above 0.
static plumb_status sort_by_area(double *basis, int64_t *form, arena *mem, int64_t rank, int64_t d)
{
    double *a = ARENA_ALLOC(mem, double, (rank * rank));
    double *square = ARENA_ALLOC(mem, double, (rank * rank));
    double *values = ARENA_ALLOC(mem, double, rank);
    double *vectors = ARENA_ALLOC(mem, double, (rank * rank));
    double *turned = ARENA_ALLOC(mem, double, (rank * d));
    if (!a || !square || !values || !vectors || !turned) return PLUMB_EMEMORY;
    restrict_form(a, basis, rank, d);
    for (int64_t i = 0; i < rank; i++)
        for (int64_t j = 0; j < rank; j++)
            for (int64_t s = 0; s < rank; s++)
                square[i * rank + j] += a[s * rank + i] * a[s * rank + j];
    const plumb_status st = eigen_symmetric(values, vectors, mem, square, rank);
    if (st) return st;
    *form = 0;
    while (*form < rank && values[*form] > rounding) ++*form;
    for (int64_t k = 0; k < rank; k++)
        for (int64_t s = 0; s < rank; s++)
            for (int64_t i = 0; i < d; i++)
                turned[k * d + i] += vectors[k * rank + s] * basis[s * d + i];
    memcpy(basis, turned, (size_t)(rank * d) * sizeof *basis);
    return PLUMB_OK;
}

static void compute_deviations(kappa_truth *t, int64_t rows)
{
    for (int64_t i = 0; i < t->dims; i++) {
        double square = 0.0;
        for (int64_t r = 0; r < rows; r++)
            square += t->w[r * t->dims + i] * t->w[r * t->dims + i] / (double)rows;
        t->deviation[i] = sqrt(square);
    }
}

// Linear redundancy: coordinates of the span, those that carry the form first.
static plumb_status remove_linear(kappa_work *work)
{
    kappa_truth *t = &work->truth;
    arena *mem = work->mem;
    const kappa_rows *rows = &work->rows;
    const int64_t d = t->dims;
    double *basis = ARENA_ALLOC(mem, double, (d * d));
    int64_t rank = 0, form = 0;
    if (!basis) return PLUMB_EMEMORY;
    plumb_status st = find_span(basis, &rank, mem, t, rows->rows);
    if (st || rank == d) return st;
    st = sort_by_area(basis, &form, mem, rank, d);
    if (st) return st;
    double *w = ARENA_ALLOC(mem, double, (rows->rows * rank));
    double *area = ARENA_ALLOC(mem, double, (form * form + 1));
    double *whole = ARENA_ALLOC(mem, double, (rank * rank + 1));
    if (!w || !area || !whole) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < rows->rows; r++)
        for (int64_t k = 0; k < rank; k++)
            for (int64_t i = 0; i < d; i++) w[r * rank + k] += basis[k * d + i] * t->w[r * d + i];
    restrict_form(whole, basis, rank, d);
    for (int64_t i = 0; i < form; i++)
        for (int64_t j = 0; j < form; j++) area[i * form + j] = whole[i * rank + j];
    t->w = w, t->true_form = area, t->dims = rank, t->form_dims = form, t->is_plain = false;
    memset(t->per_radian, 0, (size_t)d * sizeof *t->per_radian);
    compute_deviations(t, rows->rows);
    snprintf(t->note, sizeof t->note,
             "the %lld true coordinates lie in %lld dimensions, %lld of which carry the form",
             (long long)d, (long long)rank, (long long)form);
    return PLUMB_OK;
}

plumb_status kappa_reduce_truth(kappa_work *work)
{
    work->truth = (kappa_truth){0};
    plumb_status st = balance_pairs(work);
    if (!st) st = remove_linear(work);
    if (!st && work->truth.form_dims < 2)
        return fail(PLUMB_ENUMERIC,
                    "truth has no area: no position in it moves together with its momentum");
    return st;
}
