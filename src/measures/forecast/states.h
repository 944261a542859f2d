// SPDX-License-Identifier: MIT
// True and predicted states, and their sums of errors.
#ifndef MEASURES_FORECAST_STATES_H
#define MEASURES_FORECAST_STATES_H

#include "base/option.h"
#include "math/stats.h"
#include "plumb/state_forecast.h"

extern const option_table state_forecast_option_table;

typedef struct state_table {
    int64_t trajectories, steps, context, scored;
    int64_t space, columns, width; // width = space * columns
    const double *truth;           // (trajectories, steps, width)
    /// As the truth; with samples, number f of the truth is (f / inner * samples + s) inner + f %
    /// inner.
    const double *prediction;
    int64_t samples, inner;
    int threads;
    double *mean, *deviation, *size; // (columns) of the scored truth; size: root mean square
    double *square, *smape;          // (trajectories, columns) sums
    double *errors;                  // (trajectories, scored)
    double *scratch;                 // (threads, width)
    double *column_scratch;          // (columns)
} state_table;

/// The trajectories of a bootstrap.
typedef struct state_draws {
    int64_t *all; // 0 .. trajectories-1
    bootstrap_options options;
} state_draws;

/// The true numbers of scored step s.
static inline const double *state_table_truth(const state_table *t, int64_t trajectory, int64_t s)
{
    return t->truth + (trajectory * t->steps + t->context + s) * t->width;
}

/// Number k of sample `sample` of scored step s.
static inline double state_table_sample(const state_table *t, int64_t trajectory, int64_t s,
                                        int64_t k, int64_t sample)
{
    const int64_t f = (trajectory * t->steps + t->context + s) * t->width + k;
    return t->prediction[(f / t->inner * t->samples + sample) * t->inner + f % t->inner];
}

/// The predicted numbers of scored step s, the mean over samples. `scratch` (width) may hold them.
static inline const double *state_table_prediction(double *scratch, const state_table *t,
                                                   int64_t trajectory, int64_t s)
{
    if (t->samples == 1) return t->prediction + (trajectory * t->steps + t->context + s) * t->width;
    for (int64_t k = 0; k < t->width; k++) {
        scratch[k] = 0.0;
        for (int64_t i = 0; i < t->samples; i++)
            scratch[k] += state_table_sample(t, trajectory, s, k, i) / (double)t->samples;
    }
    return scratch;
}

#endif
