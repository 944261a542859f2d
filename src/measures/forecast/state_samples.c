// SPDX-License-Identifier: MIT
// Both scores are mean |X - x| - mean |X - X'| / 2 over samples X, X' and the truth x, in
// deviations of the columns: of single numbers, and of whole states by their norm [Gneiting07].
#include "measures/forecast/state_samples.h"

#include <math.h>
#include <stdlib.h>

#include "base/parallel_for.h"

typedef struct sample_task {
    const state_table *t;
    double *crps, *energy; // (trajectories) sums
    double *scratch;       // (threads, samples)
} sample_task;

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// |X - x| - |X - X'| / 2 of one number. Sorted, the sum over pairs is one over ranks.
static double score_number(double *sample, int64_t n, double truth)
{
    double near = 0.0, apart = 0.0;
    qsort(sample, (size_t)n, sizeof *sample, compare_numbers);
    for (int64_t i = 0; i < n; i++) {
        near += fabs(sample[i] - truth);
        apart += (double)(2 * i + 1 - n) * sample[i];
    }
    return near / (double)n - apart / ((double)n * (double)n);
}

static double get_distance(const state_table *t, int64_t trajectory, int64_t s, int64_t a,
                           int64_t b)
{
    const double *x = state_table_truth(t, trajectory, s);
    double square = 0.0;
    for (int64_t k = 0; k < t->width; k++) {
        const double deviation = t->deviation[k % t->columns];
        if (deviation <= 0.0) continue;
        const double other = b < 0 ? x[k] : state_table_sample(t, trajectory, s, k, b);
        const double d = (state_table_sample(t, trajectory, s, k, a) - other) / deviation;
        square += d * d;
    }
    return sqrt(square);
}

static plumb_status score_trajectory(void *context, int64_t i, int worker)
{
    const sample_task *task = context;
    const state_table *t = task->t;
    double *sample = task->scratch + worker * t->samples;
    const double n = (double)t->samples;
    for (int64_t s = 0; s < t->scored; s++) {
        for (int64_t k = 0; k < t->width; k++) {
            const double deviation = t->deviation[k % t->columns];
            if (deviation <= 0.0) continue;
            for (int64_t a = 0; a < t->samples; a++) sample[a] = state_table_sample(t, i, s, k, a);
            task->crps[i] +=
                score_number(sample, t->samples, state_table_truth(t, i, s)[k]) / deviation;
        }
        for (int64_t a = 0; a < t->samples; a++) {
            task->energy[i] += get_distance(t, i, s, a, -1) / n;
            for (int64_t b = 0; b < a; b++)
                task->energy[i] -= get_distance(t, i, s, a, b) / (n * n);
        }
    }
    return PLUMB_OK;
}

plumb_status state_samples_measure(double *crps, double *energy_score, arena *mem,
                                   const state_table *t)
{
    *crps = *energy_score = (double)NAN;
    if (t->samples < 2) return PLUMB_OK;
    sample_task task = {.t = t,
                        .crps = ARENA_ALLOC(mem, double, t->trajectories),
                        .energy = ARENA_ALLOC(mem, double, t->trajectories),
                        .scratch = ARENA_ALLOC(mem, double, t->threads * t->samples)};
    if (!task.crps || !task.energy || !task.scratch) return PLUMB_EMEMORY;
    const plumb_status st =
        parallel_for_progress(t->trajectories, t->threads, score_trajectory, &task, 0.5, 0.5);
    if (st) return st;
    int64_t varying = 0;
    for (int64_t c = 0; c < t->columns; c++) varying += t->deviation[c] > 0.0;
    const double steps = (double)(t->trajectories * t->scored);
    *crps = *energy_score = 0.0;
    for (int64_t i = 0; i < t->trajectories; i++) {
        *crps += task.crps[i] / (steps * (double)(varying * t->space));
        *energy_score += task.energy[i] / steps;
    }
    return PLUMB_OK;
}
