// SPDX-License-Identifier: MIT
// The measure of predicted states. First the sums of errors of every trajectory, in parallel. Every
// number, also of a bootstrap draw, is then made of those sums.
#include <math.h>
#include <string.h>

#include "base/argument.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/result.h"
#include "base/status.h"
#include "math/stats.h"
#include "measures/forecast/lyapunov.h"
#include "measures/forecast/state_samples.h"
#include "measures/forecast/states.h"

enum { BOOTSTRAP_STREAM = 0x73746174 };

// ---- options ----

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_state_forecast_options, member)
static const option_spec specs[] = {
    {MEMBER(context), .kind = OPTION_INT64, .low = 0, .high = 1e12,
     .help = "states: steps that the model was given, which are not scored"},
    {MEMBER(deviations), .kind = OPTION_DOUBLE, .low = 0, .high = 1e300,
     .help = "states: VPT ends at the first error above this many standard deviations"},
    {MEMBER(samples_axis), .kind = OPTION_INT64, .low = 0, .high = PLUMB_MAX_DIMS,
     .help = "states: the axis of the prediction that numbers samples, from 1; 0: none"},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 100000000,
     .help = "bootstrap draws for the 95 % intervals; 0: none"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of the bootstrap"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table state_forecast_option_table = {"state_forecast_options",
                                                  sizeof(plumb_state_forecast_options), specs};

void plumb_state_forecast_options_init(plumb_state_forecast_options *options, size_t size)
{
    const plumb_state_forecast_options defaults = {
        .size = sizeof defaults, .deviations = 0.5, .resamples = 2000, .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}

// ---- shapes ----

static plumb_status check_truth(const plumb_array *truth, int64_t context)
{
    char text[200];
    plumb_array_shape_string(text, sizeof text, truth);
    if (truth->ndim < 3)
        return fail(PLUMB_ESHAPE,
                    "truth has shape %s; it must be (trajectories, steps, columns), or with axes "
                    "of space between",
                    text);
    if (plumb_array_count(truth) == 0)
        return fail(PLUMB_ESHAPE, "truth has shape %s; it is empty", text);
    if (context >= truth->shape[1])
        return fail(PLUMB_EVALUE, "the option context is %lld; truth has %lld steps",
                    (long long)context, (long long)truth->shape[1]);
    return PLUMB_OK;
}

// The prediction has the shape of the truth, with one axis more if there are samples.
static plumb_status check_prediction(const plumb_array *prediction, const plumb_array *truth,
                                     int64_t axis)
{
    bool fits = prediction->ndim == truth->ndim + (axis > 0) && axis < prediction->ndim;
    for (int k = 0, j = 0; fits && k < prediction->ndim; k++) {
        if (axis && k == axis) fits = prediction->shape[k] > 0;
        else fits = prediction->shape[k] == truth->shape[j++];
    }
    if (fits) return PLUMB_OK;
    char text[200], other[200];
    return fail(PLUMB_ESHAPE, "prediction has shape %s, truth %s; they must be equal%s",
                plumb_array_shape_string(text, sizeof text, prediction),
                plumb_array_shape_string(other, sizeof other, truth),
                axis ? " but for the axis of samples" : ", or the option samples_axis must be set");
}

static plumb_status check_energy(const plumb_array *energy, const plumb_array *truth,
                                 const char *name)
{
    if (!energy) return PLUMB_OK;
    if (energy->ndim == 2 && energy->shape[0] == truth->shape[0] &&
        energy->shape[1] == truth->shape[1])
        return PLUMB_OK;
    char text[200];
    return fail(PLUMB_ESHAPE, "%s has shape %s; it must be (%lld, %lld)", name,
                plumb_array_shape_string(text, sizeof text, energy), (long long)truth->shape[0],
                (long long)truth->shape[1]);
}

// ---- deviations ----

// Mean, deviation and root mean square of each column of the scored truth.
static plumb_status measure_columns(state_table *t, arena *mem)
{
    t->mean = ARENA_ALLOC(mem, double, t->columns);
    t->deviation = ARENA_ALLOC(mem, double, t->columns);
    t->size = ARENA_ALLOC(mem, double, t->columns);
    if (!t->mean || !t->deviation || !t->size) return PLUMB_EMEMORY;
    const double count = (double)(t->trajectories * t->scored * t->space);
    bool varies = false;
    for (int64_t c = 0; c < t->columns; c++) {
        double sum = 0.0, square = 0.0, largest = 0.0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0; i < t->trajectories; i++)
                for (int64_t k = 0; k < t->scored * t->space; k++) {
                    const double x = state_table_truth(t, i, 0)[k * t->columns + c];
                    if (pass) {
                        square += (x - t->mean[c]) * (x - t->mean[c]);
                    } else {
                        if (!isfinite(x))
                            return fail(PLUMB_ENUMERIC,
                                        "truth has NaN or infinity in trajectory "
                                        "%lld, step %lld",
                                        (long long)i, (long long)(t->context + k / t->space));
                        sum += x;
                        largest = fmax(largest, fabs(x));
                        t->size[c] += x * x;
                        t->mean[c] = sum / count;
                    }
                }
        t->deviation[c] = sqrt(square / count);
        if (t->deviation[c] <= 1e-13 * largest) t->deviation[c] = 0.0;
        t->size[c] = sqrt(t->size[c] / count);
        varies = varies || t->deviation[c] > 0.0;
    }
    return varies ? PLUMB_OK : fail(PLUMB_ENUMERIC, "the truth never changes");
}

// ---- errors ----

// Adds the error of a step to the sums of its trajectory. Returns its square in deviations.
static double add_step(double *square, double *smape, const state_table *t, const double *p,
                       const double *x)
{
    double error = 0.0;
    int64_t counted = 0;
    for (int64_t k = 0; k < t->space; k++)
        for (int64_t c = 0; c < t->columns; c++) {
            const double y = p[k * t->columns + c], truth = x[k * t->columns + c];
            const double d = isfinite(y) ? y - truth : (double)INFINITY;
            const double size = fabs(y) + fabs(truth);
            square[c] += d * d;
            smape[c] += !isfinite(y) ? 200.0 : size > 0.0 ? 200.0 * fabs(d) / size : 0.0;
            if (t->deviation[c] <= 0.0) continue;
            error += d / t->deviation[c] * (d / t->deviation[c]);
            counted++;
        }
    return error / (double)counted;
}

static plumb_status measure_trajectory(void *context, int64_t i, int worker)
{
    const state_table *t = context;
    double *square = t->square + i * t->columns, *smape = t->smape + i * t->columns;
    double *mean = t->scratch + worker * t->width;
    for (int64_t s = 0; s < t->scored; s++) {
        const double *p = state_table_prediction(mean, t, i, s);
        t->errors[i * t->scored + s] =
            sqrt(add_step(square, smape, t, p, state_table_truth(t, i, s)));
    }
    return PLUMB_OK;
}

// Steps before the first error above the threshold.
static double count_valid(const double *error, int64_t steps, double threshold)
{
    int64_t t = 0;
    while (t < steps && error[t] <= threshold) t++;
    return (double)t;
}

// ---- numbers ----

// A number made of the sums of some trajectories, with the mean over columns.
typedef struct state_statistic {
    const state_table *t;
    const double *sum;     // (trajectories, columns)
    const double *divisor; // (columns) or NULL
    bool root;
} state_statistic;

// The number of one column; NaN where it is divided by 0.
static double compute_column(const state_statistic *s, const int64_t *index, int64_t count,
                             int64_t c)
{
    const double rows = (double)(count * s->t->scored * s->t->space);
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) sum += s->sum[index[i] * s->t->columns + c];
    const double value = s->root ? sqrt(sum / rows) : sum / rows;
    if (!s->divisor) return value;
    return s->divisor[c] > 0.0 ? value / s->divisor[c] : (double)NAN;
}

static double compute_statistic(const void *context, const int64_t *index, int64_t count)
{
    const state_statistic *s = context;
    double sum = 0.0;
    int64_t columns = 0;
    for (int64_t c = 0; c < s->t->columns; c++) {
        const double value = compute_column(s, index, count, c);
        if (isnan(value)) continue;
        sum += value;
        columns++;
    }
    return columns ? sum / (double)columns : (double)NAN;
}

// A value with its interval, and the values of the columns (may be NULL).
static plumb_status measure_value(plumb_state_forecast_value *out, const double **columns,
                                  arena *mem, const state_statistic *s, const state_draws *draws)
{
    out->value = compute_statistic(s, draws->all, s->t->trajectories);
    out->ci = (plumb_interval){(double)NAN, (double)NAN};
    if (columns) {
        double *each = ARENA_ALLOC(mem, double, s->t->columns);
        if (!each) return PLUMB_EMEMORY;
        for (int64_t c = 0; c < s->t->columns; c++)
            each[c] = compute_column(s, draws->all, s->t->trajectories, c);
        *columns = each;
    }
    if (!isfinite(out->value)) return PLUMB_OK;
    return stats_bootstrap(&out->ci, mem, &draws->options, compute_statistic, s);
}

static plumb_status measure_errors(plumb_state_forecast *out, arena *mem, const state_table *t,
                                   const state_draws *draws)
{
    const state_statistic mse = {t, t->square, NULL, false}, rmse = {t, t->square, NULL, true};
    const state_statistic nrmse = {t, t->square, t->size, true};
    const state_statistic vrmse = {t, t->square, t->deviation, true};
    const state_statistic smape = {t, t->smape, NULL, false};
    plumb_status st = measure_value(&out->mse, &out->column_mse, mem, &mse, draws);
    if (!st) st = measure_value(&out->rmse, NULL, mem, &rmse, draws);
    if (!st) st = measure_value(&out->nrmse, &out->column_nrmse, mem, &nrmse, draws);
    if (!st) st = measure_value(&out->vrmse, &out->column_vrmse, mem, &vrmse, draws);
    if (!st) st = measure_value(&out->smape, &out->column_smape, mem, &smape, draws);
    return st;
}

static plumb_status measure_times(plumb_state_forecast *out, arena *mem, const state_table *t,
                                  const state_draws *draws, double threshold)
{
    double *each = ARENA_ALLOC(mem, double, t->trajectories);
    double *sorted = ARENA_ALLOC(mem, double, t->trajectories);
    double *step = ARENA_ALLOC(mem, double, t->scored);
    if (!each || !sorted || !step) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < t->trajectories; i++) {
        const double *error = t->errors + i * t->scored;
        sorted[i] = each[i] = count_valid(error, t->scored, threshold);
        for (int64_t s = 0; s < t->scored; s++)
            step[s] += error[s] * error[s] / (double)t->trajectories;
        bool finite = true;
        for (int64_t s = 0; s < t->scored; s++) finite = finite && isfinite(error[s]);
        out->diverged += !finite;
    }
    for (int64_t s = 0; s < t->scored; s++) step[s] = sqrt(step[s]);
    out->vpt.value = stats_mean(each, t->trajectories);
    out->vpt_median = stats_median(sorted, t->trajectories);
    out->vpt_per_trajectory = each;
    out->step_vrmse = step;
    out->errors = t->errors;
    return stats_bootstrap_mean(&out->vpt.ci, mem, each, &draws->options);
}

// ---- what needs no model ----

typedef enum baseline_kind { BASELINE_LAST, BASELINE_LINEAR, BASELINE_MEAN } baseline_kind;

// The prediction of a baseline for number k of a step, `ahead` steps after the last known one.
static double predict_baseline(const state_table *t, baseline_kind kind, int64_t i, int64_t k,
                               int64_t s)
{
    if (kind == BASELINE_MEAN) return t->mean[k % t->columns];
    // Without a context the first state is known, and with it the second.
    const int64_t known = t->context ? t->context - 1 : kind == BASELINE_LINEAR ? 1 : 0;
    const double *all = t->truth + i * t->steps * t->width + k;
    const double last = all[known * t->width];
    if (kind == BASELINE_LAST) return last;
    const double slope = last - all[(known - 1) * t->width];
    return last + slope * (double)(t->context + s - known);
}

static void measure_baseline(plumb_state_forecast_baseline *out, const state_table *t,
                             baseline_kind kind, double threshold)
{
    *out = (plumb_state_forecast_baseline){(double)NAN, (double)NAN};
    if (kind == BASELINE_LINEAR && (t->context == 1 || t->steps < 2)) return;
    double vpt = 0.0, *square = t->column_scratch;
    memset(square, 0, (size_t)t->columns * sizeof *square);
    for (int64_t i = 0; i < t->trajectories; i++) {
        bool valid = true;
        for (int64_t s = 0; s < t->scored; s++) {
            const double *x = state_table_truth(t, i, s);
            double error = 0.0;
            int64_t counted = 0;
            for (int64_t k = 0; k < t->width; k++) {
                const int64_t c = k % t->columns;
                const double d = predict_baseline(t, kind, i, k, s) - x[k];
                square[c] += d * d;
                if (t->deviation[c] <= 0.0) continue;
                error += d / t->deviation[c] * (d / t->deviation[c]);
                counted++;
            }
            valid = valid && sqrt(error / (double)counted) <= threshold;
            vpt += valid;
        }
    }
    double sum = 0.0;
    int64_t columns = 0;
    for (int64_t c = 0; c < t->columns; c++) {
        if (t->deviation[c] <= 0.0) continue;
        const double rows = (double)(t->trajectories * t->scored * t->space);
        sum += sqrt(square[c] / rows) / t->deviation[c];
        columns++;
    }
    out->vrmse = sum / (double)columns;
    out->vpt = vpt / (double)t->trajectories;
}

// ---- energy and chaos ----

// Mean over trajectories of the largest change since the first step, / `deviation`.
static double measure_drift(const double *energy, const state_table *t, double deviation)
{
    double sum = 0.0;
    for (int64_t i = 0; i < t->trajectories; i++) {
        double largest = 0.0;
        const double *e = energy + i * t->steps;
        for (int64_t s = 0; s < t->steps; s++) {
            const double change = fabs(e[s] - e[0]);
            largest = isfinite(change) ? fmax(largest, change) : (double)INFINITY;
        }
        sum += largest / deviation;
    }
    return sum / (double)t->trajectories;
}

static plumb_status measure_energy(plumb_state_forecast *out, arena *mem, const state_table *t,
                                   const plumb_state_forecast_input *in)
{
    out->energy_drift = out->energy_drift_truth = (double)NAN;
    if (!in->energy || !in->prediction_energy) return PLUMB_OK;
    const double *truth = array_as_doubles(mem, in->energy);
    const double *prediction = array_as_doubles(mem, in->prediction_energy);
    if (!truth || !prediction) return PLUMB_EMEMORY;
    const int64_t count = t->trajectories * t->steps;
    const double mean = stats_mean(truth, count);
    double square = 0.0;
    for (int64_t i = 0; i < count; i++) square += (truth[i] - mean) * (truth[i] - mean);
    double deviation = sqrt(square / (double)count);
    if (!isfinite(deviation)) return fail(PLUMB_ENUMERIC, "energy has NaN or infinity");
    // All trajectories have one energy: in its own size.
    if (deviation <= 1e-9 * fabs(mean)) deviation = fabs(mean);
    if (!(deviation > 0.0)) return PLUMB_OK;
    out->energy_drift = measure_drift(prediction, t, deviation);
    out->energy_drift_truth = measure_drift(truth, t, deviation);
    return PLUMB_OK;
}

// The exponent of true states; fields have too many numbers for it.
static plumb_status measure_lyapunov(plumb_lyapunov *out, arena *mem, const plumb_array *truth)
{
    const double nan = (double)NAN;
    *out = (plumb_lyapunov){.exponent = nan, .ci = {nan, nan}};
    if (truth->ndim != 3) return PLUMB_OK;
    const plumb_status st = lyapunov_estimate(out, truth);
    if (st != PLUMB_ESHAPE && st != PLUMB_ENUMERIC) return st;
    *out = (plumb_lyapunov){.exponent = nan, .ci = {nan, nan}};
    out->why = arena_strdup(mem, plumb_last_error());
    return out->why ? PLUMB_OK : PLUMB_EMEMORY;
}

// ---- all of it ----

static plumb_status fill_table(state_table *t, arena *mem, const plumb_state_forecast_input *in,
                               const plumb_state_forecast_options *opt)
{
    const plumb_array *truth = in->truth;
    const int threads = opt->threads ? opt->threads : parallel_threads();
    *t = (state_table){.trajectories = truth->shape[0],
                       .steps = truth->shape[1],
                       .context = opt->context,
                       .scored = truth->shape[1] - opt->context,
                       .columns = truth->shape[truth->ndim - 1],
                       .space = 1,
                       .samples = 1,
                       .inner = 1,
                       .threads = threads};
    for (int k = 2; k + 1 < truth->ndim; k++) t->space *= truth->shape[k];
    t->width = t->space * t->columns;
    if (opt->samples_axis) {
        t->samples = in->prediction->shape[opt->samples_axis];
        for (int64_t k = opt->samples_axis + 1; k < in->prediction->ndim; k++)
            t->inner *= in->prediction->shape[k];
    }
    t->truth = array_as_doubles(mem, truth);
    t->prediction = array_as_doubles(mem, in->prediction);
    t->square = ARENA_ALLOC(mem, double, t->trajectories * t->columns);
    t->smape = ARENA_ALLOC(mem, double, t->trajectories * t->columns);
    t->errors = ARENA_ALLOC(mem, double, t->trajectories * t->scored);
    t->scratch = ARENA_ALLOC(mem, double, threads * t->width);
    t->column_scratch = ARENA_ALLOC(mem, double, t->columns);
    const bool complete = t->truth && t->prediction && t->square && t->smape && t->errors &&
                          t->scratch && t->column_scratch;
    if (!complete) return PLUMB_EMEMORY;
    return measure_columns(t, mem);
}

static plumb_status measure_all(plumb_state_forecast *out, arena *mem,
                                const plumb_state_forecast_input *in,
                                const plumb_state_forecast_options *opt)
{
    plumb_status st = check_truth(in->truth, opt->context);
    if (!st) st = check_prediction(in->prediction, in->truth, opt->samples_axis);
    if (!st) st = check_energy(in->energy, in->truth, "energy");
    if (!st) st = check_energy(in->prediction_energy, in->truth, "prediction_energy");
    state_table t;
    if (!st) st = fill_table(&t, mem, in, opt);
    if (st) return st;
    state_draws draws = {.all = ARENA_ALLOC(mem, int64_t, t.trajectories),
                         .options = {t.trajectories, opt->resamples, opt->seed, BOOTSTRAP_STREAM}};
    if (!draws.all) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < t.trajectories; i++) draws.all[i] = i;
    st = parallel_for_progress(t.trajectories, t.threads, measure_trajectory, &t, 0.0, 0.5);
    bool finite = false;
    for (int64_t i = 0; i < t.trajectories * t.scored; i++)
        finite = finite || isfinite(t.errors[i]);
    if (!st && !finite)
        st =
            fail(PLUMB_ENUMERIC, "prediction is NaN or infinite in every step of every trajectory");
    if (!st) st = measure_errors(out, mem, &t, &draws);
    if (!st) st = measure_times(out, mem, &t, &draws, opt->deviations);
    if (!st) st = measure_energy(out, mem, &t, in);
    if (!st) st = measure_lyapunov(&out->lyapunov, mem, in->truth);
    if (!st) st = state_samples_measure(&out->crps, &out->energy_score, mem, &t);
    if (st) return st;
    measure_baseline(&out->last, &t, BASELINE_LAST, opt->deviations);
    measure_baseline(&out->linear, &t, BASELINE_LINEAR, opt->deviations);
    measure_baseline(&out->mean, &t, BASELINE_MEAN, opt->deviations);
    out->samples = opt->samples_axis ? t.samples : 0;
    out->trajectories = t.trajectories;
    out->steps = t.steps;
    out->scored = t.scored;
    out->space = t.space;
    out->columns = t.columns;
    hash_arrays(
        out->input_hash,
        (const plumb_array *[]){in->truth, in->prediction, in->energy, in->prediction_energy}, 4);
    return PLUMB_OK;
}

plumb_status plumb_state_forecast_measure(plumb_state_forecast *out,
                                          const plumb_state_forecast_input *input,
                                          const plumb_state_forecast_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(input);
    const double start = clock_now();
    plumb_state_forecast_options opt = plumb_state_forecast_defaults();
    plumb_state_forecast_input in = {.size = sizeof in};
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_state_forecast_options");
    if (!st) st = options_resolve(&in, sizeof in, input, "plumb_state_forecast_input");
    if (!st) st = options_check_ranges(&state_forecast_option_table, &opt);
    if (st) return st;
    if (!in.truth || !in.prediction)
        return fail(PLUMB_EVALUE, "plumb_state_forecast_measure: %s is NULL",
                    in.truth ? "prediction" : "truth");
    plumb_state_forecast result = {0};
    arena *mem = result_begin(&result.memory);
    st = mem ? measure_all(&result, mem, &in, &opt) : PLUMB_EMEMORY;
    st = result_end(st, &result.memory);
    if (st) return st;
    result.seconds = clock_now() - start;
    *out = result;
    return PLUMB_OK;
}

void plumb_state_forecast_clear(plumb_state_forecast *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
