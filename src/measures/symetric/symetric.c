// SPDX-License-Identifier: MIT
// SyMetric over all batches: which trajectories form a batch, averages over batches, and the text
// of the verdict [Higgins21].
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/result.h"
#include "base/status.h"
#include "base/text.h"
#include "math/pca.h"
#include "measures/symetric/batch.h"
#include "measures/symetric/state_map.h"
#include "measures/symetric/symetric.h"

// ---- all batches ----

typedef struct batch_job {
    const symetric_batch_input *in;
    symetric_batch *batches;
    arena *memory; // one per batch: the result of a batch outlives its thread
    int64_t size, count;
    int inner_threads;
} batch_job;

// Measures one batch; `item` is its index. Batches share nothing, so they run in parallel.
static plumb_status work_batch(void *context, int64_t item, int worker)
{
    batch_job *job = context;
    const int64_t first = item * job->size;
    (void)worker;
    return symetric_batch_measure(&job->batches[item], &job->memory[item], job->in, first,
                                  job->size, job->inner_threads);
}

plumb_status symetric_batches(symetric_work *out, const symetric_batch_input *in)
{
    // Batch size: 5 in reference mode as published, all trajectories in converged mode.
    const plumb_symetric_options *opt = in->opt;
    int64_t size =
        opt->batch == -1 ? (opt->mode == PLUMB_SYMETRIC_MODE_REFERENCE ? 5 : 0) : opt->batch;
    if (size == 0 || size > in->trajectories) size = in->trajectories;
    // Only full batches are measured.
    int64_t count = in->trajectories / size;
    if (opt->max_batches && opt->max_batches < count) count = opt->max_batches;
    if (count * size < in->trajectories && !in->quiet)
        status_log(
            "%lld of %lld trajectories are measured, %lld per batch; the others are left out",
            (long long)(count * size), (long long)in->trajectories, (long long)size);
    // Each batch has its own memory, so that threads do not share an arena.
    arena *mem = &out->mem;
    batch_job job = {.in = in, .size = size, .count = count};
    job.batches = ARENA_ALLOC(mem, symetric_batch, count);
    job.memory = ARENA_ALLOC(mem, arena, count);
    if (!job.batches || !job.memory) return PLUMB_EMEMORY;
    out->batches = job.batches;
    out->batch_memory = job.memory;
    out->count = count;
    out->size = size;
    // Many batches: one thread each. One batch: all threads work inside its fit.
    const int threads = opt->threads > 0 ? opt->threads : parallel_threads();
    job.inner_threads = count > 1 ? 1 : threads;
    return parallel_for_progress(count, threads, work_batch, &job, 0.0, 1.0);
}

void symetric_work_clear(symetric_work *work)
{
    for (int64_t i = 0; i < work->count; i++) arena_clear(&work->batch_memory[i]);
    arena_clear(&work->mem);
}

// ---- averages and text ----

// R2, Sym and the verdict are means over batches. rho is the least, order the largest, alpha is NaN
// if batches differ.
static void average_batches(plumb_symetric *out, const symetric_batch_input *in,
                            const symetric_work *work)
{
    const double count = (double)work->count;
    out->alpha = work->batches[0].numbers.alpha;
    out->rho = (double)INFINITY;
    for (int64_t i = 0; i < work->count; i++) {
        const plumb_symetric_batch *numbers = &work->batches[i].numbers;
        out->r2 += numbers->r2 / count;
        out->sym += numbers->sym / count;
        out->symetric += (numbers->symetric ? 1.0 : 0.0) / count;
        out->r2_heldout += work->batches[i].r2_heldout / count;
        out->degenerate |= numbers->degenerate;
        out->unconverged += numbers->unconverged;
        if (numbers->rho < out->rho) out->rho = numbers->rho;
        if (numbers->order > out->order) out->order = numbers->order;
        const int limit = symetric_batch_orders(work->batches[i].dims,
                                                numbers->trajectories * in->steps, in->opt);
        if (limit > out->order_limit) out->order_limit = limit;
        if (numbers->alpha != out->alpha) out->alpha = (double)NAN;
    }
    // The share of batches is a ratio of integers; remove the rounding of the sum.
    out->symetric = round(out->symetric * count) / count;
}

// 1 - residual2 / square; a constant target has 1 or 0, as in the fit.
static double explained_share(double residual2, double square)
{
    return square > 0.0 || isnan(residual2) ? 1.0 - residual2 / square
           : residual2 == 0.0               ? 1.0
                                            : 0.0;
}

// Writes one entry per batch and one per trajectory, and collects the latents that any batch used.
static plumb_status list_items(plumb_symetric *out, arena *mem, const symetric_batch_input *in,
                               const symetric_work *work)
{
    plumb_symetric_batch *batches = ARENA_ALLOC(mem, plumb_symetric_batch, work->count);
    plumb_symetric_item *items = ARENA_ALLOC(mem, plumb_symetric_item, (work->count * work->size));
    int64_t *used = ARENA_ALLOC(mem, int64_t, in->latent_dims);
    bool *is_used = ARENA_ALLOC(mem, bool, in->latent_dims);
    bool *is_informative = ARENA_ALLOC(mem, bool, in->latent_dims);
    if (!batches || !items || !used || !is_used || !is_informative) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < work->count; i++) {
        const symetric_batch *batch = &work->batches[i];
        batches[i] = batch->numbers;
        // A latent is informative if it passed the mask in at least one batch.
        for (int64_t j = 0; j < batch->dims; j++) {
            is_used[batch->used[j]] = true;
            is_informative[batch->used[j]] =
                is_informative[batch->used[j]] || batch->informative > 0;
        }
        // R2 per trajectory is the mean over the 2n coordinates of the true state.
        for (int64_t k = 0; k < work->size; k++) {
            double r2 = 0.0, heldout = 0.0;
            for (int64_t t = 0; t < in->targets; t++) {
                const int64_t entry = k * in->targets + t;
                r2 += explained_share(batch->residual2[entry], batch->square[entry]);
                heldout += explained_share(batch->heldout2[entry], batch->square[entry]);
            }
            items[i * work->size + k] = (plumb_symetric_item){
                .trajectory = in->kept[i * work->size + k],
                .batch = i,
                .r2 = r2 / (double)in->targets,
                .r2_heldout = heldout / (double)in->targets,
                .sym = batch->sym[k].sym,
            };
        }
    }
    out->latents_used = used;
    for (int64_t j = 0; j < in->latent_dims; j++)
        if (is_used[j]) used[out->latents++] = j;
    out->informative = work->batches[0].informative < 0 ? -1 : 0;
    for (int64_t j = 0; j < in->latent_dims; j++) out->informative += is_informative[j];
    out->batches = batches;
    out->batch_count = work->count;
    out->items = items;
    out->trajectories = work->count * work->size;
    return PLUMB_OK;
}

// `why`: one sentence that says which of the two bars failed, or why Sym has no meaning.
static plumb_status explain_verdict(plumb_symetric *out, arena *mem,
                                    const plumb_symetric_options *opt)
{
    char text[400];
    const bool good_r2 = out->r2 > opt->r2_bar, good_sym = out->sym < opt->sym_bar;
    char r2[32], sym[32];
    text_beside(r2, sizeof r2, 'f', out->r2, opt->r2_bar);
    text_beside(sym, sizeof sym, 'g', out->sym, opt->sym_bar);
    if (out->degenerate)
        text_format(text, sizeof text,
                    "degenerate: the map sees no area in the latent space (rho %.1e, healthy above "
                    "%.0e), so Sym has no meaning%s",
                    out->rho, opt->degenerate_bar,
                    opt->mode == PLUMB_SYMETRIC_MODE_REFERENCE
                        ? "; reference mode reports the published verdict all "
                          "the same"
                        : "");
    else if (out->batch_count > 1)
        text_format(text, sizeof text, "%.0f of %lld fits pass (R2 above %g and Sym below %g)",
                    out->symetric * (double)out->batch_count, (long long)out->batch_count,
                    opt->r2_bar, opt->sym_bar);
    else if (good_r2 && good_sym)
        text_format(text, sizeof text,
                    "R2 %s is above %g and Sym %s below %g: the latents hold the true phase space "
                    "and the map to it passes as canonical",
                    r2, opt->r2_bar, sym, opt->sym_bar);
    else if (good_r2)
        text_format(text, sizeof text,
                    "Sym %s is not below %g: the latents hold the true state, but the map to it "
                    "does not keep the symplectic form",
                    sym, opt->sym_bar);
    else if (opt->method == PLUMB_SYMETRIC_METHOD_MLP)
        text_format(text, sizeof text,
                    "R2 %s is not above %g: no network of %d layers of %lld units was found that "
                    "recovers the true state from the latents",
                    r2, opt->r2_bar, opt->network_layers, (long long)out->training.width);
    else
        text_format(text, sizeof text,
                    "R2 %s is not above %g: no polynomial up to order %d recovers the true state "
                    "from the latents%s",
                    r2, opt->r2_bar, out->order,
                    out->order_limit < (out->latents > opt->order_one_above ? 1 : opt->max_order)
                        ? "; higher ones were left out: they have more features than max_features "
                          "and max_cells allow"
                        : "");
    out->why = arena_strdup(mem, text);
    return out->why ? PLUMB_OK : PLUMB_EMEMORY;
}

// Keeps the map F of every fit by polynomials.
static plumb_status keep_maps(plumb_symetric *out, arena *mem, const symetric_batch_input *in,
                              const symetric_work *work)
{
    if (out->method != PLUMB_SYMETRIC_METHOD_POLYNOMIAL) return PLUMB_OK;
    state_map *maps = ARENA_ALLOC(mem, state_map, work->count);
    plumb_status st = maps ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t i = 0; i < work->count && !st; i++)
        st = state_map_copy(&maps[i], mem, &work->batches[i], in);
    out->maps = maps;
    return st;
}

// From batches to the result: averages, lists, intervals, text.
static plumb_status finish_result(plumb_symetric *out, arena *mem, const symetric_batch_input *in,
                                  symetric_work *work)
{
    average_batches(out, in, work);
    if (in->opt->method == PLUMB_SYMETRIC_METHOD_MLP) out->order_limit = 0;
    plumb_status st = list_items(out, mem, in, work);
    if (!st) st = symetric_intervals(out, work, in);
    if (!st) st = keep_maps(out, mem, in, work);
    if (!st) st = explain_verdict(out, mem, in->opt);
    return st;
}

// The latents of a Lagrangian model are (q, v). `joined` becomes (q, p), with its momenta.
static plumb_status join_momenta(plumb_array *joined, arena *mem, const plumb_array *latent,
                                 const plumb_array *momenta)
{
    char a[256], b[256];
    if (latent->ndim != 3 || momenta->ndim != 3 || momenta->shape[0] != latent->shape[0] ||
        momenta->shape[1] != latent->shape[1] || 2 * momenta->shape[2] != latent->shape[2])
        return fail(PLUMB_ESHAPE,
                    "momenta are %s for a latent %s; expected (trajectories, steps, m)",
                    plumb_array_shape_string(a, sizeof a, momenta),
                    plumb_array_shape_string(b, sizeof b, latent));
    const int64_t rows = latent->shape[0] * latent->shape[1], m = momenta->shape[2];
    double *values = ARENA_ALLOC(mem, double, (rows * 2 * m));
    if (!values) return PLUMB_EMEMORY;
    plumb_array_to_double(values, latent, 0, rows * 2 * m);
    for (int64_t i = 0; i < rows; i++)
        plumb_array_to_double(values + i * 2 * m + m, momenta, i * m, m);
    *joined = plumb_array_view(values, PLUMB_FLOAT64, 3,
                               (int64_t[]){latent->shape[0], latent->shape[1], 2 * m});
    return PLUMB_OK;
}

// `quiet`: writes no log lines.
static plumb_status measure_symetric(plumb_symetric *out, const plumb_array *latent,
                                     const plumb_array *variance, const plumb_array *truth,
                                     const plumb_symetric_options *opt, bool quiet)
{
    const double started = clock_now();
    symetric_work work = {0};
    symetric_batch_input in;
    plumb_symetric result = {.mode = opt->mode, .method = opt->method};
    arena *keep = result_begin(&result.memory);
    plumb_status st = keep ? PLUMB_OK : PLUMB_EMEMORY;
    plumb_array joined;
    if (!st && opt->momenta) {
        st = join_momenta(&joined, &work.mem, latent, opt->momenta);
        latent = &joined;
    }
    if (!st) st = symetric_input(&in, &result.dropped, &work, latent, truth, variance, opt);
    if (!st) in.quiet = quiet;
    if (!st)
        st = opt->method == PLUMB_SYMETRIC_METHOD_MLP
                 ? symetric_network(&work, &result.training, &in)
                 : symetric_batches(&work, &in);
    if (!st) st = finish_result(&result, keep, &in, &work);
    // The hash of all inputs identifies the data of a result.
    const plumb_array *inputs[] = {latent, truth, variance};
    if (!st) hash_arrays(result.input_hash, inputs, 3);
    symetric_work_clear(&work);
    st = result_end(st, &result.memory);
    if (st) return st;
    result.steps = in.steps;
    result.n = in.targets / 2;
    result.m = in.latent_dims / 2;
    result.seconds = clock_now() - started;
    *out = result;
    return PLUMB_OK;
}

plumb_status plumb_symetric_measure(plumb_symetric *out, const plumb_array *latent,
                                    const plumb_array *variance, const plumb_array *truth,
                                    const plumb_symetric_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(latent);
    REQUIRE_ARGUMENT(truth);
    plumb_symetric_options opt = plumb_symetric_defaults();
    const plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_symetric_options");
    return st ? st : measure_symetric(out, latent, variance, truth, &opt, false);
}

plumb_status symetric_floor(double *sym, const plumb_array *truth,
                            const plumb_symetric_options *opt)
{
    // Sym of the truth against itself, without a bootstrap: what the measure gives for a perfect
    // model.
    plumb_symetric_options plain = *opt;
    plain.resamples = 0;
    plain.momenta = NULL;
    plumb_symetric of_truth;
    const plumb_status st = measure_symetric(&of_truth, truth, NULL, truth, &plain, true);
    if (st) return st;
    *sym = of_truth.sym;
    plumb_symetric_clear(&of_truth);
    return PLUMB_OK;
}

void plumb_symetric_clear(plumb_symetric *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
