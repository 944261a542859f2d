// SPDX-License-Identifier: MIT
// Normal equations of standardised latents, with a grain of ridge, by Cholesky: at most a few dozen
// columns, and no verdict hangs on them; the measures have solvers of their own.
#include "report/readout_fit.h"

#include <math.h>

enum { MOST = 128 }; // columns

typedef struct basis {
    int64_t used[MOST]; // which latents
    double mean[MOST], scale[MOST];
    int count, columns, order;
} basis;

static void standardise(basis *b, const report_model *s, int64_t steps)
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

// Monomials of `count` latents up to `order`: (count + order)! / count! / order!.
static double monomials(int count, int order)
{
    double n = 1;
    for (int k = 1; k <= order; k++) n = n * (count + k) / k;
    return n;
}

// The order the measure settled on, or as high as there are columns and points for.
static void choose(basis *b, const report_model *s, int64_t steps)
{
    for (int64_t i = 0; i < s->latents && b->count < MOST - 1; i++)
        if (report_model_informative(s, i)) b->used[b->count++] = i;
    standardise(b, s, steps);
    const double wanted = json_tree_double(s->measure, "order");
    b->order = wanted >= 1 && wanted <= 9 ? (int)wanted : 2;
    while (b->order > 1 && (monomials(b->count, b->order) > MOST ||
                            4 * monomials(b->count, b->order) > (double)(s->count * steps)))
        b->order--;
    b->columns = (int)monomials(b->count, b->order);
}

// Each monomial of degree d is one of degree d - 1 times a latent no earlier than its last.
static void row_of(double *x, const basis *b, const double *latent)
{
    double z[MOST];
    int last[MOST], n = 1, begin = 0;
    x[0] = 1;
    last[0] = 0;
    for (int k = 0; k < b->count; k++) z[k] = (latent[b->used[k]] - b->mean[k]) / b->scale[k];
    for (int d = 0; d < b->order; d++) {
        const int end = n;
        for (int i = begin; i < end; i++)
            for (int k = last[i]; k < b->count; k++) {
                last[n] = k;
                x[n++] = x[i] * z[k];
            }
        begin = end;
    }
}

// a = L L^T in place, then a w = y for every column of y (n, m). False if it is not positive.
static bool solve(double *a, double *y, int n, int64_t m)
{
    for (int j = 0; j < n; j++) {
        for (int i = j; i < n; i++) {
            double v = a[i * n + j];
            for (int k = 0; k < j; k++) v -= a[i * n + k] * a[j * n + k];
            if (i == j && !(v > 0)) return false;
            a[i * n + j] = i == j ? sqrt(v) : v / a[j * n + j];
        }
    }
    for (int64_t c = 0; c < m; c++) {
        for (int i = 0; i < n; i++) {
            double v = y[i * m + c];
            for (int k = 0; k < i; k++) v -= a[i * n + k] * y[k * m + c];
            y[i * m + c] = v / a[i * n + i];
        }
        for (int i = n - 1; i >= 0; i--) {
            double v = y[i * m + c];
            for (int k = i + 1; k < n; k++) v -= a[k * n + i] * y[k * m + c];
            y[i * m + c] = v / a[i * n + i];
        }
    }
    return true;
}

double *readout_fit_predict(arena *mem, const report_model *s, int64_t steps)
{
    basis b = {0};
    double x[MOST];
    choose(&b, s, steps);
    const int n = b.columns;
    const int64_t m = s->states;
    double *a = ARENA_ALLOC(mem, double, n *n), *w = ARENA_ALLOC(mem, double, n *m);
    double *out = ARENA_ALLOC(mem, double, s->count * s->steps * m);
    if (!a || !w || !out) return NULL;
    for (int64_t c = 0; c < s->count; c++)
        for (int64_t t = 0; t < steps; t++) {
            row_of(x, &b, s->latent + (c * s->steps + t) * s->latents);
            const double *y = s->truth + (c * s->steps + t) * m;
            for (int i = 0; i < n; i++) {
                for (int j = 0; j <= i; j++) a[i * n + j] += x[i] * x[j];
                for (int64_t k = 0; k < m; k++) w[i * m + k] += x[i] * y[k];
            }
        }
    for (int i = 0; i < n; i++) a[i * n + i] += 1e-8 * (double)(s->count * steps);
    if (!solve(a, w, n, m)) return NULL;
    for (int64_t r = 0; r < s->count * s->steps; r++) {
        row_of(x, &b, s->latent + r * s->latents);
        for (int64_t k = 0; k < m; k++)
            for (int i = 0; i < n; i++) out[r * m + k] += x[i] * w[i * m + k];
    }
    return out;
}
