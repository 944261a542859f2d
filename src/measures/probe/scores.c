// SPDX-License-Identifier: MIT
// Scores are functions of sums over trajectories. A bootstrap resample counts each trajectory some
// number of times, so its sums are one matrix product.
#include "measures/probe/scores.h"

#include <math.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "math/blas.h"
#include "math/rng.h"
#include "math/stats.h"

enum { BOOTSTRAP_STREAM = 0x70726f62, BLOCK = 64, KINDS = 3, MIN_RESAMPLED = 2 };
enum { SUM_SIZE = sizeof(probe_sums) / sizeof(double) };

// R2, r and NMSE of the columns c .. next-1 of a target.
static void score_target(double out[KINDS], const probe_sums *sums, int64_t c, int64_t next)
{
    double error = 0.0, variance = 0.0, r = 0.0, nmse = 0.0;
    const double columns = (double)(next - c);
    for (; c < next; c++) {
        const probe_sums *s = &sums[c];
        const double y = s->yy - s->y * s->y / s->rows, p = s->pp - s->p * s->p / s->rows;
        error += s->error;
        variance += y;
        // A readout that is constant to rounding has no correlation.
        const bool flat = p <= 1e-20 * s->rows;
        r += flat ? 0.0 : (s->yp - s->y * s->p / s->rows) / sqrt(y * p) / columns;
        nmse += s->relative / s->rows / columns;
    }
    out[0] = variance > 0.0 ? 1.0 - error / variance : (double)NAN;
    out[1] = variance > 0.0 ? fmax(-1.0, fmin(1.0, r)) : (double)NAN;
    out[2] = variance > 0.0 ? nmse : (double)NAN;
}

static int64_t end_of_target(const probe_data *data, int64_t c)
{
    const int64_t target = data->column[c].target;
    while (c < data->columns && data->column[c].target == target) c++;
    return c;
}

// out (targets + groups, KINDS) from sums (columns).
static void score_all(double *out, const probe_data *data, const probe_groups *groups,
                      const probe_sums *sums)
{
    for (int64_t c = 0, next; c < data->columns; c = next) {
        next = end_of_target(data, c);
        double *score = out + data->column[c].target * KINDS;
        bool constant = true;
        for (int64_t k = c; k < next; k++) constant = constant && data->column[k].constant;
        if (constant) score[0] = score[1] = score[2] = (double)NAN;
        else score_target(score, sums, c, next);
    }
    for (int64_t g = 0; g < groups->count; g++) {
        double *score = out + (data->targets + g) * KINDS;
        for (int kind = 0; kind < KINDS; kind++) {
            double sum = 0.0;
            int64_t count = 0;
            for (int64_t c = 0; c < data->columns; c = end_of_target(data, c)) {
                const int64_t target = data->column[c].target;
                if (groups->group_of[target] != g || isnan(out[target * KINDS])) continue;
                sum += out[target * KINDS + kind];
                count++;
            }
            score[kind] = count ? sum / (double)count : (double)NAN;
        }
    }
}

// sum (columns) over all trajectories of one block of columns.
static void sum_trajectories(probe_sums *sum, const probe_data *data, const probe_readout *readout,
                             int64_t block)
{
    for (int64_t i = 0; i < data->trajectories; i++) {
        if (!readout->split->tested[readout->split->fold[i]]) continue;
        const double *from =
            (const double *)(readout->sums + i * readout->columns + block * data->columns);
        for (int64_t k = 0; k < data->columns * SUM_SIZE; k++) ((double *)sum)[k] += from[k];
    }
}

void probe_scores_r2(double *r2, const probe_data *data, const probe_readout *readout,
                     int64_t block)
{
    for (int64_t c = 0, next; c < data->columns; c = next) {
        next = end_of_target(data, c);
        double error = 0.0, variance = 0.0;
        bool constant = true;
        for (int64_t k = c; k < next; k++) {
            double rows = 0.0, y = 0.0, yy = 0.0;
            for (int64_t i = 0; i < data->trajectories; i++) {
                const probe_sums *s =
                    &readout->sums[i * readout->columns + block * data->columns + k];
                rows += s->rows;
                y += s->y;
                yy += s->yy;
                error += s->error;
            }
            variance += yy - y * y / rows;
            constant = constant && data->column[k].constant;
        }
        r2[data->column[c].target] =
            !constant && variance > 0.0 ? 1.0 - error / variance : (double)NAN;
    }
}

// ---- bootstrap ----

typedef struct resample_task {
    const probe_data *data;
    const probe_groups *groups;
    const double *sums; // (tested, columns, SUM_SIZE)
    int64_t tested, resamples, scores;
    uint64_t seed;
    double *times;   // (threads, BLOCK, tested)
    double *product; // (threads, BLOCK, columns, SUM_SIZE)
    double *one;     // (threads, scores, KINDS)
    double *drawn;   // (scores, KINDS, resamples)
} resample_task;

// BLOCK resamples.
static plumb_status draw_block(void *context, int64_t index, int worker)
{
    const resample_task *task = context;
    const int64_t width = task->data->columns * SUM_SIZE, first = index * BLOCK;
    const int64_t count = task->resamples - first < BLOCK ? task->resamples - first : BLOCK;
    double *times = task->times + worker * BLOCK * task->tested;
    double *product = task->product + worker * BLOCK * width;
    double *one = task->one + worker * task->scores * KINDS;
    rng random = rng_at(task->seed, (uint64_t)index << 32 | BOOTSTRAP_STREAM);
    for (int64_t r = 0; r < count; r++)
        rng_resample(times + r * task->tested, &random, task->tested);
    blas_gemm(product, width, times, task->tested, false, task->sums, width, false, count, width,
              task->tested, 1.0, 0.0);
    for (int64_t r = 0; r < count; r++) {
        score_all(one, task->data, task->groups, (const probe_sums *)(product + r * width));
        for (int64_t k = 0; k < task->scores * KINDS; k++)
            task->drawn[k * task->resamples + first + r] = one[k];
    }
    return PLUMB_OK;
}

// The sums of tested trajectories, one after the other. NULL if out of memory.
static double *pack_sums(arena *mem, const probe_data *data, const probe_readout *readout,
                         int64_t *tested)
{
    const int64_t width = data->columns * SUM_SIZE;
    double *out = ARENA_ALLOC(mem, double, data->trajectories *width);
    *tested = 0;
    for (int64_t i = 0; out && i < data->trajectories; i++) {
        if (!readout->split->tested[readout->split->fold[i]]) continue;
        const double *from = (const double *)(readout->sums + i * readout->columns);
        double *to = out + (*tested)++ * width;
        for (int64_t k = 0; k < width; k++) to[k] = isnan(from[k]) ? 0.0 : from[k];
    }
    return out;
}

static plumb_status draw_intervals(plumb_probe_score *out, arena *mem, resample_task *task,
                                   int threads)
{
    const int64_t width = task->data->columns * SUM_SIZE;
    task->times = ARENA_ALLOC(mem, double, threads *BLOCK * task->tested);
    task->product = ARENA_ALLOC(mem, double, threads *BLOCK *width);
    task->one = ARENA_ALLOC(mem, double, threads * task->scores * KINDS);
    task->drawn = ARENA_ALLOC(mem, double, task->scores *KINDS * task->resamples);
    if (!task->times || !task->product || !task->one || !task->drawn) return PLUMB_EMEMORY;
    const plumb_status st =
        parallel_for((task->resamples + BLOCK - 1) / BLOCK, threads, draw_block, task);
    if (st) return st;
    for (int64_t s = 0; s < task->scores; s++) {
        double *drawn = task->drawn + s * KINDS * task->resamples;
        out[s].r2_ci = stats_interval_95(drawn, task->resamples);
        out[s].r_ci = stats_interval_95(drawn + task->resamples, task->resamples);
        out[s].nmse_ci = stats_interval_95(drawn + 2 * task->resamples, task->resamples);
    }
    return PLUMB_OK;
}

// The median over tested folds of the chosen penalties.
static double take_median(const probe_readout *readout, int64_t target)
{
    double penalty[PROBE_MAX_FOLDS];
    int64_t count = 0;
    for (int f = 0; f < readout->split->folds; f++)
        if (readout->split->tested[f])
            penalty[count++] = readout->penalty[f * readout->targets + target];
    return stats_median(penalty, count);
}

plumb_status probe_scores_compute(plumb_probe_score *out, arena *mem, const probe_data *data,
                                  const probe_readout *readout, const probe_groups *groups,
                                  const plumb_probe_options *opt)
{
    const double nan = (double)NAN;
    const plumb_interval none = {nan, nan};
    const int64_t scores = data->targets + groups->count;
    const arena_mark mark = arena_get_mark(mem);
    probe_sums *sum = ARENA_ALLOC(mem, probe_sums, data->columns);
    double *value = ARENA_ALLOC(mem, double, scores *KINDS);
    resample_task task = {.data = data,
                          .groups = groups,
                          .resamples = opt->resamples,
                          .scores = scores,
                          .seed = opt->seed};
    task.sums = pack_sums(mem, data, readout, &task.tested);
    plumb_status st = sum && value && task.sums ? PLUMB_OK : PLUMB_EMEMORY;
    if (!st) {
        sum_trajectories(sum, data, readout, 0);
        score_all(value, data, groups, sum);
        for (int64_t s = 0; s < scores; s++)
            out[s] = (plumb_probe_score){
                .r2 = value[s * KINDS],
                .r = value[s * KINDS + 1],
                .nmse = value[s * KINDS + 2],
                .r2_ci = none,
                .r_ci = none,
                .nmse_ci = none,
                .penalty = s < data->targets ? take_median(readout, s) : nan,
            };
        if (opt->resamples && task.tested >= MIN_RESAMPLED)
            st = draw_intervals(out, mem, &task, opt->threads ? opt->threads : parallel_threads());
    }
    arena_rewind(mem, mark);
    return st;
}
