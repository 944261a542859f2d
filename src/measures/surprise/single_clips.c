// SPDX-License-Identifier: MIT
// Labelled clips that belong to no tuple. They are sorted once; a bootstrap draw is a weight per
// clip, so the area under the ROC curve of a draw is one pass.
#include <math.h>
#include <stdlib.h>

#include "base/argument.h"
#include "base/array.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "math/rng.h"
#include "math/stats.h"
#include "measures/surprise/options.h"
#include "plumb/surprise.h"

enum { BOOTSTRAP_STREAM = 0x706c6373, FOLDS = 5 };

typedef struct labelled_clip {
    double score;
    int64_t index;
    bool impossible;
} labelled_clip;

static int compare_clips(const void *a, const void *b)
{
    const labelled_clip *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

// P(impossible > possible) + P(equal) / 2. weight (count), NULL: 1. NaN if a kind is missing.
static double compute_auroc(const labelled_clip *clips, int64_t count, const double *weight)
{
    double below = 0.0, won = 0.0, impossible = 0.0;
    for (int64_t i = 0; i < count;) {
        double p = 0.0, n = 0.0;
        const double value = clips[i].score;
        for (; i < count && clips[i].score == value; i++) {
            const double w = weight ? weight[clips[i].index] : 1.0;
            if (clips[i].impossible) n += w;
            else p += w;
        }
        won += n * (below + 0.5 * p);
        below += p;
        impossible += n;
    }
    return below > 0.0 && impossible > 0.0 ? won / (below * impossible) : (double)NAN;
}

// Both kinds count alike: the weights of the two kinds are resampled apart.
static plumb_status bootstrap_auroc(plumb_interval *out, arena *mem, const labelled_clip *clips,
                                    int64_t count, const plumb_surprise_options *opt)
{
    double *weight = ARENA_ALLOC(mem, double, count), *times = ARENA_ALLOC(mem, double, count),
           *value = ARENA_ALLOC(mem, double, opt->resamples + 1);
    if (!weight || !times || !value) return PLUMB_EMEMORY;
    *out = (plumb_interval){(double)NAN, (double)NAN};
    if (opt->resamples < 1) return PLUMB_OK;
    rng random = rng_at(opt->seed, BOOTSTRAP_STREAM);
    for (int64_t d = 0; d < opt->resamples; d++) {
        for (int kind = 0; kind < 2; kind++) {
            int64_t n = 0, at = 0;
            for (int64_t i = 0; i < count; i++) n += clips[i].impossible == kind;
            rng_resample(times, &random, n);
            for (int64_t i = 0; i < count; i++)
                if (clips[i].impossible == kind) weight[clips[i].index] = times[at++];
        }
        value[d] = compute_auroc(clips, count, weight);
    }
    *out = stats_interval_95(value, opt->resamples);
    return PLUMB_OK;
}

// The threshold that is best, or that has the level, for clips outside `fold`. Both kinds count
// alike, however many there are.
static double choose_threshold(const labelled_clip *clips, int64_t count, int64_t fold,
                               const plumb_surprise_options *opt)
{
    double kinds[2] = {0}, found[2] = {0}, best = -1.0, threshold = (double)NAN;
    for (int64_t i = 0; i < count; i++)
        if (clips[i].index % FOLDS != fold) kinds[clips[i].impossible] += 1.0;
    const int64_t allowed = (int64_t)floor(opt->type1 * kinds[1]);
    for (int64_t i = 0; i < count; i++) {
        if (clips[i].index % FOLDS == fold) continue;
        // Clips at or above this one are called impossible.
        const double right = found[0] / kinds[0] + 1.0 - found[1] / kinds[1];
        if (opt->threshold_rule == PLUMB_SURPRISE_THRESHOLD_LEVEL) {
            if (clips[i].impossible && (int64_t)found[1] == allowed) return clips[i].score;
        } else if (right > best) {
            best = right;
            threshold = clips[i].score;
        }
        found[clips[i].impossible] += 1.0;
    }
    return threshold;
}

// Judges each fifth of the clips by the threshold of the others.
static void decide_clips(plumb_surprise_decision *to, const labelled_clip *clips, int64_t count,
                         const plumb_surprise_options *opt)
{
    double kinds[2] = {0}, missed = 0.0, raised = 0.0, sum = 0.0;
    for (int64_t fold = 0; fold < FOLDS; fold++) {
        const double threshold =
            isnan(opt->threshold) ? choose_threshold(clips, count, fold, opt) : opt->threshold;
        if (isnan(threshold)) return; // too few clips
        for (int64_t i = 0; i < count; i++) {
            if (clips[i].index % FOLDS != fold) continue;
            const bool called = clips[i].score >= threshold;
            kinds[clips[i].impossible] += 1.0;
            missed += clips[i].impossible && !called;
            raised += !clips[i].impossible && called;
            sum += threshold;
        }
    }
    *to = (plumb_surprise_decision){.measured = true,
                                    .threshold = sum / (double)count,
                                    .type1 = missed / kinds[1],
                                    .type2 = raised / kinds[0]};
    to->accuracy = 1.0 - 0.5 * (to->type1 + to->type2);
    to->power = 1.0 - to->type2;
}

static plumb_status measure_clips(plumb_surprise_clips *out, arena *mem, const plumb_array *scores,
                                  const plumb_array *possible, const plumb_surprise_options *opt)
{
    const int64_t n = plumb_array_count(scores);
    const double *score = array_as_doubles(mem, scores), *label = array_as_doubles(mem, possible);
    labelled_clip *clips = ARENA_ALLOC(mem, labelled_clip, n);
    if (!score || !label || !clips) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(score[i])) return array_reject_nonfinite(scores, "scores", 1, i, "");
        clips[i] = (labelled_clip){score[i] == 0.0 ? 0.0 : score[i], i, label[i] == 0.0};
        if (clips[i].impossible) out->impossible++;
        else out->possible++;
    }
    if (!out->possible || !out->impossible)
        return fail(PLUMB_EVALUE, "%lld clips are possible and %lld impossible; both are needed",
                    (long long)out->possible, (long long)out->impossible);
    qsort(clips, (size_t)n, sizeof *clips, compare_clips);
    out->auroc = compute_auroc(clips, n, NULL);
    decide_clips(&out->decision, clips, n, opt);
    return bootstrap_auroc(&out->auroc_ci, mem, clips, n, opt);
}

plumb_status plumb_surprise_clips_measure(plumb_surprise_clips *result, const plumb_array *scores,
                                          const plumb_array *possible,
                                          const plumb_surprise_options *options)
{
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(scores);
    REQUIRE_ARGUMENT(possible);
    plumb_surprise_options opt = plumb_surprise_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_surprise_options");
    if (!st) st = surprise_options_check(&opt);
    if (!st && (scores->ndim != 1 || possible->ndim != 1 || scores->shape[0] < 1 ||
                possible->shape[0] != scores->shape[0]))
        st = fail(PLUMB_ESHAPE, "scores and possible must be (clips) of the same length");
    if (st) return st;
    arena mem = {0};
    plumb_surprise_clips found = {0};
    st = measure_clips(&found, &mem, scores, possible, &opt);
    arena_clear(&mem);
    if (!st) *result = found;
    return st;
}

void plumb_surprise_clips_record(plumb_record *record, const plumb_surprise_clips *result)
{
    if (!record || !result) return;
    plumb_record_set_int(record, "possible", result->possible);
    plumb_record_set_int(record, "impossible", result->impossible);
    plumb_record_set_double(record, "auroc", result->auroc);
    plumb_record_set_interval(record, "auroc_ci", result->auroc_ci);
    if (result->decision.measured) {
        plumb_record_begin_object(record, "clips");
        plumb_record_set_double(record, "threshold", result->decision.threshold);
        plumb_record_set_double(record, "accuracy", result->decision.accuracy);
        plumb_record_set_double(record, "type1", result->decision.type1);
        plumb_record_set_double(record, "type2", result->decision.type2);
        plumb_record_set_double(record, "power", result->decision.power);
        plumb_record_end(record);
    } else {
        plumb_record_set_null(record, "clips");
    }
    plumb_record_set_int(record, "measure_version", PLUMB_SURPRISE_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
}
