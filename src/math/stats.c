// SPDX-License-Identifier: MIT
// Order statistics by sorting. The bootstrap draws indices: a statistic can then use anything that
// was prepared per item, and ten thousand draws take milliseconds.
#include "math/stats.h"

#include <math.h>
#include <stdlib.h>

#include "math/rng.h"

double stats_mean(const double *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sorts x. False if a value is NaN or there is none.
static bool sort_values(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (isnan(x[i])) return false;
    if (n > 1) qsort(x, (size_t)n, sizeof *x, compare_doubles);
    return n > 0;
}

// x[place] with place = p (n - 1), interpolated between its neighbours.
static double quantile_of_sorted(const double *x, int64_t n, double p)
{
    const double place = p * (double)(n - 1);
    const int64_t below = (int64_t)place < n - 1 ? (int64_t)place : n - 1;
    const double share = place - (double)below;
    // Not a weighted sum: 0 * infinity would be NaN where a neighbour is infinite.
    if (share == 0.0 || x[below] == x[below + 1]) return x[below];
    return x[below] + share * (x[below + 1] - x[below]);
}

double stats_quantile(double *x, int64_t n, double p)
{
    if (!sort_values(x, n)) return (double)NAN;
    return quantile_of_sorted(x, n, p);
}

double stats_median(double *x, int64_t n)
{
    if (!sort_values(x, n)) return (double)NAN;
    const double upper = x[n / 2];
    return n % 2 ? upper : (x[n / 2 - 1] + upper) / 2.0;
}

plumb_interval stats_interval_95(double *x, int64_t n)
{
    if (!sort_values(x, n)) return (plumb_interval){(double)NAN, (double)NAN};
    return (plumb_interval){quantile_of_sorted(x, n, 0.025), quantile_of_sorted(x, n, 0.975)};
}

// ---- bootstrap ----

plumb_status stats_bootstrap(plumb_interval *out, arena *mem, const bootstrap_options *options,
                             stats_statistic *statistic, const void *context)
{
    const int64_t items = options->items, resamples = options->resamples;
    *out = (plumb_interval){(double)NAN, (double)NAN};
    if (items < 2 || resamples <= 0) return PLUMB_OK;

    const arena_mark mark = arena_get_mark(mem);
    int64_t *index = ARENA_ALLOC(mem, int64_t, items);
    double *values = ARENA_ALLOC(mem, double, resamples);
    if (!index || !values) {
        arena_rewind(mem, mark);
        return PLUMB_EMEMORY;
    }
    // The statistic of every resample, drawn from one stream, one after the other.
    rng r = rng_at(options->seed, options->stream);
    for (int64_t i = 0; i < resamples; i++) {
        for (int64_t j = 0; j < items; j++) index[j] = rng_below(&r, items);
        values[i] = statistic(context, index, items);
    }
    *out = stats_interval_95(values, resamples);
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

static double mean_of_draw(const void *context, const int64_t *index, int64_t count)
{
    const double *x = context;
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) sum += x[index[i]];
    return sum / (double)count;
}

plumb_status stats_bootstrap_mean(plumb_interval *out, arena *mem, const double *x,
                                  const bootstrap_options *options)
{
    return stats_bootstrap(out, mem, options, mean_of_draw, x);
}
