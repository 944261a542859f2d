// SPDX-License-Identifier: MIT
// Ranks with ties at their mean, and the correlation of ranks. The bootstrap draws models, so ranks
// are taken anew in every resample.
#include "plumb/rank_correlation.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "math/rng.h"
#include "math/special.h"
#include "math/stats.h"

void plumb_rank_correlation_options_init(plumb_rank_correlation_options *options, size_t size)
{
    const plumb_rank_correlation_options defaults = {
        .size = sizeof(plumb_rank_correlation_options), .top = 1.0, .resamples = 2000, .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}

typedef struct place {
    double value;
    int64_t index;
} place;

static int by_value(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void rank(double *out, place *scratch, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) scratch[i] = (place){x[i], i};
    qsort(scratch, (size_t)n, sizeof *scratch, by_value);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && scratch[end].value == scratch[i].value;) end++;
        for (int64_t k = i; k < end; k++) out[scratch[k].index] = 0.5 * (double)(i + end - 1);
    }
}

typedef struct correlation_scratch {
    double *x, *y, *rank_x, *rank_y;
    place *scratch;
} correlation_scratch;

// NaN if either does not vary.
static double spearman(correlation_scratch *d, int64_t n)
{
    double xy = 0.0, xx = 0.0, yy = 0.0;
    const double mean = 0.5 * (double)(n - 1);
    rank(d->rank_x, d->scratch, d->x, n);
    rank(d->rank_y, d->scratch, d->y, n);
    for (int64_t i = 0; i < n; i++) {
        const double a = d->rank_x[i] - mean, b = d->rank_y[i] - mean;
        xy += a * b;
        xx += a * a;
        yy += b * b;
    }
    return xx > 0.0 && yy > 0.0 ? xy / sqrt(xx * yy) : (double)NAN;
}

static plumb_status make_desk(correlation_scratch *d, arena *mem, int64_t n)
{
    *d = (correlation_scratch){ARENA_ALLOC(mem, double, n), ARENA_ALLOC(mem, double, n),
                               ARENA_ALLOC(mem, double, n), ARENA_ALLOC(mem, double, n),
                               ARENA_ALLOC(mem, place, n)};
    return d->x && d->y && d->rank_x && d->rank_y && d->scratch ? PLUMB_OK : PLUMB_EMEMORY;
}

// Resamples in which one of the two does not vary have no correlation and do not count; where they
// are many there is no interval.
static plumb_status bootstrap(plumb_interval *out, arena *mem, const double *x, const double *y,
                              int64_t n, const plumb_rank_correlation_options *o)
{
    correlation_scratch d;
    double *rho = ARENA_ALLOC(mem, double, o->resamples);
    int64_t got = 0;
    *out = (plumb_interval){(double)NAN, (double)NAN};
    if (!rho || make_desk(&d, mem, n)) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < o->resamples; k++) {
        rng r = rng_at(o->seed, (uint64_t)k);
        for (int64_t i = 0; i < n; i++) {
            const int64_t which = rng_below(&r, n);
            d.x[i] = x[which];
            d.y[i] = y[which];
        }
        rho[got] = spearman(&d, n);
        got += !isnan(rho[got]);
    }
    if (got == 0 || (double)got < 0.9 * (double)o->resamples) return PLUMB_OK;
    *out = stats_interval_95(rho, got);
    return PLUMB_OK;
}

// The models that count, into x and y: both finite, and among the best.
static int64_t choose(double *x, double *y, place *order, const double *measure,
                      const double *outcome, int64_t count, double top)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(measure[i]) && isfinite(outcome[i])) order[n++] = (place){-outcome[i], i};
    qsort(order, (size_t)n, sizeof *order, by_value);
    int64_t best = (int64_t)ceil(top * (double)n - 1e-9);
    while (best > 0 && best < n && order[best].value == order[best - 1].value) best++; // as good
    n = best < n ? best : n;
    for (int64_t i = 0; i < n; i++) {
        x[i] = measure[order[i].index];
        y[i] = outcome[order[i].index];
    }
    return n;
}

static double chance(double rho, int64_t n)
{
    if (n < 3) return (double)NAN;
    if (fabs(rho) >= 1.0) return 0.0;
    const double freedom = (double)(n - 2);
    return 2.0 * special_t_tail(fabs(rho) * sqrt(freedom / (1.0 - rho * rho)), freedom);
}

plumb_status plumb_rank_correlation_measure(plumb_rank_correlation *out, const double *measure,
                                            const double *outcome, int64_t count,
                                            const plumb_rank_correlation_options *opt)
{
    plumb_rank_correlation_options o = plumb_rank_correlation_defaults();
    plumb_status st = options_resolve(&o, sizeof o, opt, "plumb_rank_correlation_options");
    if (st) return st;
    if (!(o.top > 0.0 && o.top <= 1.0) || o.resamples < 0)
        return fail(PLUMB_EVALUE, "top is %g and resamples %lld; want (0, 1] and 0 or more", o.top,
                    (long long)o.resamples);
    arena mem = {0};
    correlation_scratch d;
    plumb_rank_correlation r = {.rho_ci = {(double)NAN, (double)NAN}};
    st = make_desk(&d, &mem, count);
    if (!st) {
        r.n = choose(d.x, d.y, d.scratch, measure, outcome, count, o.top);
        r.rho = r.n > 2 ? spearman(&d, r.n) : (double)NAN;
        r.p = chance(r.rho, r.n);
        if (r.n < 3)
            st = fail(PLUMB_ENUMERIC, "%lld models have both numbers; want 3 at least",
                      (long long)r.n);
        else if (isnan(r.rho))
            st =
                fail(PLUMB_ENUMERIC, "a number that is the same for all %lld models foretells none",
                     (long long)r.n);
        else if (o.resamples) st = bootstrap(&r.rho_ci, &mem, d.x, d.y, r.n, &o);
    }
    arena_clear(&mem);
    if (!st) *out = r;
    return st;
}
