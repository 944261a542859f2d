// SPDX-License-Identifier: MIT
// Reads the true states out of latents: a probe fitted to encoded latents of other trajectories,
// applied to encoded and to predicted ones.
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/cost.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "measures/dynamics/dynamics.h"
#include "measures/probe/hint.h"
#include "measures/probe/scores.h"
#include "measures/probe/split.h"

enum { PENALTIES = 10, KERNEL_PENALTIES = 5, MIN_SCORED = 12 };

static plumb_status check_shapes(const plumb_dynamics_input *in, int64_t context)
{
    char text[200], other[200];
    const plumb_array *latent = in->latent, *encoded = in->encoded, *truth = in->truth;
    bool fits = latent->ndim == 3 && encoded->ndim == 3;
    for (int k = 0; fits && k < 3; k++) fits = latent->shape[k] == encoded->shape[k];
    if (!fits)
        return fail(PLUMB_ESHAPE,
                    "latent has shape %s, encoded %s; both must be (trajectories, steps, d)",
                    plumb_array_shape_string(text, sizeof text, latent),
                    plumb_array_shape_string(other, sizeof other, encoded));
    if (truth->ndim != 3 || truth->shape[0] != latent->shape[0] ||
        truth->shape[1] != latent->shape[1])
        return fail(PLUMB_ESHAPE,
                    "truth has shape %s; beside latents %s it must be (%lld, %lld, k)",
                    plumb_array_shape_string(text, sizeof text, truth),
                    plumb_array_shape_string(other, sizeof other, latent),
                    (long long)latent->shape[0], (long long)latent->shape[1]);
    if (in->energy && (in->energy->ndim != 2 || in->energy->shape[0] != truth->shape[0] ||
                       in->energy->shape[1] != truth->shape[1]))
        return fail(PLUMB_ESHAPE, "energy has shape %s; it must be (%lld, %lld)",
                    plumb_array_shape_string(text, sizeof text, in->energy),
                    (long long)truth->shape[0], (long long)truth->shape[1]);
    const plumb_array *action = in->action;
    if (action &&
        (action->ndim != 3 || action->shape[0] != truth->shape[0] ||
         (action->shape[1] != truth->shape[1] && action->shape[1] != truth->shape[1] - 1)))
        return fail(PLUMB_ESHAPE, "action has shape %s; it must be (%lld, %lld or %lld, a)",
                    plumb_array_shape_string(text, sizeof text, action), (long long)truth->shape[0],
                    (long long)truth->shape[1], (long long)truth->shape[1] - 1);
    if (truth->shape[1] - context < MIN_SCORED)
        return fail(PLUMB_EVALUE, "there are %lld steps, %lld of them context; %d must be left",
                    (long long)truth->shape[1], (long long)context, (int)MIN_SCORED);
    return PLUMB_OK;
}

// Is step `t` of `encoded` NaN in all trajectories?
static bool is_unencoded(const plumb_array *encoded, int64_t t)
{
    const int64_t steps = encoded->shape[1], d = encoded->shape[2];
    for (int64_t i = 0; i < encoded->shape[0]; i++)
        for (int64_t k = 0; k < d; k++) {
            double value;
            plumb_array_to_double(&value, encoded, (i * steps + t) * d + k, 1);
            if (!isnan(value)) return false;
        }
    return true;
}

// Between the steps that are left out, every latent must be a number.
static plumb_status check_encoded(const plumb_array *encoded, int64_t before, int64_t after)
{
    const int64_t steps = encoded->shape[1], d = encoded->shape[2];
    for (int64_t i = 0; i < encoded->shape[0]; i++)
        for (int64_t t = before; t < steps - after; t++)
            for (int64_t k = 0; k < d; k++) {
                double value;
                plumb_array_to_double(&value, encoded, (i * steps + t) * d + k, 1);
                if (!isfinite(value))
                    return fail(PLUMB_ENUMERIC,
                                "encoded has NaN or infinity in trajectory %lld, step %lld; only "
                                "steps at the start and at the end may be NaN, in all trajectories",
                                (long long)i, (long long)t);
            }
    return PLUMB_OK;
}

plumb_status dynamics_crop_encoded(dynamics_encoded_part *out, arena *mem,
                                   const plumb_dynamics_input *in)
{
    *out = (dynamics_encoded_part){.input = *in};
    plumb_status st = check_shapes(in, 0);
    if (st) return st;
    const int64_t steps = in->encoded->shape[1];
    while (out->before < steps && is_unencoded(in->encoded, out->before)) out->before++;
    if (out->before == steps) return fail(PLUMB_ENUMERIC, "encoded is NaN everywhere");
    while (is_unencoded(in->encoded, steps - 1 - out->after)) out->after++;
    st = check_encoded(in->encoded, out->before, out->after);
    if (st || (!out->before && !out->after)) return st;
    const struct {
        const plumb_array *from, **to;
        plumb_array *copy;
    } arrays[] = {{in->latent, &out->input.latent, &out->latent},
                  {in->encoded, &out->input.encoded, &out->encoded},
                  {in->truth, &out->input.truth, &out->truth},
                  {in->energy, &out->input.energy, &out->energy},
                  {in->action, &out->input.action, &out->action}};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) {
        if (!arrays[a].from) continue;
        if (array_copy_steps(arrays[a].copy, mem, arrays[a].from, out->before,
                             arrays[a].from->shape[1] - out->before - out->after))
            return PLUMB_EMEMORY;
        *arrays[a].to = arrays[a].copy;
    }
    return PLUMB_OK;
}

plumb_status dynamics_replace_angles(plumb_array *out, arena *mem, const plumb_array *truth,
                                     const bool *angles)
{
    *out = *truth;
    if (!angles || truth->ndim != 3) return PLUMB_OK;
    const int64_t rows = truth->shape[0] * truth->shape[1], k = truth->shape[2];
    int64_t columns = k;
    for (int64_t c = 0; c < k; c++) columns += angles[c];
    const int64_t shape[] = {truth->shape[0], truth->shape[1], columns};
    double *data = ARENA_ALLOC(mem, double, rows *columns), *to = data;
    if (!data) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < k; c++) {
            double x;
            plumb_array_to_double(&x, truth, i * k + c, 1);
            *to++ = angles[c] ? sin(x) : x;
            if (angles[c]) *to++ = cos(x);
        }
    *out = plumb_array_view(data, PLUMB_FLOAT64, 3, shape);
    return PLUMB_OK;
}

// Evenly in log.
static void space_penalties(double *out, int count, double low, double high)
{
    for (int i = 0; i < count; i++) out[i] = low * pow(high / low, (double)i / (count - 1));
}

// What the readouts of both kinds of features need.
typedef struct reading_run {
    arena *mem;
    const probe_data *data;
    probe_data other; // the same with the predicted latents
    const probe_split *split;
    const plumb_probe_options *opt;
    int64_t rows;
} reading_run;

// Predictions of one kind of features.
typedef struct reading {
    probe_readout readout;
    double *encoded, *rollout; // (rows, columns)
} reading;

static plumb_status run_reading(reading *out, reading_run *run, const probe_features *features,
                                const probe_features *other, const double *penalty, int penalties)
{
    const int64_t size = run->data->rows * run->data->columns;
    out->encoded = ARENA_ALLOC(run->mem, double, size);
    out->rollout = ARENA_ALLOC(run->mem, double, size);
    if (!out->encoded || !out->rollout) return PLUMB_EMEMORY;
    const probe_readout_input in = {.features = features,
                                    .split = run->split,
                                    .penalty = penalty,
                                    .penalties = penalties,
                                    .other = other,
                                    .predicted = out->encoded,
                                    .other_predicted = out->rollout,
                                    .share = 0.5};
    return probe_readout_run(&out->readout, run->mem, &in);
}

// Takes the kernels where they were better on the folds left out.
static void take_better(reading *best, const reading *kernel, const probe_data *data,
                        const probe_split *split)
{
    for (int64_t i = 0; i < data->trajectories; i++)
        for (int64_t c = 0; c < data->columns; c++) {
            const int64_t at = split->fold[i] * data->targets + data->column[c].target;
            if (!(kernel->readout.left_out_error[at] < best->readout.left_out_error[at])) continue;
            best->readout.sums[i * data->columns + c] = kernel->readout.sums[i * data->columns + c];
            for (int64_t t = 0; t < data->length[i]; t++) {
                const int64_t k = (data->start[i] + t) * data->columns + c;
                best->encoded[k] = kernel->encoded[k];
                best->rollout[k] = kernel->rollout[k];
            }
        }
}

static plumb_status read_out(reading *best, reading_run *run, bool nonlinear)
{
    double penalty[PENALTIES], kernel_penalty[KERNEL_PENALTIES];
    space_penalties(penalty, PENALTIES, 1e-8, 10.0);
    space_penalties(kernel_penalty, KERNEL_PENALTIES, 1e-10, 1e-2);
    probe_features linear, other, kernel, other_kernel;
    plumb_status st =
        probe_features_create(&linear, run->mem, run->data, PROBE_LATENT, 1, run->opt);
    if (st) return st;
    other = linear;
    other.data = &run->other;
    st = run_reading(best, run, &linear, &other, penalty, PENALTIES);
    if (st || !nonlinear) return st;
    st = probe_features_create_kernel(&kernel, run->mem, &linear, 1.0, run->opt);
    if (st) return st;
    other_kernel = kernel;
    other_kernel.data = &run->other;
    other_kernel.latents = &other;
    reading second;
    st = run_reading(&second, run, &kernel, &other_kernel, kernel_penalty, KERNEL_PENALTIES);
    if (!st) take_better(best, &second, run->data, run->split);
    return st;
}

static plumb_status set_scores(dynamics_states *out, arena *mem, const reading *best,
                               const probe_data *data)
{
    double *r2 = ARENA_ALLOC(mem, double, data->targets);
    if (!r2) return PLUMB_EMEMORY;
    probe_scores_r2(r2, data, &best->readout, 0);
    int64_t count = 0;
    out->r2_worst = (double)INFINITY;
    for (int64_t c = 0; c < data->columns; c++) {
        out->mean[c] = data->column[c].mean;
        if (data->column[c].constant) continue;
        out->deviation[c] = 1.0 / data->column[c].scale;
        out->r2 += r2[c];
        out->r2_worst = fmin(out->r2_worst, r2[c]);
        count++;
    }
    if (!count) return fail(PLUMB_ENUMERIC, "the truth never changes");
    out->r2 /= (double)count;
    return PLUMB_OK;
}

// Says what all of the measure will take, if it is long: the readouts, and the spectra.
static void log_cost(const probe_data *data, const plumb_dynamics_options *opt)
{
    enum { CENTRES = 256, SPECTRA = 5, LONGEST = 1024 };
    const double rows = (double)data->rows, d = (double)data->dims;
    const double longest = data->steps < LONGEST ? (double)data->steps : LONGEST;
    const int folds = (int)opt->folds;
    double flops = probe_readout_flops(rows, data->dims, data->columns, folds, PENALTIES);
    int64_t widest = data->dims;
    if (opt->nonlinear) {
        widest += CENTRES;
        flops += probe_readout_flops(rows, widest, data->columns, folds, KERNEL_PENALTIES) +
                 12.0 * rows * CENTRES * d;
    }
    int threads = opt->threads ? opt->threads : parallel_threads();
    const double bytes = probe_readout_bytes(&threads, widest, data->columns, folds);
    // The spectra use one thread, and each term takes two nanoseconds.
    const double spectra =
        1e-9 * SPECTRA * (double)(data->trajectories * data->columns) * longest * longest;
    cost_log(flops / COST_FLOPS / (double)threads + spectra,
             bytes + 8.0 * rows * (2.0 * d + 6.0 * (double)data->columns));
}

static bool is_finite(const plumb_array *array)
{
    double value;
    for (int64_t i = 0; i < plumb_array_count(array); i++) {
        plumb_array_to_double(&value, array, i, 1);
        if (!isfinite(value)) return false;
    }
    return true;
}

// How well the states can be read out of the rollouts. If that is better than out of the encoded
// latents, the two arrays may have been exchanged.
static plumb_status read_exchanged(dynamics_states *out, const reading_run *run)
{
    static const double good = 0.99;
    out->r2_exchanged = (double)NAN;
    if (out->r2 > good || !is_finite(run->other.latent)) return PLUMB_OK;
    reading_run exchanged = *run;
    exchanged.data = &run->other;
    double penalty[PENALTIES], *r2 = ARENA_ALLOC(run->mem, double, run->data->targets), sum = 0.0;
    if (!r2) return PLUMB_EMEMORY;
    space_penalties(penalty, PENALTIES, 1e-8, 10.0);
    probe_features linear;
    reading read;
    int64_t count = 0;
    plumb_status st =
        probe_features_create(&linear, run->mem, exchanged.data, PROBE_LATENT, 1, run->opt);
    if (!st) st = run_reading(&read, &exchanged, &linear, &linear, penalty, PENALTIES);
    if (st) return st == PLUMB_ENUMERIC ? PLUMB_OK : st;
    probe_scores_r2(r2, exchanged.data, &read.readout, 0);
    for (int64_t c = 0; c < run->data->columns; c++)
        if (!run->data->column[c].constant) sum += r2[c], count++;
    out->r2_exchanged = sum / (double)count;
    return PLUMB_OK;
}

plumb_status dynamics_states_read(dynamics_states *out, arena *mem, const plumb_dynamics_input *in,
                                  const plumb_dynamics_options *opt)
{
    plumb_status st = check_shapes(in, opt->context);
    if (st) return st;
    plumb_probe_options probe = plumb_probe_defaults();
    probe.controls = false;
    probe.folds = opt->folds;
    probe.seed = opt->seed;
    probe.threads = opt->threads;
    const plumb_probe_target target = {.name = "truth", .array = in->truth};
    const plumb_probe_input input = {
        .size = sizeof input, .latent = in->encoded, .targets = &target, .target_count = 1};
    probe_data data;
    plumb_probe_line *lines;
    st = probe_data_read(&data, &lines, mem, &input, &probe);
    if (st) return st;
    log_cost(&data, opt);
    probe_split split;
    int64_t *order;
    st = probe_split_deal(&split, &order, mem, data.trajectories, opt->folds, opt->seed);
    if (st) return st;
    reading_run run = {.mem = mem, .data = &data, .split = &split, .opt = &probe};
    run.other = data;
    run.other.latent = in->latent;
    reading best;
    st = read_out(&best, &run, opt->nonlinear);
    if (st) return st;
    const probe_column *angle = probe_find_wrapped_angle(&data);
    *out = (dynamics_states){.trajectories = data.trajectories,
                             .latents = data.dims,
                             .wrapped = angle && !in->angles ? angle->index : -1,
                             .steps = data.steps,
                             .context = opt->context,
                             .dims = data.columns,
                             .truth = array_as_doubles(mem, in->truth),
                             .encoded = best.encoded,
                             .rollout = best.rollout,
                             .mean = ARENA_ALLOC(mem, double, data.columns),
                             .deviation = ARENA_ALLOC(mem, double, data.columns)};
    if (!out->truth || !out->mean || !out->deviation) return PLUMB_EMEMORY;
    st = set_scores(out, mem, &best, &data);
    return st ? st : read_exchanged(out, &run);
}
