// SPDX-License-Identifier: MIT
// Spearman's rank correlation with ties at their mean rank. The bootstrap draws models, so ranks
// are computed anew in every resample.
#include "measures/rank_correlation.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/status.h"
#include "math/rng.h"
#include "math/special.h"
#include "math/stats.h"

rank_correlation_options rank_correlation_defaults(void)
{
    return (rank_correlation_options){.top = 1.0, .resamples = 2000, .seed = 1};
}

typedef struct indexed_value {
    double value;
    int64_t index;
} indexed_value;

static int compare_values(const void *a, const void *b)
{
    const indexed_value *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

// out (n): the rank of each value from 0; equal values share their mean rank.
static void compute_ranks(double *out, indexed_value *scratch, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) scratch[i] = (indexed_value){x[i], i};
    qsort(scratch, (size_t)n, sizeof *scratch, compare_values);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && scratch[end].value == scratch[i].value;) end++;
        for (int64_t k = i; k < end; k++) out[scratch[k].index] = 0.5 * (double)(i + end - 1);
    }
}

typedef struct correlation_scratch {
    double *x, *y, *rank_x, *rank_y;
    indexed_value *scratch;
} correlation_scratch;

// rho = sum a b / sqrt(sum a^2 sum b^2) over ranks a, b minus their mean; NaN if either is
// constant.
static double compute_rho(correlation_scratch *d, int64_t n)
{
    double xy = 0.0, xx = 0.0, yy = 0.0;
    const double mean = 0.5 * (double)(n - 1);
    compute_ranks(d->rank_x, d->scratch, d->x, n);
    compute_ranks(d->rank_y, d->scratch, d->y, n);
    for (int64_t i = 0; i < n; i++) {
        const double a = d->rank_x[i] - mean, b = d->rank_y[i] - mean;
        xy += a * b;
        xx += a * a;
        yy += b * b;
    }
    return xx > 0.0 && yy > 0.0 ? xy / sqrt(xx * yy) : (double)NAN;
}

static plumb_status scratch_init(correlation_scratch *d, arena *mem, int64_t n)
{
    *d = (correlation_scratch){ARENA_ALLOC(mem, double, n), ARENA_ALLOC(mem, double, n),
                               ARENA_ALLOC(mem, double, n), ARENA_ALLOC(mem, double, n),
                               ARENA_ALLOC(mem, indexed_value, n)};
    return d->x && d->y && d->rank_x && d->rank_y && d->scratch ? PLUMB_OK : PLUMB_EMEMORY;
}

// 95 % percentile bootstrap over models. Resamples in which one of the two is constant have no
// correlation and do not count; if they are more than a tenth there is no interval.
static plumb_status bootstrap_rho(plumb_interval *out, arena *mem, const double *x, const double *y,
                                  int64_t n, const rank_correlation_options *options)
{
    correlation_scratch d;
    double *rho = ARENA_ALLOC(mem, double, options->resamples);
    int64_t got = 0;
    *out = (plumb_interval){(double)NAN, (double)NAN};
    if (!rho || scratch_init(&d, mem, n)) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < options->resamples; k++) {
        rng r = rng_at(options->seed, (uint64_t)k);
        for (int64_t i = 0; i < n; i++) {
            const int64_t which = rng_below(&r, n);
            d.x[i] = x[which];
            d.y[i] = y[which];
        }
        rho[got] = compute_rho(&d, n);
        got += !isnan(rho[got]);
    }
    if (got == 0 || (double)got < 0.9 * (double)options->resamples) return PLUMB_OK;
    *out = stats_interval_95(rho, got);
    return PLUMB_OK;
}

// x, y: the models that count, both values finite and the outcome among the best. Returns how many.
static int64_t select_models(double *x, double *y, indexed_value *order, const double *measure,
                             const double *outcome, int64_t count, double top)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(measure[i]) && isfinite(outcome[i]))
            order[n++] = (indexed_value){-outcome[i], i};
    qsort(order, (size_t)n, sizeof *order, compare_values);
    int64_t best = (int64_t)ceil(top * (double)n - 1e-9);
    while (best > 0 && best < n && order[best].value == order[best - 1].value) best++; // ties
    n = best < n ? best : n;
    for (int64_t i = 0; i < n; i++) {
        x[i] = measure[order[i].index];
        y[i] = outcome[order[i].index];
    }
    return n;
}

// Up to this many models p is computed from all n! orders, 362,880 for nine.
enum { MAX_EXACT = 9 };

// The share of the orders of y whose |sum of rank products| is at least that of the data. a, b (n):
// ranks minus their mean. Heap's algorithm visits every order by exchanging two ranks at a time.
static double compute_exact_p(const double *a, double *b, int64_t n)
{
    int64_t counter[MAX_EXACT] = {0}, orders = 0, extreme = 0;
    double observed = 0.0;
    for (int64_t i = 0; i < n; i++) observed += a[i] * b[i];
    for (int64_t i = 0; i < n;) {
        if (i == 0 || counter[i] < i) {
            if (i) {
                const int64_t other = i % 2 ? counter[i] : 0;
                const double swap = b[other];
                b[other] = b[i];
                b[i] = swap;
                counter[i]++;
            }
            double sum = 0.0;
            for (int64_t k = 0; k < n; k++) sum += a[k] * b[k];
            orders++;
            extreme += fabs(sum) >= fabs(observed) - 1e-9; // ranks are multiples of a half
            i = 1;
        } else {
            counter[i++] = 0;
        }
    }
    return (double)extreme / (double)orders;
}

// ln of the product of t! over groups of t equal ranks, which are multiples of a half.
static double log_tie_orders(const double *rank, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double before = 0.0;
        for (int64_t k = 0; k < i; k++) before += rank[k] == rank[i];
        sum += log(before + 1.0);
    }
    return sum;
}

// Two-sided p: exact for few models, else by Student: t = |rho| sqrt((n - 2) / (1 - rho^2)), n - 2
// degrees of freedom. For |rho| = 1 Student has p = 0; there the data's order and its reverse are
// counted among all n!, each once for every order of equal values. d has the ranks.
static double compute_p(correlation_scratch *d, double rho, int64_t n)
{
    if (n < 3 || isnan(rho)) return (double)NAN;
    const double mean = 0.5 * (double)(n - 1);
    if (n <= MAX_EXACT) {
        double a[MAX_EXACT], b[MAX_EXACT];
        for (int64_t i = 0; i < n; i++) a[i] = d->rank_x[i] - mean, b[i] = d->rank_y[i] - mean;
        return compute_exact_p(a, b, n);
    }
    if (fabs(rho) >= 1.0 - 1e-12)
        return fmin(2.0 * exp(log_tie_orders(d->rank_y, n) - lgamma((double)n + 1.0)), 1.0);
    const double freedom = (double)(n - 2);
    return 2.0 * special_t_tail(fabs(rho) * sqrt(freedom / (1.0 - rho * rho)), freedom);
}

plumb_status rank_correlation_measure(rank_correlation *out, const double *measure,
                                      const double *outcome, int64_t count,
                                      const rank_correlation_options *options)
{
    if (!(options->top > 0.0 && options->top <= 1.0) || options->resamples < 0)
        return fail(PLUMB_EVALUE, "top is %g and resamples %lld; expected (0, 1] and 0 or more",
                    options->top, (long long)options->resamples);
    arena mem = {0};
    correlation_scratch d;
    rank_correlation found = {.rho_ci = {(double)NAN, (double)NAN}};
    plumb_status st = scratch_init(&d, &mem, count);
    if (!st) {
        found.n = select_models(d.x, d.y, d.scratch, measure, outcome, count, options->top);
        found.rho = found.n > 2 ? compute_rho(&d, found.n) : (double)NAN;
        found.p = compute_p(&d, found.rho, found.n);
        if (found.n < 3)
            st = fail(PLUMB_ENUMERIC, "%lld models have both numbers; at least 3 are needed",
                      (long long)found.n);
        else if (isnan(found.rho))
            st = fail(PLUMB_ENUMERIC,
                      "a number is the same for all %lld models: it has no rank correlation",
                      (long long)found.n);
        else if (options->resamples)
            st = bootstrap_rho(&found.rho_ci, &mem, d.x, d.y, found.n, options);
    }
    arena_clear(&mem);
    if (!st) *out = found;
    return st;
}
