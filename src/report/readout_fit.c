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

// Mean and standard deviation of each latent that is used.
static void standardise_latents(readout_basis *basis, const report_model *model, int64_t steps)
{
    for (int k = 0; k < basis->count; k++) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < model->count; i++)
            for (int64_t t = 0; t < steps; t++) {
                const double v =
                    model->latent[(i * model->steps + t) * model->latents + basis->used[k]];
                sum += v;
                square += v * v;
            }
        const double n = (double)(model->count * steps);
        basis->mean[k] = sum / n;
        // A latent that never changes would divide by zero.
        basis->scale[k] = sqrt(fmax(square / n - basis->mean[k] * basis->mean[k], 1e-24));
    }
}

// The constant and all monomials up to `order`: (count + order)! / count! / order!.
static int64_t count_columns(int count, int order)
{
    return poly_count(count, order) + 1;
}

// The order that the measure used, or the highest for which there are columns and points enough.
static plumb_status choose_basis(readout_basis *basis, arena *mem, const report_model *model,
                                 int64_t steps)
{
    for (int64_t i = 0; i < model->latents && basis->count < MAX_COLUMNS - 1; i++)
        if (report_model_is_informative(model, i)) basis->used[basis->count++] = i;
    standardise_latents(basis, model, steps);
    const double wanted = json_tree_double(model->measure, "order");
    basis->order = wanted >= 1 && wanted <= POLY_MAX_ORDER ? (int)wanted : 2;
    // At least four points per column, so that the fit is determined.
    while (basis->order > 1 &&
           (count_columns(basis->count, basis->order) > MAX_COLUMNS ||
            4 * count_columns(basis->count, basis->order) > model->count * steps))
        basis->order--;
    basis->columns = count_columns(basis->count, basis->order);

    // The variables of each monomial.
    poly monomials;
    const plumb_status st = poly_init(&monomials, mem, basis->count, basis->order);
    for (int64_t i = 1; !st && i < basis->columns; i++)
        basis->degree[i] = poly_variables(basis->variables[i], &monomials, i - 1);
    return st;
}

// x (columns) at one point.
static void compute_columns(double *x, const readout_basis *basis, const double *latent)
{
    double z[MAX_COLUMNS];
    for (int k = 0; k < basis->count; k++)
        z[k] = (latent[basis->used[k]] - basis->mean[k]) / basis->scale[k];
    x[0] = 1;
    for (int64_t i = 1; i < basis->columns; i++) {
        x[i] = z[basis->variables[i][0]];
        for (int k = 1; k < basis->degree[i]; k++) x[i] *= z[basis->variables[i][k]];
    }
}

double *readout_fit_predict(arena *mem, const report_model *model, int64_t steps)
{
    readout_basis basis = {0};
    double x[MAX_COLUMNS];
    if (choose_basis(&basis, mem, model, steps)) return NULL;
    const int64_t n = basis.columns, m = model->states;
    double *a = ARENA_ALLOC(mem, double, n *n), *w = ARENA_ALLOC(mem, double, n *m);
    double *out = ARENA_ALLOC(mem, double, model->count * model->steps * m);
    if (!a || !w || !out) return NULL;
    // a = X^T X (lower triangle), w = X^T y
    for (int64_t c = 0; c < model->count; c++)
        for (int64_t t = 0; t < steps; t++) {
            compute_columns(x, &basis, model->latent + (c * model->steps + t) * model->latents);
            const double *y = model->truth + (c * model->steps + t) * m;
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j <= i; j++) a[i * n + j] += x[i] * x[j];
                for (int64_t k = 0; k < m; k++) w[i * m + k] += x[i] * y[k];
            }
        }
    // The ridge: 1e-8 per point keeps the matrix positive definite.
    for (int64_t i = 0; i < n; i++) a[i * n + i] += 1e-8 * (double)(model->count * steps);
    // (X^T X + ridge) w = X^T y
    if (!cholesky_small_factor(a, n, 0.0)) return NULL;
    cholesky_small_solve(w, a, n, m);
    // out = X w, for all steps and not only for those of the fit.
    for (int64_t r = 0; r < model->count * model->steps; r++) {
        compute_columns(x, &basis, model->latent + r * model->latents);
        for (int64_t k = 0; k < m; k++)
            for (int64_t i = 0; i < n; i++) out[r * m + k] += x[i] * w[i * m + k];
    }
    return out;
}
