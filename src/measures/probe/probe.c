// SPDX-License-Identifier: MIT
// The measure: divides the trajectories, runs one readout after the other, and puts their scores
// into lines.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/cost.h"
#include "base/hash.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/result.h"
#include "base/status.h"
#include "base/text.h"
#include "measures/probe/hint.h"
#include "measures/probe/options.h"
#include "measures/probe/scores.h"
#include "measures/probe/split.h"

enum { MAX_NONLINEAR_ROWS = 65536, MAX_WIDE = 1024 };

// What all readouts share.
typedef struct probe_run {
    const plumb_probe_options *opt;
    arena *mem;
    probe_data data;
    plumb_probe_line *line;   // (targets, then groups)
    plumb_probe_score *score; // likewise, scratch
    double *r2;               // (targets) scratch
    probe_groups groups;
    probe_split split;
    int64_t *order; // (trajectories) random
    double *penalty, *kernel_penalty;
    int64_t kernel_penalties;
    double progress, share; // of the next readout
} probe_run;

// ---- preparation ----

// `count` penalties from low to high, evenly in log.
static double *space_penalties(arena *mem, int64_t count, double low, double high)
{
    double *out = ARENA_ALLOC(mem, double, count);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = count > 1 ? low * pow(high / low, (double)i / (double)(count - 1)) : low;
    return out;
}

// Arrays of more than one target are groups.
static plumb_status find_groups(probe_run *run, plumb_probe *result)
{
    const int64_t targets = run->data.targets;
    int64_t *group_of = ARENA_ALLOC(run->mem, int64_t, targets);
    plumb_probe_line *all = ARENA_ALLOC(run->mem, plumb_probe_line, 2 * targets);
    if (!group_of || !all) return PLUMB_EMEMORY;
    memcpy(all, run->line, (size_t)targets * sizeof *all);
    for (int64_t t = 0, next; t < targets; t = next) {
        next = t;
        while (next < targets && all[next].group == all[t].group) next++;
        for (int64_t k = t; k < next; k++) group_of[k] = next - t > 1 ? run->groups.count : -1;
        if (next - t < 2) continue;
        plumb_probe_line *group = &all[targets + run->groups.count++];
        *group = (plumb_probe_line){.name = all[t].group, .group = all[t].group, .constant = true};
        for (int64_t k = t; k < next; k++) group->constant = group->constant && all[k].constant;
    }
    run->groups.group_of = group_of;
    run->line = all;
    result->line = all;
    result->count = targets;
    result->group = all + targets;
    result->group_count = run->groups.count;
    return PLUMB_OK;
}

// All scores of all lines are NaN until they are measured.
static void clear_lines(probe_run *run)
{
    const double nan = (double)NAN;
    const plumb_interval none = {nan, nan};
    const plumb_probe_score empty = {nan, none, nan, none, nan, none, nan};
    for (int64_t i = 0; i < run->data.targets + run->groups.count; i++) {
        plumb_probe_line *line = &run->line[i];
        line->linear = line->nonlinear = line->ood = empty;
        line->shuffled = line->shuffled_max = nan;
        line->nonlinear_shuffled = line->nonlinear_shuffled_max = nan;
        for (int k = 0; k < PLUMB_PROBE_FRACTIONS; k++) line->fractions[k] = nan;
        line->past = line->projection = line->pixels = line->action = nan;
    }
}

static plumb_status prepare_run(probe_run *run, plumb_probe *result, const plumb_probe_input *in)
{
    const plumb_probe_options *opt = run->opt;
    plumb_status st = probe_data_read(&run->data, &run->line, run->mem, in, opt);
    if (!st) st = find_groups(run, result);
    if (!st)
        st = probe_split_deal(&run->split, &run->order, run->mem, run->data.trajectories,
                              opt->folds, opt->seed);
    if (st) return st;
    clear_lines(run);
    run->score = ARENA_ALLOC(run->mem, plumb_probe_score, run->data.targets + run->groups.count);
    run->r2 = ARENA_ALLOC(run->mem, double, run->data.targets);
    // Kernels are nearly dependent, so their penalties are smaller; half as many are enough.
    run->kernel_penalties = (opt->penalties + 1) / 2;
    run->penalty = space_penalties(run->mem, opt->penalties, opt->penalty_low, opt->penalty_high);
    run->kernel_penalty = space_penalties(run->mem, run->kernel_penalties, 1e-2 * opt->penalty_low,
                                          1e-3 * opt->penalty_high);
    const bool complete = run->score && run->r2 && run->penalty && run->kernel_penalty;
    return complete ? PLUMB_OK : PLUMB_EMEMORY;
}

// ---- readouts ----

static plumb_status run_readout(probe_readout *out, probe_run *run, const probe_features *features,
                                const probe_split *split, int64_t shuffles)
{
    const bool kernel = features->kind == PROBE_KERNEL;
    const probe_readout_input in = {.features = features,
                                    .split = split,
                                    .shuffles = shuffles,
                                    .penalty = kernel ? run->kernel_penalty : run->penalty,
                                    .penalties =
                                        kernel ? run->kernel_penalties : run->opt->penalties,
                                    .progress = run->progress,
                                    .share = run->share};
    run->progress += run->share;
    return probe_readout_run(out, run->mem, &in);
}

// Copies the scores of all lines to the member at `offset`.
static plumb_status put_scores(probe_run *run, const probe_readout *readout, size_t offset)
{
    const plumb_status st =
        probe_scores_compute(run->score, run->mem, &run->data, readout, &run->groups, run->opt);
    for (int64_t i = 0; !st && i < run->data.targets + run->groups.count; i++)
        memcpy((char *)&run->line[i] + offset, &run->score[i], sizeof *run->score);
    return st;
}

// The mean of a control over the targets of each group, to the member at `offset`.
static void average_groups(probe_run *run, size_t offset)
{
    for (int64_t g = 0; g < run->groups.count; g++) {
        double sum = 0.0;
        int64_t count = 0;
        for (int64_t t = 0; t < run->data.targets; t++) {
            double value;
            memcpy(&value, (char *)&run->line[t] + offset, sizeof value);
            if (run->groups.group_of[t] != g || isnan(value)) continue;
            sum += value;
            count++;
        }
        const double mean = count ? sum / (double)count : (double)NAN;
        memcpy((char *)&run->line[run->data.targets + g] + offset, &mean, sizeof mean);
    }
}

// R2 of a control, to the member at `offset`.
static void put_control(probe_run *run, const probe_readout *readout, size_t offset)
{
    probe_scores_r2(run->r2, &run->data, readout, 0);
    for (int64_t t = 0; t < run->data.targets; t++)
        memcpy((char *)&run->line[t] + offset, &run->r2[t], sizeof *run->r2);
    average_groups(run, offset);
}

// Mean and largest R2 of the shuffles, to two members.
static void put_shuffles(probe_run *run, const probe_readout *readout, size_t mean, size_t largest)
{
    const int64_t shuffles = run->data.shuffles;
    if (!shuffles) return;
    for (int64_t t = 0; t < run->data.targets; t++) {
        const double none = (double)NAN;
        memcpy((char *)&run->line[t] + mean, &none, sizeof none);
        memcpy((char *)&run->line[t] + largest, &none, sizeof none);
    }
    for (int64_t s = 0; s < shuffles; s++) {
        probe_scores_r2(run->r2, &run->data, readout, s + 1);
        for (int64_t t = 0; t < run->data.targets; t++) {
            double sum, most;
            memcpy(&sum, (char *)&run->line[t] + mean, sizeof sum);
            memcpy(&most, (char *)&run->line[t] + largest, sizeof most);
            sum = (s ? sum : 0.0) + run->r2[t] / (double)shuffles;
            most = fmax(most, run->r2[t]);
            memcpy((char *)&run->line[t] + mean, &sum, sizeof sum);
            memcpy((char *)&run->line[t] + largest, &most, sizeof most);
        }
    }
    average_groups(run, mean);
    average_groups(run, largest);
}

// A control from other features.
static plumb_status run_control(probe_run *run, probe_features_kind kind, size_t offset)
{
    const arena_mark mark = arena_get_mark(run->mem);
    probe_features features;
    probe_readout readout;
    plumb_status st = probe_features_create(&features, run->mem, &run->data, kind, 1, run->opt);
    if (!st) st = run_readout(&readout, run, &features, &run->split, 0);
    if (!st) put_control(run, &readout, offset);
    arena_rewind(run->mem, mark);
    return st;
}

// Fits to the first 1/8, 1/4 or 1/2 of each fold.
static plumb_status run_fraction(probe_run *run, plumb_probe *result,
                                 const probe_features *features, int which)
{
    static const int parts[PLUMB_PROBE_FRACTIONS] = {8, 4, 2};
    const int64_t n = run->data.trajectories, folds = run->split.folds;
    const arena_mark mark = arena_get_mark(run->mem);
    bool *fitted = ARENA_ALLOC(run->mem, bool, n);
    if (!fitted) return PLUMB_EMEMORY;
    int64_t total = 0;
    for (int64_t k = 0; k < n; k++) {
        // Trajectory order[k] is number k / folds of fold k % folds.
        const int64_t size = (n - k % folds + folds - 1) / folds;
        const int64_t most = (size + parts[which] - 1) / parts[which];
        fitted[run->order[k]] = k / folds < most;
        total += k / folds < most;
    }
    const int64_t used = total - total / folds;
    result->fitted[which] = used;
    probe_split split = run->split;
    split.fitted = fitted;
    probe_readout readout;
    plumb_status st = PLUMB_OK;
    const double share = run->share;
    run->share *= 0.5;
    // Folds of one or two trajectories have no smaller share.
    if (total < n) st = run_readout(&readout, run, features, &split, 0);
    if (!st && total < n)
        put_control(run, &readout,
                    offsetof(plumb_probe_line, fractions) + (size_t)which * sizeof(double));
    run->share = share;
    arena_rewind(run->mem, mark);
    return st;
}

// ---- the non-linear probe ----

// For each fold and target, shuffles included, takes the sums of `other` if its error on the folds
// left out is smaller.
static void take_better(probe_readout *best, const probe_readout *other, const probe_data *data)
{
    for (int f = 0; f < best->split->folds; f++)
        for (int64_t c = 0; c < best->columns; c++) {
            const int64_t block = c / data->columns, column = c % data->columns;
            const int64_t target = block * data->targets + data->column[column].target;
            const int64_t at = f * best->targets + target;
            if (!(other->left_out_error[at] < best->left_out_error[at])) continue;
            for (int64_t i = 0; i < data->trajectories; i++)
                if (best->split->fold[i] == f)
                    best->sums[i * best->columns + c] = other->sums[i * best->columns + c];
        }
    for (int64_t at = 0; at < best->split->folds * best->targets; at++)
        if (other->left_out_error[at] < best->left_out_error[at]) {
            best->left_out_error[at] = other->left_out_error[at];
            best->penalty[at] = other->penalty[at];
        }
}

// Starts from the linear readout and takes kernels of three widths where they are better.
static plumb_status run_nonlinear(probe_run *run, plumb_probe *result, probe_readout *linear)
{
    const int64_t stride = (run->data.rows + MAX_NONLINEAR_ROWS - 1) / MAX_NONLINEAR_ROWS;
    const double scales[] = {1.0, 0.5, 2.0};
    // Kernels of many latents differ little between widths.
    const int count = run->data.dims > MAX_WIDE ? 1 : 3;
    probe_features latents;
    plumb_status st =
        probe_features_create(&latents, run->mem, &run->data, PROBE_LATENT, stride, run->opt);
    for (int k = 0; !st && k < count; k++) {
        const arena_mark mark = arena_get_mark(run->mem);
        probe_features features;
        probe_readout readout;
        st = probe_features_create_kernel(&features, run->mem, &latents, scales[k], run->opt);
        if (!st) st = run_readout(&readout, run, &features, &run->split, run->data.shuffles);
        if (!st) take_better(linear, &readout, &run->data);
        arena_rewind(run->mem, mark);
    }
    if (st) return st;
    for (int64_t i = 0; i < run->data.trajectories; i++)
        result->nonlinear_rows += probe_features_row_count(&latents, i);
    put_shuffles(run, linear, offsetof(plumb_probe_line, nonlinear_shuffled),
                 offsetof(plumb_probe_line, nonlinear_shuffled_max));
    return put_scores(run, linear, offsetof(plumb_probe_line, nonlinear));
}

// ---- out of distribution ----

typedef struct ranked_trajectory {
    double value;
    int64_t index;
} ranked_trajectory;

static int compare_ranked(const void *a, const void *b)
{
    const ranked_trajectory *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

// The low half of the trajectories is fitted to, the high half is tested.
static plumb_status run_ood(probe_run *run, plumb_probe *result, const probe_features *features)
{
    const int64_t n = run->data.trajectories, low = n / 2;
    result->ood_limit = (double)NAN;
    if (!run->data.ood) return PLUMB_OK;
    if (low < 3)
        return fail(PLUMB_EVALUE, "ood needs six trajectories, three to fit to; there are %lld",
                    (long long)n);
    ranked_trajectory *ranked = ARENA_ALLOC(run->mem, ranked_trajectory, n);
    int *fold = ARENA_ALLOC(run->mem, int, n);
    bool *is_low = ARENA_ALLOC(run->mem, bool, n);
    if (!ranked || !fold || !is_low) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) ranked[i] = (ranked_trajectory){run->data.ood[i], i};
    qsort(ranked, (size_t)n, sizeof *ranked, compare_ranked);
    if (!(ranked[0].value < ranked[n - 1].value))
        return fail(PLUMB_EVALUE, "ood is the same in all trajectories");
    result->ood_fitted = low;
    result->ood_tested = n - low;
    result->ood_limit = 0.5 * (ranked[low - 1].value + ranked[low].value);
    probe_split split = {.folds = (int)(run->opt->folds < low ? run->opt->folds : low),
                         .fold = fold};
    for (int64_t k = 0; k < low; k++) is_low[ranked[k].index] = true;
    int64_t dealt = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = run->order[k];
        fold[i] = is_low[i] ? (int)(dealt++ % split.folds) : split.folds;
    }
    split.tested[split.folds++] = true;
    probe_readout readout;
    const plumb_status st = run_readout(&readout, run, features, &split, 0);
    return st ? st : put_scores(run, &readout, offsetof(plumb_probe_line, ood));
}

// ---- all of it ----

// The lower end of the interval of R2 is above 0 and above every shuffle. Without an interval R2
// itself decides.
static bool is_found(const plumb_probe_score *score, double shuffled_max)
{
    const double low = isnan(score->r2_ci.low) ? score->r2 : score->r2_ci.low;
    return low > 0.0 && !(low <= shuffled_max);
}

static void decide_lines(probe_run *run, plumb_probe *result)
{
    double linear = 0.0, nonlinear = 0.0;
    int64_t count = 0;
    for (int64_t i = 0; i < run->data.targets + run->groups.count; i++) {
        plumb_probe_line *line = &run->line[i];
        if (is_found(&line->linear, line->shuffled_max)) line->found = PLUMB_PROBE_FOUND_LINEAR;
        else if (is_found(&line->nonlinear, line->nonlinear_shuffled_max))
            line->found = PLUMB_PROBE_FOUND_NONLINEAR;
        if (i >= run->data.targets || line->constant) continue;
        linear += line->linear.r2;
        nonlinear += line->nonlinear.r2;
        count++;
    }
    result->r2 = count ? linear / (double)count : (double)NAN;
    result->r2_nonlinear = count ? nonlinear / (double)count : (double)NAN;
}

static plumb_status run_controls(probe_run *run)
{
    plumb_status st = run_control(run, PROBE_PAST, offsetof(plumb_probe_line, past));
    if (!st && run->data.frames)
        st = run_control(run, PROBE_PROJECTION, offsetof(plumb_probe_line, projection));
    if (!st && run->data.frames)
        st = run_control(run, PROBE_PIXELS, offsetof(plumb_probe_line, pixels));
    if (!st && run->data.action)
        st = run_control(run, PROBE_ACTION, offsetof(plumb_probe_line, action));
    return st;
}

// How many readouts there are, for the progress: the one that is measured here has share 1 / this.
static double count_readouts(const probe_run *run)
{
    const plumb_probe_options *opt = run->opt;
    double count = 1.0 + (opt->nonlinear ? 3.0 : 0.0) + (run->data.ood ? 1.0 : 0.0);
    if (opt->controls)
        count += 2.5 + (run->data.frames ? 2.0 : 0.0) + (run->data.action ? 1.0 : 0.0);
    return count;
}

// A target with more columns than there are latents, all of which follow from them.
static const plumb_probe_line *find_exchanged(const probe_run *run)
{
    static const double follows = 0.95;
    for (int64_t g = 0; g < run->groups.count; g++) {
        const plumb_probe_line *group = &run->line[run->data.targets + g];
        int64_t columns = 0;
        double least = 1.0;
        for (int64_t i = 0; i < run->data.targets; i++) {
            if (run->line[i].group != group->group) continue;
            columns++;
            least = fmin(least, run->line[i].constant ? 1.0 : run->line[i].linear.r2);
        }
        if (columns > run->data.dims && least > follows) return group;
    }
    return NULL;
}

static plumb_status find_hint(plumb_probe *result, arena *mem, const probe_run *run)
{
    char text[300] = "";
    const probe_column *angle = probe_find_wrapped_angle(&run->data);
    const plumb_probe_line *group = find_exchanged(run);
    if (group)
        text_format(text, sizeof text,
                    "%s has more columns than there are latents, and all follow from them: were "
                    "latents and %s exchanged?",
                    group->name, group->name);
    else if (angle)
        text_format(text, sizeof text,
                    "%s jumps by a turn: is it an angle? (option angle, which reads out its sine "
                    "and cosine)",
                    run->line[angle->target].name);
    if (!*text) return PLUMB_OK;
    result->hint = arena_strdup(mem, text);
    return result->hint ? PLUMB_OK : PLUMB_EMEMORY;
}

// Bytes of an array of the input.
static double array_bytes(const plumb_array *array)
{
    return array ? (double)plumb_array_count(array) * (double)plumb_dtype_size(array->dtype) : 0.0;
}

// Says what all readouts will take, if it is long.
static void log_cost(const probe_run *run, const plumb_probe_input *in)
{
    enum { MAX_PIXELS = 1024 };
    const plumb_probe_options *opt = run->opt;
    const probe_data *data = &run->data;
    const int folds = run->split.folds;
    const double rows = (double)data->rows;
    const int64_t columns = data->columns * (1 + data->shuffles);
    const double one = probe_readout_flops(rows, data->dims, columns, folds, opt->penalties);
    int64_t widest = data->dims;
    double flops = one;
    if (data->ood) flops += one;
    if (opt->controls) flops += 4.0 * one - 2.0 * rows * (double)data->dims * (double)data->dims;
    if (opt->controls && data->frames)
        flops += one + probe_readout_flops(rows, MAX_PIXELS, columns, folds, opt->penalties);
    if (opt->nonlinear) {
        const double used = rows < MAX_NONLINEAR_ROWS ? rows : MAX_NONLINEAR_ROWS;
        widest += opt->centres;
        flops += (data->dims > MAX_WIDE ? 1.0 : 3.0) *
                 (probe_readout_flops(used, widest, columns, folds, run->kernel_penalties) +
                  8.0 * used * (double)opt->centres * (double)data->dims);
    }
    int threads = data->threads ? data->threads : parallel_threads();
    const double bytes = probe_readout_bytes(&threads, widest, columns, folds);
    cost_log(flops / COST_FLOPS / (double)threads, bytes + 8.0 * rows * (double)data->columns +
                                                       array_bytes(in->latent) +
                                                       array_bytes(in->frames));
}

static plumb_status measure_all(plumb_probe *result, arena *mem, const plumb_probe_input *in,
                                const plumb_probe_options *opt)
{
    probe_run run = {.opt = opt, .mem = mem};
    plumb_status st = prepare_run(&run, result, in);
    if (st) return st;
    run.share = 1.0 / count_readouts(&run);
    log_cost(&run, in);
    probe_features latents;
    probe_readout linear;
    st = probe_features_create(&latents, mem, &run.data, PROBE_LATENT, 1, opt);
    if (!st) st = run_readout(&linear, &run, &latents, &run.split, run.data.shuffles);
    if (!st) st = put_scores(&run, &linear, offsetof(plumb_probe_line, linear));
    if (st) return st;
    put_shuffles(&run, &linear, offsetof(plumb_probe_line, shuffled),
                 offsetof(plumb_probe_line, shuffled_max));
    for (int k = 0; !st && opt->controls && k < PLUMB_PROBE_FRACTIONS; k++)
        st = run_fraction(&run, result, &latents, k);
    if (!st && opt->controls) st = run_controls(&run);
    if (!st) st = run_ood(&run, result, &latents);
    // Last, because it changes the linear readout.
    if (!st && opt->nonlinear) st = run_nonlinear(&run, result, &linear);
    if (st) return st;
    decide_lines(&run, result);
    st = find_hint(result, mem, &run);
    if (st) return st;
    result->trajectories = run.data.trajectories;
    result->steps = run.data.steps;
    result->dims = run.data.dims;
    result->rows = run.data.rows;
    result->folds = run.split.folds;
    int64_t *fold = ARENA_ALLOC(mem, int64_t, run.data.trajectories);
    if (!fold) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < run.data.trajectories; i++) fold[i] = run.split.fold[i];
    result->fold = fold;
    result->fitted[PLUMB_PROBE_FRACTIONS] =
        run.data.trajectories - run.data.trajectories / run.split.folds;
    return PLUMB_OK;
}

// Latents, lengths, frames, actions, ood, then all targets. Fails with PLUMB_EMEMORY.
static plumb_status hash_input(char out[33], arena *mem, const plumb_probe_input *in)
{
    const plumb_array **all = ARENA_ALLOC(mem, const plumb_array *, in->target_count + 6);
    if (!all) return PLUMB_EMEMORY;
    all[0] = in->latent;
    all[1] = in->lengths;
    all[2] = in->frames;
    all[3] = in->action;
    all[4] = in->ood;
    all[5] = in->offsets;
    for (int64_t i = 0; i < in->target_count; i++) all[6 + i] = in->targets[i].array;
    hash_arrays(out, all, (int)in->target_count + 6);
    return PLUMB_OK;
}

plumb_status plumb_probe_measure(plumb_probe *out, const plumb_probe_input *input,
                                 const plumb_probe_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(input);
    const double start = clock_now();
    plumb_probe_options opt = plumb_probe_defaults();
    plumb_probe_input in = {.size = sizeof in};
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_probe_options");
    if (!st) st = options_resolve(&in, sizeof in, input, "plumb_probe_input");
    if (!st) st = probe_options_check(&opt);
    if (st) return st;
    if (!in.latent) return fail(PLUMB_EVALUE, "plumb_probe_measure: latent is NULL");

    plumb_probe result = {0};
    arena *mem = result_begin(&result.memory);
    st = mem ? measure_all(&result, mem, &in, &opt) : PLUMB_EMEMORY;
    if (!st) st = hash_input(result.input_hash, mem, &in);
    st = result_end(st, &result.memory);
    if (st) return st;
    result.seconds = clock_now() - start;
    *out = result;
    return PLUMB_OK;
}

void plumb_probe_clear(plumb_probe *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
