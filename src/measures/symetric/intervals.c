// SPDX-License-Identifier: MIT
// 95 % intervals by the bootstrap [Efron79]: over the trajectories of a single fit, with the fit
// held fixed, or over fits.
#include <math.h>

#include "math/rng.h"
#include "math/stats.h"
#include "math/vector.h"
#include "measures/symetric/symetric.h"

// A draw is a vector of how often each trajectory was drawn. Every statistic follows from products
// of these rows with it.
enum { ROW_RESIDUAL, ROW_SUM, ROW_SQUARE, ROW_HELDOUT, ROW_HELD_SUM, ROW_HELD_SQUARE, ROWS };

typedef struct resampler {
    const symetric_batch *batch;
    int64_t targets, trajectories, stride;
    double steps;
    double *rows;  // (ROWS * targets + 2, stride): sums per trajectory; is held out; Sym
    double *sums;  // (ROWS * targets + 2)
    double *times; // (stride) how often each trajectory was drawn
    const plumb_symetric_options *opt;
} resampler;

// Fills the table of sums once; a bootstrap draw is then one matrix-vector product.
static plumb_status resample_init(resampler *sampler, arena *mem, const symetric_batch_input *in,
                                  const symetric_batch *batch)
{
    const int64_t n = batch->numbers.trajectories, stride = vector_padded(n);
    const int64_t rows = ROWS * in->targets + 2;
    *sampler = (resampler){.batch = batch,
                           .targets = in->targets,
                           .trajectories = n,
                           .stride = stride,
                           .steps = (double)in->steps,
                           .opt = in->opt};
    sampler->rows = ARENA_ALLOC(mem, double, (rows * stride));
    sampler->sums = ARENA_ALLOC(mem, double, rows);
    sampler->times = ARENA_ALLOC(mem, double, stride);
    if (!sampler->rows || !sampler->sums || !sampler->times) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t t = 0; t < in->targets; t++) {
            const int64_t entry = k * in->targets + t;
            // The trajectory that the two halves of the fit cut has no held-out residual; it enters
            // with 0.
            const bool held = !isnan(batch->heldout2[entry]);
            const double values[ROWS] = {
                batch->residual2[entry],        batch->sum[entry],
                batch->square[entry],           held ? batch->heldout2[entry] : 0.0,
                held ? batch->sum[entry] : 0.0, held ? batch->square[entry] : 0.0,
            };
            for (int i = 0; i < ROWS; i++)
                sampler->rows[(i * in->targets + t) * stride + k] = values[i];
        }
        sampler->rows[(rows - 2) * stride + k] =
            isnan(batch->heldout2[k * in->targets]) ? 0.0 : 1.0;
        sampler->rows[(rows - 1) * stride + k] = batch->sym[k].sym;
    }
    return PLUMB_OK;
}

// Mean over targets of 1 - SSres/SStot, from the weighted sums that begin at row `first`.
static double compute_r2(const resampler *sampler, int first, double trajectories)
{
    const double *residual2 = sampler->sums + first * sampler->targets;
    const double *sum = residual2 + sampler->targets, *square = sum + sampler->targets;
    double total = 0.0;
    for (int64_t t = 0; t < sampler->targets; t++) {
        const double total2 = square[t] - sum[t] * sum[t] / (trajectories * sampler->steps);
        total += total2 > 0.0 ? 1.0 - residual2[t] / total2 : residual2[t] == 0.0 ? 1.0 : 0.0;
    }
    return total / (double)sampler->targets;
}

enum { DRAW_R2, DRAW_SYM, DRAW_VERDICT, DRAW_HELDOUT, DRAWS };

// One bootstrap draw [Efron79]: trajectories with replacement, then all statistics from weighted
// sums. The fit itself is not repeated.
static void draw_statistics(double out[DRAWS], resampler *sampler, rng *random)
{
    rng_resample(sampler->times, random, sampler->trajectories);
    const int64_t rows = ROWS * sampler->targets + 2;
    vector_dots(sampler->sums, sampler->rows, sampler->stride, rows, sampler->times,
                sampler->stride);
    const double n = (double)sampler->trajectories, held = sampler->sums[rows - 2];
    out[DRAW_R2] = compute_r2(sampler, ROW_RESIDUAL, n);
    out[DRAW_SYM] = fmin(sampler->sums[rows - 1] / n, sampler->opt->sym_cap);
    out[DRAW_HELDOUT] = held > 0.0 ? compute_r2(sampler, ROW_HELDOUT, held) : (double)NAN;
    // The draw has the verdict of the rule that the result uses.
    const bool degenerate =
        sampler->batch->numbers.degenerate && sampler->opt->mode == PLUMB_SYMETRIC_MODE_CONVERGED;
    out[DRAW_VERDICT] =
        !degenerate && out[DRAW_R2] > sampler->opt->r2_bar && out[DRAW_SYM] < sampler->opt->sym_bar
            ? 1.0
            : 0.0;
}

// One batch: the bootstrap draws trajectories.
static plumb_status intervals_of_one(plumb_symetric *out, arena *mem,
                                     const symetric_batch_input *in, const symetric_batch *batch)
{
    const int64_t n = in->opt->resamples;
    plumb_interval *const to[DRAWS] = {&out->r2_ci, &out->sym_ci, &out->symetric_ci,
                                       &out->r2_heldout_ci};
    resampler sampler;
    plumb_status st = resample_init(&sampler, mem, in, batch);
    double *draws = ARENA_ALLOC(mem, double, (DRAWS * n));
    if (st || !draws) return PLUMB_EMEMORY;
    rng random = rng_at(in->opt->seed, STREAM_BOOTSTRAP);
    for (int64_t i = 0; i < n; i++) {
        double values[DRAWS];
        draw_statistics(values, &sampler, &random);
        for (int k = 0; k < DRAWS; k++) draws[k * n + i] = values[k];
    }
    for (int k = 0; k < DRAWS; k++) {
        // A draw that has only the trajectory cut by the halves has no held-out R2.
        double *kept = draws + k * n;
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            if (!isnan(kept[i])) kept[count++] = kept[i];
        *to[k] = stats_interval_95(kept, count);
    }
    return PLUMB_OK;
}

// Several batches: the bootstrap draws batches, and the statistic is the mean over them.
static plumb_status intervals_of_many(plumb_symetric *out, arena *mem,
                                      const symetric_batch_input *in, const symetric_work *work)
{
    const plumb_symetric_options *opt = in->opt;
    double *values = ARENA_ALLOC(mem, double, work->count);
    if (!values) return PLUMB_EMEMORY;
    plumb_interval *const to[] = {&out->r2_ci, &out->sym_ci, &out->symetric_ci,
                                  &out->r2_heldout_ci};
    const bootstrap_options draws = {work->count, opt->resamples, opt->seed, STREAM_BOOTSTRAP};
    for (int row = 0; row < 4; row++) {
        for (int64_t i = 0; i < work->count; i++) {
            const symetric_batch *batch = &work->batches[i];
            const double pick[] = {batch->numbers.r2, batch->numbers.sym,
                                   batch->numbers.symetric ? 1.0 : 0.0, batch->r2_heldout};
            values[i] = pick[row];
        }
        const plumb_status st = stats_bootstrap_mean(to[row], mem, values, &draws);
        if (st) return st;
    }
    return PLUMB_OK;
}

plumb_status symetric_intervals(plumb_symetric *out, symetric_work *work,
                                const symetric_batch_input *in)
{
    return work->count == 1 ? intervals_of_one(out, &work->mem, in, &work->batches[0])
                            : intervals_of_many(out, &work->mem, in, work);
}
