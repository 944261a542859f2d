// SPDX-License-Identifier: MIT
// The protocol around the batches: what is allowed in, which trajectories go together, the draw of
// points, the averages and their intervals, and the verdict in words.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/status.h"
#include "math/rng.h"
#include "math/stats.h"
#include "math/vector.h"
#include "measures/symplectic/batch.h"
#include "measures/symplectic/symetric.h"

enum { STREAM_POINTS = 1, STREAM_BOOTSTRAP };

plumb_symetric_options plumb_symetric_defaults(void)
{
    return (plumb_symetric_options){
        .size = sizeof(plumb_symetric_options),
        .mode = PLUMB_CONVERGED,
        .batch = -1,
        .max_order = 5,
        .order_one_above = 32,
        .r2_bar = 0.9,
        .sym_bar = 0.05,
        .sym_cap = 1000.0,
        .degenerate_bar = 1e-4,
        .points = 10,
        .shift = 1e-6,
        .weight_tolerance = 1e-3,
        .alphas = 10,
        .alpha_min = 1e-4,
        .alpha_max = 0.31622776601683794, // 10^-0.5
        .max_sweeps = 1000,
        .tolerance = 1e-4,
        .gap = 1e-11,
        .variance_bar = 0.5,
        .kl_bar = 0.01,
        .resamples = 2000,
        .seed = 1,
    };
}

// --- what is allowed in -------------------------------------------------------------------------

static plumb_status check_options(const plumb_symetric_options *o)
{
    if (o->size != sizeof *o)
        return fail(PLUMB_EVALUE, "the options were not made by plumb_symetric_defaults()");
    if (o->max_order < 1 || o->max_order > POLY_MAX_ORDER)
        return fail(PLUMB_EVALUE, "the highest order is %d, it must be 1 to %d", o->max_order,
                    POLY_MAX_ORDER);
    if (o->alphas < 1 || o->alphas > 1000 || !(o->alpha_min > 0.0) ||
        !(o->alpha_max >= o->alpha_min) || !isfinite(o->alpha_max))
        return fail(PLUMB_EVALUE, "%lld penalties from %g to %g: wanted 1 to 1000, positive, rising",
                    (long long)o->alphas, o->alpha_min, o->alpha_max);
    if (o->batch < -1 || o->batch == 1)
        return fail(PLUMB_EVALUE, "a batch of %lld: wanted 2 trajectories or more, or 0 for all",
                    (long long)o->batch);
    if (o->points < 0 || o->resamples < 0 || o->resamples > 1000000 || o->max_sweeps < 1 ||
        o->max_batches < 0)
        return fail(PLUMB_EVALUE, "points, resamples, sweeps and batches cannot be negative");
    if (!(o->gap > 0.0) || !(o->tolerance > 0.0))
        return fail(PLUMB_EVALUE, "the gap and the tolerance must be positive");
    return PLUMB_OK;
}

static plumb_status check_phase_space(const plumb_array *a, const char *name)
{
    char shape[256];
    plumb_array_shape_text(shape, sizeof shape, a);
    if (a->ndim != 3)
        return fail(PLUMB_ESHAPE, "%s is %s; wanted (trajectories, steps, 2n), q first then p", name,
                    shape);
    if (a->shape[2] < 2 || a->shape[2] % 2)
        return fail(PLUMB_ESHAPE, "%s is %s; phase space needs an even last axis", name, shape);
    return PLUMB_OK;
}

static plumb_status check_shapes(const plumb_array *latent, const plumb_array *truth,
                                 const plumb_array *variance)
{
    plumb_status st = check_phase_space(latent, "latent");
    if (!st) st = check_phase_space(truth, "truth");
    if (st) return st;
    char a[256], b[256];
    plumb_array_shape_text(a, sizeof a, latent);
    plumb_array_shape_text(b, sizeof b, truth);
    if (latent->shape[0] != truth->shape[0])
        return fail(PLUMB_ESHAPE, "latent is %s and truth %s; they need as many trajectories", a, b);
    if (latent->shape[1] < truth->shape[1])
        return fail(PLUMB_ESHAPE, "latent is %s and truth %s; the latents end before the truth", a,
                    b);
    if (truth->shape[0] < 2)
        return fail(PLUMB_ENUMERIC, "truth is %s; the measure needs at least two trajectories", b);
    if (truth->shape[1] < 2)
        return fail(PLUMB_ENUMERIC, "truth is %s; the measure needs at least two steps", b);
    if (!variance) return PLUMB_OK;
    plumb_array_shape_text(b, sizeof b, variance);
    const int64_t last = variance->ndim ? variance->shape[variance->ndim - 1] : 0;
    if ((variance->ndim != 2 && variance->ndim != 3) || variance->shape[0] != latent->shape[0] ||
        last != latent->shape[2] || (variance->ndim == 3 && variance->shape[1] != latent->shape[1]))
        return fail(PLUMB_ESHAPE,
                    "variance is %s for a latent %s; wanted (trajectories, 2m) or "
                    "(trajectories, steps, 2m)",
                    b, a);
    return PLUMB_OK;
}

typedef struct census {
    int64_t count, nan;
    int64_t first; // flat index of the first value that is not finite
    double value;
} census;

// Counts what is not finite in each trajectory; bad (trajectories) may be NULL.
static plumb_status count_nonfinite(census *out, bool *bad, arena *mem, const plumb_array *a)
{
    *out = (census){0};
    if (a->dtype != PLUMB_F8 && a->dtype != PLUMB_F4 && a->dtype != PLUMB_F2) return PLUMB_OK;
    const int64_t total = plumb_array_count(a);
    const int64_t trajectory = a->shape[0] ? total / a->shape[0] : 0;
    const arena_mark mark = arena_here(mem);
    double *values = ARENA_NEW(mem, double, trajectory);
    if (!values) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < a->shape[0]; k++) {
        plumb_array_to_double(values, a, k * trajectory, trajectory);
        for (int64_t i = 0; i < trajectory; i++) {
            if (isfinite(values[i])) continue;
            if (!out->count++) {
                out->first = k * trajectory + i;
                out->value = values[i];
            }
            out->nan += isnan(values[i]) != 0;
            if (bad) bad[k] = true;
        }
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

static plumb_status refuse_nonfinite(const plumb_array *a, const char *name, const census *c,
                                     const char *advice)
{
    char where[256] = "";
    int64_t rest = c->first, index[PLUMB_MAX_DIMS];
    for (int i = a->ndim - 1; i >= 0; i--) {
        index[i] = rest % a->shape[i];
        rest /= a->shape[i];
    }
    size_t used = 0;
    for (int i = 0; i < a->ndim && used < sizeof where; i++)
        used += (size_t)snprintf(where + used, sizeof where - used, "%s%lld", i ? ", " : "",
                                 (long long)index[i]);
    return fail(PLUMB_ENUMERIC, "%s has %lld value%s that %s not finite, the first a %s at (%s)%s",
                name, (long long)c->count, c->count == 1 ? "" : "s", c->count == 1 ? "is" : "are",
                isnan(c->value) ? "NaN" : "infinity", where, advice);
}

// Which trajectories are measured.
static plumb_status choose_trajectories(batch_input *in, arena *mem, int64_t *dropped)
{
    const plumb_symetric_options *o = in->opt;
    const int64_t all = in->truth->shape[0];
    plumb_symetric_nonfinite rule = o->nonfinite;
    if (rule == PLUMB_NONFINITE_DEFAULT)
        rule = o->mode == PLUMB_REFERENCE ? PLUMB_NONFINITE_MEAN : PLUMB_NONFINITE_REFUSE;
    bool *bad = ARENA_NEW(mem, bool, all);
    int64_t *kept = ARENA_NEW(mem, int64_t, all);
    if (!bad || !kept) return PLUMB_EMEMORY;
    const plumb_array *arrays[3] = {in->latent, in->truth, in->variance};
    const char *const names[3] = {"latent", "truth", "variance"};
    for (int i = 0; i < 3; i++) {
        if (!arrays[i]) continue;
        census c;
        plumb_status st = count_nonfinite(&c, bad, mem, arrays[i]);
        if (st) return st;
        const bool as_published = rule == PLUMB_NONFINITE_MEAN && i == 0 && c.nan == c.count;
        if (c.count && rule != PLUMB_NONFINITE_DROP && !as_published)
            return refuse_nonfinite(arrays[i], names[i], &c,
                                    "; --drop-nonfinite leaves such trajectories out");
    }
    in->kept = kept;
    for (int64_t k = 0; k < all; k++)
        if (!bad[k] || rule != PLUMB_NONFINITE_DROP) kept[in->trajectories++] = k;
    *dropped = all - in->trajectories;
    if (in->trajectories < 2)
        return fail(PLUMB_ENUMERIC, "%lld of %lld trajectories are finite throughout; the measure "
                                    "needs at least two",
                    (long long)in->trajectories, (long long)all);
    return PLUMB_OK;
}

static plumb_status refuse_constant_truth(const batch_input *in, arena *mem)
{
    const arena_mark mark = arena_here(mem);
    double *first = ARENA_NEW(mem, double, in->targets);
    double *rows = ARENA_NEW(mem, double, in->steps * in->targets);
    if (!first || !rows) return PLUMB_EMEMORY;
    plumb_array_to_double(first, in->truth, in->kept[0] * in->steps * in->targets, in->targets);
    bool moves = false;
    for (int64_t k = 0; k < in->trajectories && !moves; k++) {
        plumb_array_to_double(rows, in->truth, in->kept[k] * in->steps * in->targets,
                              in->steps * in->targets);
        for (int64_t i = 0; i < in->steps * in->targets && !moves; i++)
            moves = rows[i] != first[i % in->targets];
    }
    arena_rewind(mem, mark);
    if (moves) return PLUMB_OK;
    return fail(PLUMB_ENUMERIC, "truth is constant: there is nothing for the latents to explain");
}

// --- the draw of points -------------------------------------------------------------------------

static plumb_status take_points(batch_input *in, arena *mem)
{
    const plumb_symetric_options *o = in->opt;
    const plumb_array *given = o->eval_index;
    char shape[256];
    if (given) {
        plumb_array_shape_text(shape, sizeof shape, given);
        if (given->ndim != 2 || given->shape[0] != in->truth->shape[0] || given->shape[1] < 1)
            return fail(PLUMB_ESHAPE, "the points are %s; wanted (%lld trajectories, points)", shape,
                        (long long)in->truth->shape[0]);
        in->points = given->shape[1];
    } else {
        in->points = o->points ? o->points : in->steps;
        if (in->points > in->steps)
            return fail(PLUMB_ENUMERIC,
                        "%lld points a trajectory are asked for and there are %lld steps; --points "
                        "%lld takes them all",
                        (long long)in->points, (long long)in->steps, (long long)in->steps);
    }
    int64_t *index = ARENA_NEW(mem, int64_t, in->trajectories * in->points);
    if (!index) return PLUMB_EMEMORY;
    in->eval_index = index;
    for (int64_t k = 0; k < in->trajectories; k++) {
        int64_t *out = index + k * in->points;
        if (!given) {
            rng r = rng_at(o->seed, (uint64_t)STREAM_POINTS << 32 | (uint64_t)in->kept[k]);
            if (o->points)
                rng_distinct(out, &r, in->points, in->steps);
            else
                for (int64_t p = 0; p < in->points; p++) out[p] = p;
            continue;
        }
        for (int64_t p = 0; p < in->points; p++) {
            double value;
            plumb_array_to_double(&value, given, in->kept[k] * in->points + p, 1);
            if (!(value >= 0.0 && value < (double)in->steps) || value != floor(value))
                return fail(PLUMB_EVALUE, "point (%lld, %lld) is %g; wanted a step from 0 to %lld",
                            (long long)in->kept[k], (long long)p, value, (long long)in->steps - 1);
            out[p] = (int64_t)value;
        }
    }
    return PLUMB_OK;
}

// --- all batches --------------------------------------------------------------------------------

typedef struct job {
    const batch_input *in;
    batch *batches;
    plumb_status *status;
    char (*messages)[256];
    arena *memory; // one a batch: what a batch measured outlives the thread that did it
    int64_t size, count;
    int inner_threads;
    _Atomic int64_t done;
} job;

static void work_batch(void *context, int64_t item, int worker)
{
    (void)worker;
    job *j = context;
    const int64_t first = item * j->size;
    j->status[item] = batch_measure(&j->batches[item], &j->memory[item], j->in, first, j->size,
                                    j->inner_threads);
    if (j->status[item]) snprintf(j->messages[item], 256, "%s", plumb_last_error());
    status_progress((double)++j->done / (double)j->count);
}

plumb_status symetric_batches(symetric_work *out, const batch_input *in)
{
    const plumb_symetric_options *o = in->opt;
    int64_t size = o->batch == -1 ? (o->mode == PLUMB_REFERENCE ? 5 : 0) : o->batch;
    if (size == 0 || size > in->trajectories) size = in->trajectories;
    int64_t count = in->trajectories / size;
    if (o->max_batches && o->max_batches < count) count = o->max_batches;
    if (count * size < in->trajectories)
        status_log("%lld of %lld trajectories do not fill a batch of %lld and are left out",
                   (long long)(in->trajectories - count * size), (long long)in->trajectories,
                   (long long)size);
    arena *mem = &out->mem;
    job j = {.in = in, .size = size, .count = count};
    j.batches = ARENA_NEW(mem, batch, count);
    j.status = ARENA_NEW(mem, plumb_status, count);
    j.messages = arena_take(mem, count, sizeof *j.messages);
    j.memory = ARENA_NEW(mem, arena, count);
    if (!j.batches || !j.status || !j.messages || !j.memory) return PLUMB_EMEMORY;
    out->batches = j.batches;
    out->batch_memory = j.memory;
    out->count = count;
    out->size = size;
    const int threads = o->threads > 0 ? o->threads : pool_threads();
    j.inner_threads = count > 1 ? 1 : threads;
    pool_run(count, threads, work_batch, &j);
    for (int64_t i = 0; i < count; i++)
        if (j.status[i]) return fail(j.status[i], "%s", j.messages[i]);
    return PLUMB_OK;
}

void symetric_work_clear(symetric_work *work)
{
    for (int64_t i = 0; i < work->count; i++) arena_clear(&work->batch_memory[i]);
    arena_clear(&work->mem);
}

plumb_status symetric_input(batch_input *in, int64_t *dropped, symetric_work *work,
                            const plumb_array *latent, const plumb_array *truth,
                            const plumb_array *variance, const plumb_symetric_options *opt)
{
    plumb_status st = check_options(opt);
    if (!st) st = check_shapes(latent, truth, variance);
    if (st) return st;
    *in = (batch_input){
        .latent = latent, .truth = truth, .variance = variance, .steps = truth->shape[1],
        .latent_steps = latent->shape[1], .latent_dims = latent->shape[2],
        .targets = truth->shape[2], .opt = opt,
    };
    st = choose_trajectories(in, &work->mem, dropped);
    if (!st) st = refuse_constant_truth(in, &work->mem);
    if (!st) st = take_points(in, &work->mem);
    if (st) return st;
    double *alphas = ARENA_NEW(&work->mem, double, opt->alphas);
    if (!alphas) return PLUMB_EMEMORY;
    const double low = log10(opt->alpha_min), high = log10(opt->alpha_max);
    for (int64_t i = 0; i < opt->alphas; i++)
        alphas[i] = opt->alphas == 1
                        ? opt->alpha_min
                        : pow(10.0, low + (high - low) * (double)i / (double)(opt->alphas - 1));
    in->alphas = alphas;
    return PLUMB_OK;
}

// --- averages, intervals, words -----------------------------------------------------------------

// The bootstrap of a single fit, which stays as it is while trajectories are drawn: each draw is a
// vector of how often each trajectory came up, and every statistic follows from products with it.
enum { ROW_RESIDUAL, ROW_SUM, ROW_SQUARE, ROW_HELDOUT, ROW_HELD_SUM, ROW_HELD_SQUARE, ROWS };

typedef struct resample {
    const batch *b;
    int64_t targets, trajectories, stride;
    double steps;
    double *rows;  // (ROWS * targets + 2, stride): sums per trajectory; is held out; Sym
    double *sums;  // (ROWS * targets + 2)
    double *times; // (stride) how often each trajectory was drawn
    const plumb_symetric_options *opt;
} resample;

static plumb_status resample_init(resample *s, arena *mem, const batch_input *in, const batch *b)
{
    const int64_t n = b->numbers.trajectories, stride = vector_padded(n);
    const int64_t rows = ROWS * in->targets + 2;
    *s = (resample){.b = b, .targets = in->targets, .trajectories = n, .stride = stride,
                    .steps = (double)in->steps, .opt = in->opt};
    s->rows = ARENA_NEW(mem, double, rows * stride);
    s->sums = ARENA_NEW(mem, double, rows);
    s->times = ARENA_NEW(mem, double, stride);
    if (!s->rows || !s->sums || !s->times) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t t = 0; t < in->targets; t++) {
            const int64_t cell = k * in->targets + t;
            const bool held = !isnan(b->heldout2[cell]);
            const double values[ROWS] = {
                b->residual2[cell],
                b->sum[cell],
                b->square[cell],
                held ? b->heldout2[cell] : 0.0,
                held ? b->sum[cell] : 0.0,
                held ? b->square[cell] : 0.0,
            };
            for (int i = 0; i < ROWS; i++) s->rows[(i * in->targets + t) * stride + k] = values[i];
        }
        s->rows[(rows - 2) * stride + k] = isnan(b->heldout2[k * in->targets]) ? 0.0 : 1.0;
        s->rows[(rows - 1) * stride + k] = b->sym[k].sym;
    }
    return PLUMB_OK;
}

static double r2_of_sums(const resample *s, int first, double trajectories)
{
    const double *left = s->sums + first * s->targets;
    const double *sum = left + s->targets, *square = sum + s->targets;
    double total = 0.0;
    for (int64_t t = 0; t < s->targets; t++) {
        const double spread = square[t] - sum[t] * sum[t] / (trajectories * s->steps);
        total += spread > 0.0 ? 1.0 - left[t] / spread : left[t] == 0.0 ? 1.0 : 0.0;
    }
    return total / (double)s->targets;
}

enum { DRAW_R2, DRAW_SYM, DRAW_VERDICT, DRAW_HELDOUT, DRAWS };

static void draw(double out[DRAWS], resample *s, rng *r)
{
    memset(s->times, 0, (size_t)s->stride * sizeof *s->times);
    for (int64_t k = 0; k < s->trajectories; k++) s->times[rng_below(r, s->trajectories)] += 1.0;
    const int64_t rows = ROWS * s->targets + 2;
    vector_dots(s->sums, s->rows, s->stride, rows, s->times, s->stride);
    const double n = (double)s->trajectories, held = s->sums[rows - 2];
    out[DRAW_R2] = r2_of_sums(s, ROW_RESIDUAL, n);
    out[DRAW_SYM] = fmin(s->sums[rows - 1] / n, s->opt->sym_cap);
    out[DRAW_HELDOUT] = held > 0.0 ? r2_of_sums(s, ROW_HELDOUT, held) : (double)NAN;
    const bool degenerate = s->b->numbers.degenerate && s->opt->mode == PLUMB_CONVERGED;
    out[DRAW_VERDICT] = !degenerate && out[DRAW_R2] > s->opt->r2_bar &&
                                out[DRAW_SYM] < s->opt->sym_bar
                            ? 1.0
                            : 0.0;
}

static plumb_status intervals_of_one(plumb_symetric *out, arena *mem, const batch_input *in,
                                     const batch *b)
{
    const int64_t n = in->opt->resamples;
    plumb_interval *const to[DRAWS] = {&out->r2_ci, &out->sym_ci, &out->symetric_ci,
                                       &out->r2_heldout_ci};
    resample s;
    plumb_status st = resample_init(&s, mem, in, b);
    double *draws = ARENA_NEW(mem, double, DRAWS *n);
    if (st || !draws) return PLUMB_EMEMORY;
    rng r = rng_at(in->opt->seed, STREAM_BOOTSTRAP);
    for (int64_t i = 0; i < n; i++) {
        double values[DRAWS];
        draw(values, &s, &r);
        for (int k = 0; k < DRAWS; k++) draws[k * n + i] = values[k];
    }
    for (int k = 0; k < DRAWS; k++) {
        to[k]->low = n ? stats_quantile(draws + k * n, n, 0.025) : (double)NAN;
        to[k]->high = n ? stats_quantile(draws + k * n, n, 0.975) : (double)NAN;
    }
    return PLUMB_OK;
}

static plumb_status intervals_of_many(plumb_symetric *out, arena *mem, const batch_input *in,
                                      const symetric_work *work)
{
    const plumb_symetric_options *o = in->opt;
    double *values = ARENA_NEW(mem, double, work->count);
    if (!values) return PLUMB_EMEMORY;
    plumb_interval *const to[] = {&out->r2_ci, &out->sym_ci, &out->symetric_ci,
                                  &out->r2_heldout_ci};
    for (int row = 0; row < 4; row++) {
        for (int64_t i = 0; i < work->count; i++) {
            const batch *b = &work->batches[i];
            const double pick[] = {b->numbers.r2, b->numbers.sym, b->numbers.symetric ? 1.0 : 0.0,
                                   b->r2_heldout};
            values[i] = pick[row];
        }
        const plumb_status st =
            stats_bootstrap_mean(&to[row]->low, &to[row]->high, mem, values, work->count,
                                 o->resamples, o->seed, STREAM_BOOTSTRAP);
        if (st) return st;
    }
    return PLUMB_OK;
}

static void average(plumb_symetric *out, const symetric_work *work)
{
    const double count = (double)work->count;
    out->alpha = work->batches[0].numbers.alpha;
    out->rho = (double)INFINITY;
    for (int64_t i = 0; i < work->count; i++) {
        const plumb_symetric_batch *b = &work->batches[i].numbers;
        out->r2 += b->r2 / count;
        out->sym += b->sym / count;
        out->symetric += (b->symetric ? 1.0 : 0.0) / count;
        out->r2_heldout += work->batches[i].r2_heldout / count;
        out->degenerate |= b->degenerate;
        out->unconverged += b->unconverged;
        if (b->rho < out->rho) out->rho = b->rho;
        if (b->order > out->order) out->order = b->order;
        if (b->alpha != out->alpha) out->alpha = (double)NAN;
    }
    // A share of batches is a fraction of whole numbers: do not let the sum's rounding blur it.
    out->symetric = round(out->symetric * count) / count;
}

static plumb_status list_items(plumb_symetric *out, arena *mem, const batch_input *in,
                               const symetric_work *work)
{
    plumb_symetric_batch *batches = ARENA_NEW(mem, plumb_symetric_batch, work->count);
    plumb_symetric_item *items = ARENA_NEW(mem, plumb_symetric_item, work->count * work->size);
    int64_t *used = ARENA_NEW(mem, int64_t, in->latent_dims);
    bool *is_used = ARENA_NEW(mem, bool, in->latent_dims);
    if (!batches || !items || !used || !is_used) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < work->count; i++) {
        const batch *b = &work->batches[i];
        batches[i] = b->numbers;
        for (int64_t j = 0; j < b->dims; j++) is_used[b->used[j]] = true;
        for (int64_t k = 0; k < work->size; k++) {
            double r2 = 0.0, heldout = 0.0;
            for (int64_t t = 0; t < in->targets; t++) {
                const int64_t cell = k * in->targets + t;
                r2 += 1.0 - b->residual2[cell] / b->square[cell];
                heldout += 1.0 - b->heldout2[cell] / b->square[cell];
            }
            items[i * work->size + k] = (plumb_symetric_item){
                .trajectory = in->kept[i * work->size + k],
                .batch = i,
                .r2 = r2 / (double)in->targets,
                .r2_heldout = heldout / (double)in->targets,
                .sym = b->sym[k].sym,
            };
        }
    }
    out->latents_used = used;
    for (int64_t j = 0; j < in->latent_dims; j++)
        if (is_used[j]) used[out->latents++] = j;
    out->batches = batches;
    out->batch_count = work->count;
    out->items = items;
    out->trajectories = work->count * work->size;
    return PLUMB_OK;
}

static plumb_status explain(plumb_symetric *out, arena *mem, const plumb_symetric_options *o)
{
    char text[400];
    const bool good_r2 = out->r2 > o->r2_bar, good_sym = out->sym < o->sym_bar;
    if (out->degenerate)
        snprintf(text, sizeof text,
                 "degenerate: the map sees no area in the latent space (rho %.1e, healthy above "
                 "%.0e), so Sym has no meaning%s",
                 out->rho, o->degenerate_bar,
                 o->mode == PLUMB_REFERENCE ? "; reference mode reports the published verdict all "
                                              "the same"
                                            : "");
    else if (out->batch_count > 1)
        snprintf(text, sizeof text,
                 "%.0f of %lld fits pass (R2 above %g and Sym below %g)",
                 out->symetric * (double)out->batch_count, (long long)out->batch_count, o->r2_bar,
                 o->sym_bar);
    else if (good_r2 && good_sym)
        snprintf(text, sizeof text,
                 "R2 %.4f is above %g and Sym %.3g below %g: the latents hold the true phase space "
                 "and the map to it passes as canonical",
                 out->r2, o->r2_bar, out->sym, o->sym_bar);
    else if (good_r2)
        snprintf(text, sizeof text,
                 "Sym %.3g is not below %g: the latents hold the true state, but the map to it "
                 "does not keep the symplectic form",
                 out->sym, o->sym_bar);
    else
        snprintf(text, sizeof text,
                 "R2 %.4f is not above %g: no polynomial up to order %d recovers the true state "
                 "from the latents",
                 out->r2, o->r2_bar, out->order);
    out->why = arena_text(mem, text);
    return out->why ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status conclude(plumb_symetric *out, arena *mem, const batch_input *in,
                             symetric_work *work)
{
    average(out, work);
    plumb_status st = list_items(out, mem, in, work);
    if (!st)
        st = work->count == 1 ? intervals_of_one(out, &work->mem, in, &work->batches[0])
                              : intervals_of_many(out, &work->mem, in, work);
    if (!st) st = explain(out, mem, in->opt);
    return st;
}

plumb_status plumb_symetric_measure(plumb_symetric *out, const plumb_array *latent,
                                    const plumb_array *truth, const plumb_array *variance,
                                    const plumb_symetric_options *opt)
{
    const double started = clock_now();
    const plumb_symetric_options defaults = plumb_symetric_defaults();
    if (!opt) opt = &defaults;
    symetric_work work = {0};
    batch_input in;
    plumb_symetric result = {.mode = opt->mode};
    arena *keep = calloc(1, sizeof *keep);
    plumb_status st = keep ? PLUMB_OK : fail(PLUMB_EMEMORY, "no memory");
    if (!st) st = symetric_input(&in, &result.dropped, &work, latent, truth, variance, opt);
    if (!st) st = symetric_batches(&work, &in);
    if (!st) st = conclude(&result, keep, &in, &work);
    symetric_work_clear(&work);
    if (st) {
        if (keep) arena_clear(keep);
        free(keep);
        return st;
    }
    const plumb_array *inputs[] = {latent, truth, variance};
    hash_arrays(result.input_hash, inputs, 3);
    result.steps = in.steps;
    result.n = in.targets / 2;
    result.m = in.latent_dims / 2;
    result.memory = keep;
    result.seconds = clock_now() - started;
    *out = result;
    return PLUMB_OK;
}

void plumb_symetric_clear(plumb_symetric *result)
{
    if (!result || !result->memory) return;
    arena_clear(result->memory);
    free(result->memory);
    *result = (plumb_symetric){0};
}
