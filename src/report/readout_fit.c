// SPDX-License-Identifier: MIT
// Fits the true states as polynomials of the latents, for the figures of a report: normal equations
// of standardised latents with a small ridge, solved by Cholesky. There are at most a few dozen
// columns, and no verdict depends on them; the measures have solvers of their own.
#include "report/readout_fit.h"

#include <math.h>

#include "math/cholesky.h"
#include "math/poly.h"

enum { MAX_COLUMNS = 128 };

// Columns of the fit: the constant 1, then the monomials of math/poly.h in standardised latents.
typedef struct readout_basis {
    int64_t used[MAX_COLUMNS]; // which latents
    double mean[MAX_COLUMNS], scale[MAX_COLUMNS];
    int count, order;
    int64_t columns;
    int degree[MAX_COLUMNS];                        // of each column
    int64_t variables[MAX_COLUMNS][POLY_MAX_ORDER]; // of each column, rising
} readout_basis;

static void standardise(readout_basis *b, const report_model *s, int64_t steps)
{
    for (int k = 0; k < b->count; k++) {
        double sum = 0, square = 0;
        for (int64_t c = 0; c < s->count; c++)
            for (int64_t t = 0; t < steps; t++) {
                const double v = s->latent[(c * s->steps + t) * s->latents + b->used[k]];
                sum += v;
                square += v * v;
            }
        const double n = (double)(s->count * steps);
        b->mean[k] = sum / n;
        b->scale[k] = sqrt(fmax(square / n - b->mean[k] * b->mean[k], 1e-24));
    }
}

// The constant and all monomials up to `order`: (count + order)! / count! / order!.
static int64_t count_columns(int count, int order)
{
    return poly_count(count, order) + 1;
}

// The order that the measure used, or the highest for which there are columns and points enough.
static plumb_status choose_basis(readout_basis *b, arena *mem, const report_model *s, int64_t steps)
{
    for (int64_t i = 0; i < s->latents && b->count < MAX_COLUMNS - 1; i++)
        if (report_model_informative(s, i)) b->used[b->count++] = i;
    standardise(b, s, steps);
    const double wanted = json_tree_double(s->measure, "order");
    b->order = wanted >= 1 && wanted <= POLY_MAX_ORDER ? (int)wanted : 2;
    while (b->order > 1 && (count_columns(b->count, b->order) > MAX_COLUMNS ||
                            4 * count_columns(b->count, b->order) > s->count * steps))
        b->order--;
    b->columns = count_columns(b->count, b->order);

    // The variables of each monomial.
    poly monomials;
    const plumb_status st = poly_init(&monomials, mem, b->count, b->order);
    for (int64_t i = 1; !st && i < b->columns; i++)
        b->degree[i] = poly_variables(b->variables[i], &monomials, i - 1);
    return st;
}

// x (columns) at one point.
static void compute_columns(double *x, const readout_basis *b, const double *latent)
{
    double z[MAX_COLUMNS];
    for (int k = 0; k < b->count; k++) z[k] = (latent[b->used[k]] - b->mean[k]) / b->scale[k];
    x[0] = 1;
    for (int64_t i = 1; i < b->columns; i++) {
        x[i] = z[b->variables[i][0]];
        for (int k = 1; k < b->degree[i]; k++) x[i] *= z[b->variables[i][k]];
    }
}

double *readout_fit_predict(arena *mem, const report_model *s, int64_t steps)
{
    readout_basis b = {0};
    double x[MAX_COLUMNS];
    if (choose_basis(&b, mem, s, steps)) return NULL;
    const int64_t n = b.columns, m = s->states;
    double *a = ARENA_ALLOC(mem, double, n *n), *w = ARENA_ALLOC(mem, double, n *m);
    double *out = ARENA_ALLOC(mem, double, s->count * s->steps * m);
    if (!a || !w || !out) return NULL;
    // a = X^T X (lower triangle), w = X^T y
    for (int64_t c = 0; c < s->count; c++)
        for (int64_t t = 0; t < steps; t++) {
            compute_columns(x, &b, s->latent + (c * s->steps + t) * s->latents);
            const double *y = s->truth + (c * s->steps + t) * m;
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j <= i; j++) a[i * n + j] += x[i] * x[j];
                for (int64_t k = 0; k < m; k++) w[i * m + k] += x[i] * y[k];
            }
        }
    for (int64_t i = 0; i < n; i++) a[i * n + i] += 1e-8 * (double)(s->count * steps);
    // (X^T X + ridge) w = X^T y
    if (!cholesky_small_factor(a, n, 0.0)) return NULL;
    cholesky_small_solve(w, a, n, m);
    for (int64_t r = 0; r < s->count * s->steps; r++) {
        compute_columns(x, &b, s->latent + r * s->latents);
        for (int64_t k = 0; k < m; k++)
            for (int64_t i = 0; i < n; i++) out[r * m + k] += x[i] * w[i * m + k];
    }
    return out;
}
