// SPDX-License-Identifier: MIT
// R2 and Sym by a small network, trained on most trajectories and measured on the others. The
// published code has settings of such a network but no network; docs/measures-symetric.md says
// which of them are used here.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "math/pca.h"
#include "math/rng.h"
#include "math/vector.h"
#include "measures/fit/mlp_fit.h"
#include "measures/symetric/symetric.h"

// Inputs of the network: the latents, or as many principal components as the options allow.
static int64_t count_inputs(const plumb_symetric_options *opt, int64_t latents)
{
    return opt->network_components && latents > opt->network_components ? opt->network_components
                                                                        : latents;
}

// A layer narrower than the truth would cap the rank of J below 2n, and Sym could not be 0.
static mlp_fit_shape choose_shape(const plumb_symetric_options *opt, int64_t latents,
                                  int64_t states)
{
    enum { PUBLISHED_WIDTH = 4 };
    const int64_t width = opt->network_width         ? opt->network_width
                          : states > PUBLISHED_WIDTH ? states
                                                     : PUBLISHED_WIDTH;
    return (mlp_fit_shape){count_inputs(opt, latents), states, width, opt->network_layers};
}

// At most a fifth of the trajectories, and at least one.
static int64_t count_heldout(const plumb_symetric_options *opt, int64_t trajectories)
{
    const int64_t max_heldout = trajectories < 10 ? 1 : trajectories / 5;
    return opt->network_heldout < max_heldout ? opt->network_heldout : max_heldout;
}

// The least number of trajectories that leaves enough training points after the held-out ones.
int64_t symetric_required_trajectories(int64_t latents, int64_t states, int64_t steps,
                                       const plumb_symetric_options *opt)
{
    const mlp_fit_shape net = choose_shape(opt, latents, states);
    const int64_t points = mlp_fit_parameters(&net) * opt->network_points_per_parameter;
    int64_t count = (points + steps - 1) / steps;
    const int64_t train = count > 1 ? count : 1;
    while (count - count_heldout(opt, count) < train) count++;
    return count;
}

// Draws the held-out trajectories and puts them first, each part in the order of the arrays, with
// the points of each.
static plumb_status split_trajectories(symetric_batch_input *in, arena *mem, int64_t heldout)
{
    const int64_t all = in->trajectories;
    int64_t *drawn = ARENA_ALLOC(mem, int64_t, all), *kept = ARENA_ALLOC(mem, int64_t, all);
    int64_t *index = ARENA_ALLOC(mem, int64_t, (all * in->points));
    bool *out = ARENA_ALLOC(mem, bool, all);
    if (!drawn || !kept || !index || !out) return PLUMB_EMEMORY;
    // A random permutation; its first `heldout` entries are held out.
    rng random = rng_at(in->opt->seed, STREAM_HELDOUT);
    rng_distinct(drawn, &random, all, all);
    for (int64_t k = 0; k < heldout; k++) out[drawn[k]] = true;
    int64_t next[2] = {heldout, 0};
    for (int64_t k = 0; k < all; k++) {
        const int64_t to = next[out[k]]++;
        kept[to] = in->kept[k];
        memcpy(index + to * in->points, in->eval_index + k * in->points,
               (size_t)in->points * sizeof *index);
    }
    in->kept = kept;
    in->eval_index = index;
    return PLUMB_OK;
}

// A network with too few points per parameter overfits, and its Jacobian means little.
static plumb_status reject_few_points(const symetric_batch_input *in, const mlp_fit_shape *net,
                                      int64_t train)
{
    const plumb_symetric_options *opt = in->opt;
    const int64_t parameters = mlp_fit_parameters(net), points = train * in->steps;
    if (opt->network_few_points || points / parameters >= opt->network_points_per_parameter)
        return PLUMB_OK;
    const int64_t wanted =
        symetric_required_trajectories(net->inputs, net->outputs, in->steps, in->opt);
    return fail(
        PLUMB_ENUMERIC,
        "%lld points to train a network of %lld parameters; expected %lld per parameter, that "
        "is %lld trajectories of %lld steps, not %lld (the option network_few_points accepts "
        "fewer)",
        (long long)points, (long long)parameters, (long long)opt->network_points_per_parameter,
        (long long)wanted, (long long)in->steps, (long long)in->trajectories);
}

// ---- training from several starts ----

typedef struct network_starts {
    mlp_fit_training job;
    uint64_t seed;
    double *values; // (starts, parameters)
    double *errors; // (starts) sum of squares over all training rows
    int64_t count;
    int threads;
    _Atomic int64_t done;
} network_starts;

// predicted (outputs, stride), against all training rows.
static double sum_squared_error(const network_starts *starts, const double *predicted)
{
    const mlp_fit_training *training = &starts->job;
    double sum = 0.0;
    for (int64_t c = 0; c < training->shape.outputs; c++)
        for (int64_t i = 0; i < training->rows; i++) {
            const double e =
                training->y[c * training->stride + i] - predicted[c * training->stride + i];
            sum += e * e;
        }
    return sum;
}

// Trains one network from its own random weights and keeps its training error.
static plumb_status work_start(void *context, int64_t item, int worker)
{
    network_starts *starts = context;
    mlp_fit_training training = starts->job;
    double *value = starts->values + item * mlp_fit_parameters(&training.shape);
    arena mem = {0};
    double *predicted = ARENA_ALLOC(&mem, double, (training.shape.outputs * training.stride));
    // Worker 0 is the thread of the caller, the only one that may run its callback.
    training.reports = worker == 0;
    training.done = &starts->done;
    training.all = starts->count * training.rate.steps;
    mlp_fit_init(value, &training.shape, starts->seed,
                 (uint64_t)STREAM_WEIGHTS << 32 | (uint64_t)item);
    plumb_status st = predicted ? mlp_fit_train(value, &training) : PLUMB_EMEMORY;
    if (!st)
        st = mlp_fit_apply(predicted, &training.shape, value, training.x, training.rows,
                           training.stride);
    if (!st) starts->errors[item] = sum_squared_error(starts, predicted);
    arena_clear(&mem);
    return st;
}

// Standardised columns and the rows of them that a network is trained on.
typedef struct training_rows {
    const double *x, *y; // (inputs, stride), (targets, stride)
    int64_t stride;
    int64_t first, count; // rows first .. first+count-1
} training_rows;

// (columns, rows.count): the training rows in random order, so that every batch has rows of all
// trajectories.
static double *shuffle_rows(arena *mem, const double *column, int64_t columns,
                            const training_rows *rows, const int64_t *order)
{
    double *out = ARENA_ALLOC(mem, double, (columns * rows->count));
    for (int64_t c = 0; out && c < columns; c++)
        for (int64_t i = 0; i < rows->count; i++)
            out[c * rows->count + i] = column[c * rows->stride + rows->first + order[i]];
    return out;
}

// Mean over targets of 1 - SSres/SStot, or of SSexplained/SStot; a constant target has 1 or 0.
static double compute_mean_r2(const double *y, const double *predicted, int64_t targets,
                              int64_t rows, int64_t stride, plumb_symetric_r2 kind)
{
    double total = 0.0;
    for (int64_t t = 0; t < targets; t++) {
        double sum = 0.0, total2 = 0.0, residual2 = 0.0, explained2 = 0.0;
        for (int64_t i = 0; i < rows; i++) sum += y[t * stride + i];
        const double mean = sum / (double)rows;
        for (int64_t i = 0; i < rows; i++) {
            const double v = y[t * stride + i], f = predicted[t * stride + i];
            total2 += (v - mean) * (v - mean);
            explained2 += (f - mean) * (f - mean);
            residual2 += (v - f) * (v - f);
        }
        if (total2 == 0.0) total += residual2 == 0.0 ? 1.0 : 0.0;
        else
            total += kind == PLUMB_SYMETRIC_R2_EXPLAINED ? explained2 / total2
                                                         : 1.0 - residual2 / total2;
    }
    return total / (double)targets;
}

// Trains from several first weights; `best` becomes the parameters with the least training error.
static plumb_status train_networks(double **best, plumb_symetric_training *training, arena *mem,
                                   const plumb_symetric_options *opt, const mlp_fit_shape *net,
                                   const training_rows *data)
{
    const int64_t rows = data->count;
    const int64_t size = mlp_fit_parameters(net);
    network_starts starts = {
        .seed = opt->seed,
        .count = opt->network_starts,
        .threads = opt->threads > 0 ? opt->threads : parallel_threads(),
        .job = {.shape = *net,
                .rows = rows,
                .stride = rows,
                .batch = opt->network_rows < rows ? opt->network_rows : rows,
                .rate = {opt->network_rate, opt->network_updates, 0, ADAM_COSINE, 0.0, 0.01},
                .ridge = opt->network_ridge,
                .l1 = opt->network_l1,
                .form = PROGRAM_FAST}};
    // One random order of the rows for all starts; the batches then run through it in turn.
    int64_t *order = ARENA_ALLOC(mem, int64_t, rows);
    starts.values = ARENA_ALLOC(mem, double, (starts.count * size));
    starts.errors = ARENA_ALLOC(mem, double, starts.count);
    double *predicted = ARENA_ALLOC(mem, double, (net->outputs * rows));
    if (!order || !starts.values || !starts.errors || !predicted) return PLUMB_EMEMORY;
    rng random = rng_at(opt->seed, STREAM_SHUFFLE);
    rng_distinct(order, &random, rows, rows);
    starts.job.x = shuffle_rows(mem, data->x, net->inputs, data, order);
    starts.job.y = shuffle_rows(mem, data->y, net->outputs, data, order);
    if (!starts.job.x || !starts.job.y) return PLUMB_EMEMORY;
    plumb_status st = parallel_for(starts.count, starts.threads, work_start, &starts);
    if (st) return st;
    // The training error decides, so that the held-out trajectories stay unseen.
    int64_t winner = 0;
    for (int64_t i = 0; i < starts.count; i++)
        if (starts.errors[i] < starts.errors[winner]) winner = i;
    *best = starts.values + winner * size;
    training->loss = starts.errors[winner] / (double)(rows * net->outputs);
    st = mlp_fit_apply(predicted, net, *best, starts.job.x, rows, rows);
    if (st) return st;
    training->r2 = compute_mean_r2(starts.job.y, predicted, net->outputs, rows, rows, opt->r2);
    return PLUMB_OK;
}

// ---- measuring on held-out trajectories ----

typedef struct jacobians {
    const double *all; // (heldout, points, targets, dims)
    int64_t size;      // of a trajectory's
} jacobians;

// Jacobians (points, targets, dims) of trajectory k; they were computed all at once.
static void fill_jacobians(double *j, const void *context, int64_t k)
{
    const jacobians *computed = context;
    memcpy(j, computed->all + k * computed->size, (size_t)computed->size * sizeof *j);
}

// Is a standardised column constant in the training rows, from `first` on? Then rounding errors in
// all of its rows are set to 0. `mean` and `scale` were taken out of it: the rounding errors are
// those of the mean, in units of the scale.
static bool clear_if_constant(double *column, double mean, double scale, int64_t first,
                              int64_t rows)
{
    const double least = 1e-12 * (1.0 + fabs(mean) / scale);
    for (int64_t i = first; i < rows; i++)
        if (fabs(column[i]) > least) return false;
    for (int64_t i = 0; i < rows; i++)
        if (fabs(column[i]) <= least) column[i] = 0.0;
    return true;
}

typedef struct prepared_rows {
    double *x, *y;               // (inputs, stride), (targets, stride)
    bool *latent, *truth;        // (dims), (targets) constant columns
    const pca_components *parts; // inputs instead of the latents, or NULL
    int64_t stride;
} prepared_rows;

// Slopes of or by constant columns are set to 0. A constant true coordinate needs no network. The
// weights of a constant latent were never trained; they are still random and would make area out of
// nothing.
static void clear_dead_slopes(double *j, const prepared_rows *prepared, int64_t dims,
                              int64_t targets, int64_t points)
{
    for (int64_t p = 0; p < points; p++)
        for (int64_t t = 0; t < targets; t++)
            for (int64_t d = 0; d < dims; d++, j++)
                if (prepared->latent[d] || prepared->truth[t]) *j = 0.0;
}

static plumb_status measure_heldout(symetric_batch *out, arena *mem, const symetric_batch_input *in,
                                    const mlp_fit_shape *net, const double *value,
                                    const prepared_rows *prepared, int64_t heldout)
{
    const int64_t rows = heldout * in->steps, points = heldout * in->points,
                  stride = prepared->stride;
    double *predicted = ARENA_ALLOC(mem, double, (net->outputs * stride));
    double *residual = ARENA_ALLOC(mem, double, (net->outputs * stride));
    double *at = ARENA_ALLOC(mem, double, (net->inputs * points));
    double *j = ARENA_ALLOC(mem, double, (points * net->outputs * out->dims)), *inner = j;
    if (prepared->parts) inner = ARENA_ALLOC(mem, double, (points * net->outputs * net->inputs));
    if (!predicted || !residual || !at || !j || !inner) return PLUMB_EMEMORY;
    // R2 on the held-out rows. A constant target is predicted exactly: its standardised value is 0.
    plumb_status st = mlp_fit_apply(predicted, net, value, prepared->x, rows, stride);
    if (st) return st;
    for (int64_t t = 0; t < net->outputs; t++)
        if (prepared->truth[t]) memset(predicted + t * stride, 0, (size_t)rows * sizeof *predicted);
    out->numbers.r2 =
        compute_mean_r2(prepared->y, predicted, net->outputs, rows, stride, in->opt->r2);
    for (int64_t t = 0; t < net->outputs; t++)
        for (int64_t i = 0; i < rows; i++)
            residual[t * stride + i] = prepared->y[t * stride + i] - predicted[t * stride + i];
    // J at the chosen points (inputs, points). With principal components the chain rule brings J
    // back to the latents.
    for (int64_t d = 0; d < net->inputs; d++)
        for (int64_t p = 0; p < points; p++)
            at[d * points + p] =
                prepared->x[d * stride + p / in->points * in->steps + in->eval_index[p]];
    st = mlp_fit_jacobians(inner, net, value, at, points);
    if (!st && prepared->parts)
        pca_components_chain(j, prepared->parts, inner, points * net->outputs);
    clear_dead_slopes(j, prepared, out->dims, net->outputs, points);
    const jacobians all = {j, in->points * net->outputs * out->dims};
    if (!st) st = symetric_batch_score(out, mem, in, heldout, fill_jacobians, &all);
    if (!st)
        st = symetric_batch_sums(
            out, mem, in, &(fit_residuals){prepared->y, residual, residual, -1, stride}, heldout);
    return st;
}

// Standardised columns, which of them are constant, and principal components of many latents.
static plumb_status prepare_rows(prepared_rows *prepared, pca_components *parts,
                                 symetric_batch *batch, arena *mem, const symetric_batch_input *in,
                                 int64_t heldout)
{
    const int64_t all = in->trajectories, first = heldout * in->steps, end = all * in->steps;
    prepared->stride = vector_padded(end);
    plumb_status st = symetric_batch_columns(
        &prepared->x, &prepared->y, batch, mem, in,
        &(row_range){.count = all, .from = heldout, .stride = prepared->stride});
    if (st) return st;
    prepared->latent = ARENA_ALLOC(mem, bool, batch->dims);
    prepared->truth = ARENA_ALLOC(mem, bool, in->targets);
    if (!prepared->latent || !prepared->truth) return PLUMB_EMEMORY;
    for (int64_t d = 0; d < batch->dims; d++)
        prepared->latent[d] =
            clear_if_constant(prepared->x + d * prepared->stride, batch->latent_mean[d],
                              batch->latent_scale[d], first, end);
    for (int64_t t = 0; t < in->targets; t++)
        prepared->truth[t] =
            clear_if_constant(prepared->y + t * prepared->stride, batch->truth_mean[t],
                              batch->truth_scale[t], first, end);
    // Principal components are fitted on the training rows only.
    const int64_t most = count_inputs(in->opt, batch->dims);
    if (most == batch->dims) return PLUMB_OK;
    prepared->parts = parts;
    const pca_variables variables = {prepared->x, batch->dims, prepared->stride, first, end};
    return pca_components_fit(parts, &prepared->x, mem, &variables, most);
}

plumb_status symetric_network(symetric_work *work, plumb_symetric_training *training,
                              symetric_batch_input *in)
{
    arena *mem = &work->mem;
    const int64_t all = in->trajectories, heldout = count_heldout(in->opt, all);
    symetric_batch *batch = ARENA_ALLOC(mem, symetric_batch, 1);
    work->batch_memory = ARENA_ALLOC(mem, arena, 1);
    if (!batch || !work->batch_memory) return PLUMB_EMEMORY;
    work->batches = batch;
    work->count = 1;
    work->size = heldout;
    batch->numbers = (plumb_symetric_batch){.trajectories = heldout, .alpha = (double)NAN};
    plumb_status st = split_trajectories(in, mem, heldout);
    if (!st) st = symetric_batch_select_latents(batch, mem, in, 0, all);
    if (st) return st;
    mlp_fit_shape net = choose_shape(in->opt, batch->dims, in->targets);
    st = reject_few_points(in, &net, all - heldout);
    prepared_rows prepared = {0};
    pca_components parts = {0};
    double *value = NULL;
    if (!st) st = prepare_rows(&prepared, &parts, batch, mem, in, heldout);
    if (st) return st;
    if (prepared.parts) net.inputs = parts.count;
    *training = (plumb_symetric_training){.width = net.width,
                                          .parameters = mlp_fit_parameters(&net),
                                          .trajectories = all - heldout,
                                          .points = (all - heldout) * in->steps,
                                          .components = parts.count};
    const training_rows data = {prepared.x, prepared.y, prepared.stride, heldout * in->steps,
                                training->points};
    st = train_networks(&value, training, mem, in->opt, &net, &data);
    if (!st) st = measure_heldout(batch, mem, in, &net, value, &prepared, heldout);
    if (st) return st;
    batch->numbers.features = batch->numbers.nonzero = training->parameters;
    symetric_batch_decide(&batch->numbers, in->opt);
    return PLUMB_OK;
}
