// SPDX-License-Identifier: MIT
// Means, intervals and paired tests. Items are resampled and signs are changed alike for all pairs.
#include <math.h>
#include <stdlib.h>

#include "base/argument.h"
#include "base/options_struct.h"
#include "base/result.h"
#include "base/status.h"
#include "compare/options.h"
#include "math/rng.h"
#include "math/stats.h"

enum { BOOTSTRAP_STREAM = 0x636f6d70, FLIP_STREAM = 0x666c6970, EXACT_ITEMS = 16 };

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_compare_options, member)
static const option_spec specs[] = {
    {MEMBER(lower_is_better), .kind = OPTION_BOOL, .help = "lower scores are better, as of errors"},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 100000000,
     .help = "bootstrap draws for the 95 % intervals; 0: none"},
    {MEMBER(flips), .kind = OPTION_INT64, .low = 1, .high = 100000000,
     .help = "random changes of sign for p, with more than 16 items"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of bootstrap and signs"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table compare_option_table = {"compare_options", sizeof(plumb_compare_options), specs};

void plumb_compare_options_init(plumb_compare_options *options, size_t size)
{
    const plumb_compare_options defaults = {
        .size = sizeof defaults, .resamples = 2000, .flips = 10000, .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}

// ---- one model ----

// The mean over runs of each item, and the deviation over runs of their means.
static plumb_status average_runs(plumb_compare_model *out, double *mean, const plumb_compare *c,
                                 int64_t model)
{
    double sum = 0.0, square = 0.0;
    for (const compare_run *run = c->first; run; run = run->next) {
        if (run->model != model) continue;
        const double own_mean = stats_mean(run->scores, c->items);
        sum += own_mean;
        square += own_mean * own_mean;
        out->runs++;
        for (int64_t i = 0; i < c->items; i++) mean[i] += run->scores[i];
    }
    const double runs = (double)out->runs;
    for (int64_t i = 0; i < c->items; i++) mean[i] /= runs;
    out->mean = sum / runs;
    out->deviation =
        out->runs > 1 ? sqrt(fmax(0.0, (square - sum * sum / runs) / (runs - 1.0))) : (double)NAN;
    return PLUMB_OK;
}

// ---- two models ----

// Whether a sum with some signs is at least as far from 0; ties by rounding count.
static bool is_as_large(double sum, double observed)
{
    return fabs(sum) >= fabs(observed) * (1.0 - 1e-12);
}

// p of all changes of sign, or of random ones.
static double flip_signs(const double *difference, int64_t n, const plumb_compare_options *opt)
{
    double observed = 0.0;
    for (int64_t i = 0; i < n; i++) observed += difference[i];
    if (n <= EXACT_ITEMS) {
        int64_t count = 0;
        for (int64_t signs = 0; signs < INT64_C(1) << n; signs++) {
            double sum = 0.0;
            for (int64_t i = 0; i < n; i++) sum += signs >> i & 1 ? -difference[i] : difference[i];
            count += is_as_large(sum, observed);
        }
        return (double)count / (double)(INT64_C(1) << n);
    }
    int64_t count = 1; // the observed one
    rng random = rng_at(opt->seed, FLIP_STREAM);
    for (int64_t k = 0; k < opt->flips; k++) {
        double sum = 0.0;
        uint64_t bits = 0;
        for (int64_t i = 0; i < n; i++, bits >>= 1) {
            if (i % 64 == 0) bits = rng_bits(&random);
            sum += bits & 1 ? -difference[i] : difference[i];
        }
        count += is_as_large(sum, observed);
    }
    return (double)count / (double)(opt->flips + 1);
}

static plumb_status compare_pair(plumb_compare_pair *out, arena *mem, const double *a,
                                 const double *b, int64_t n, const plumb_compare_options *opt)
{
    double *difference = ARENA_ALLOC(mem, double, n);
    if (!difference) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) {
        difference[i] = a[i] - b[i];
        out->wins += opt->lower_is_better ? difference[i] < 0.0 : difference[i] > 0.0;
        out->ties += difference[i] == 0.0;
    }
    out->difference = stats_mean(difference, n);
    out->p = flip_signs(difference, n, opt);
    const bootstrap_options draws = {n, opt->resamples, opt->seed, BOOTSTRAP_STREAM};
    return stats_bootstrap_mean(&out->difference_ci, mem, difference, &draws);
}

static int compare_p(const void *a, const void *b)
{
    const double x = (*(plumb_compare_pair *const *)a)->p, y = (*(plumb_compare_pair *const *)b)->p;
    return (x > y) - (x < y);
}

// The smallest p times the number of pairs, the next times one less ... and never decreasing
// [Holm79].
static plumb_status adjust_pairs(plumb_compare_pair *pair, arena *mem, int64_t count)
{
    plumb_compare_pair **sorted = ARENA_ALLOC(mem, plumb_compare_pair *, count);
    if (!sorted) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < count; i++) sorted[i] = &pair[i];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_p);
    double largest = 0.0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fmin(1.0, sorted[i]->p * (double)(count - i)));
        sorted[i]->p_adjusted = largest;
    }
    return PLUMB_OK;
}

// ---- all of it ----

static void rank_models(plumb_compare_model *model, int64_t count, bool lower)
{
    for (int64_t i = 0; i < count; i++) {
        model[i].rank = 1;
        for (int64_t k = 0; k < count; k++)
            model[i].rank += lower ? model[k].mean < model[i].mean : model[k].mean > model[i].mean;
    }
}

static plumb_status compare_all(plumb_compare_result *out, arena *mem, const plumb_compare *c,
                                const plumb_compare_options *opt)
{
    const int64_t n = c->items, models = c->models;
    plumb_compare_model *model = ARENA_ALLOC(mem, plumb_compare_model, models);
    plumb_compare_pair *pair = ARENA_ALLOC(mem, plumb_compare_pair, models * (models - 1) / 2);
    double *mean = ARENA_ALLOC(mem, double, models *n);
    if (!model || !pair || !mean) return PLUMB_EMEMORY;
    const bootstrap_options draws = {n, opt->resamples, opt->seed, BOOTSTRAP_STREAM};
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; !st && i < models; i++) {
        model[i].name = arena_strdup(mem, c->name[i]);
        st = model[i].name ? average_runs(&model[i], mean + i * n, c, i) : PLUMB_EMEMORY;
        if (!st) st = stats_bootstrap_mean(&model[i].ci, mem, mean + i * n, &draws);
    }
    for (int64_t i = 0; n > 1 && !st && i < models; i++)
        for (int64_t k = i + 1; !st && k < models; k++) {
            plumb_compare_pair *one = &pair[out->pairs++];
            one->first = i;
            one->second = k;
            st = compare_pair(one, mem, mean + i * n, mean + k * n, n, opt);
            if (!st) st = status_check_stop();
        }
    if (!st) st = adjust_pairs(pair, mem, out->pairs);
    rank_models(model, models, opt->lower_is_better);
    out->model = model;
    out->models = models;
    out->pair = pair;
    out->items = n;
    return st;
}

plumb_status plumb_compare_measure(plumb_compare_result *out, const plumb_compare *compare,
                                   const plumb_compare_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(compare);
    plumb_compare_options opt = plumb_compare_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_compare_options");
    if (!st) st = options_check_ranges(&compare_option_table, &opt);
    if (st) return st;
    if (compare->models < 2)
        return fail(PLUMB_EVALUE, "there is %lld model to compare; two are needed",
                    (long long)compare->models);
    plumb_compare_result result = {0};
    arena *mem = result_begin(&result.memory);
    st = mem ? compare_all(&result, mem, compare, &opt) : PLUMB_EMEMORY;
    st = result_end(st, &result.memory);
    if (!st) *out = result;
    return st;
}

void plumb_compare_result_clear(plumb_compare_result *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}

void plumb_compare_record(plumb_record *record, const plumb_compare_result *result,
                          const plumb_compare_options *options)
{
    if (!record || !result) return;
    plumb_compare_options opt = plumb_compare_defaults();
    if (options_resolve(&opt, sizeof opt, options, "plumb_compare_options")) return;
    plumb_record_begin_array(record, "models");
    for (int64_t i = 0; i < result->models; i++) {
        const plumb_compare_model *model = &result->model[i];
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "name", model->name);
        plumb_record_set_int(record, "rank", model->rank);
        plumb_record_set_double(record, "mean", model->mean);
        plumb_record_set_interval(record, "mean_ci", model->ci);
        plumb_record_set_int(record, "runs", model->runs);
        plumb_record_set_double(record, "deviation", model->deviation);
        plumb_record_end(record);
    }
    plumb_record_end(record);
    plumb_record_begin_array(record, "pairs");
    for (int64_t i = 0; i < result->pairs; i++) {
        const plumb_compare_pair *pair = &result->pair[i];
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "first", result->model[pair->first].name);
        plumb_record_set_string(record, "second", result->model[pair->second].name);
        plumb_record_set_double(record, "difference", pair->difference);
        plumb_record_set_interval(record, "difference_ci", pair->difference_ci);
        plumb_record_set_double(record, "p", pair->p);
        plumb_record_set_double(record, "p_adjusted", pair->p_adjusted);
        plumb_record_set_int(record, "wins", pair->wins);
        plumb_record_set_int(record, "ties", pair->ties);
        plumb_record_end(record);
    }
    plumb_record_end(record);
    plumb_record_set_int(record, "items", result->items);
    plumb_record_set_bool(record, "lower_is_better", opt.lower_is_better);
    plumb_record_set_int(record, "resamples", opt.resamples);
    plumb_record_set_int(record, "flips", opt.flips);
    plumb_record_set_int(record, "seed", (int64_t)opt.seed);
    plumb_record_set_int(record, "measure_version", PLUMB_COMPARE_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
}
