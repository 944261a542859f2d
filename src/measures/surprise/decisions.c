// SPDX-License-Identifier: MIT
// A clip is called impossible if its score reaches the threshold. Each tuple is judged by the
// threshold of known clips of other tuples.
#include "measures/surprise/decisions.h"

#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "measures/surprise/tuple_metrics.h"

enum { GAMMAS = 26 };

// ---- gamma ----

static double subtract_sums(const double *x)
{
    return (x[2] + x[3]) - (x[0] + x[1]);
}

// Mean over concepts of the share of known tuples outside `fold` that a gamma decides.
static double decide_known(const known_tuples *known, const double *s, const double *r,
                           double gamma, int64_t fold)
{
    double sum = 0.0, concepts = 0.0;
    for (int64_t c = 0; c < known->concepts; c++) {
        double right = 0.0, count = 0.0;
        for (int64_t i = 0; i < known->count; i++) {
            if (known->concept[i] != c || !known_tuples_use(known, i, fold)) continue;
            double score[4];
            for (int j = 0; j < 4; j++) score[j] = s[4 * i + j] - gamma * r[4 * i + j];
            right += tuple_metrics_right(score);
            count += 1.0;
        }
        if (count > 0.0) sum += right / count, concepts += 1.0;
    }
    return concepts > 0.0 ? sum / concepts : 0.0;
}

double decisions_choose_gamma(const known_tuples *known, const double *s, const double *r,
                              int64_t fold)
{
    double ss = 0.0, rr = 0.0, best = -1.0, chosen = 0.0;
    for (int64_t i = 0; i < known->count; i++) {
        if (!known_tuples_use(known, i, fold)) continue;
        ss += subtract_sums(s + 4 * i) * subtract_sums(s + 4 * i);
        rr += subtract_sums(r + 4 * i) * subtract_sums(r + 4 * i);
    }
    const double even = rr > 0.0 ? sqrt(ss / rr) : 0.0;
    for (int g = 0; g < GAMMAS; g++) {
        const double gamma = g ? even * pow(10.0, 0.25 * (g - 13)) : 0.0;
        const double right = decide_known(known, s, r, gamma, fold);
        if (right > best) best = right, chosen = gamma;
    }
    return chosen;
}

// ---- thresholds ----

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The scores of known clips outside `fold`: tuples of four, and the impossible ones sorted.
typedef struct known_scores {
    double *tuple, *impossible;
    int64_t tuples;
} known_scores;

static void collect_scores(known_scores *out, const known_tuples *known, const double *score,
                           int64_t fold)
{
    out->tuples = 0;
    for (int64_t i = 0; i < known->count; i++) {
        if (!known_tuples_use(known, i, fold)) continue;
        for (int j = 0; j < 4; j++) out->tuple[4 * out->tuples + j] = score[4 * i + j];
        for (int j = 0; j < 2; j++) out->impossible[2 * out->tuples + j] = score[4 * i + 2 + j];
        out->tuples++;
    }
    if (out->tuples)
        qsort(out->impossible, (size_t)(2 * out->tuples), sizeof *out->impossible, compare_doubles);
}

// The threshold of [Lin23, Theorem 1]: no more than the share `type1` of the known impossible clips
// is below it.
static double find_level(const known_scores *scores, double type1)
{
    return scores->impossible[(int64_t)floor(type1 * 2.0 * (double)scores->tuples)];
}

// Judges the clips of one fold.
static void apply_threshold(plumb_surprise_decision *to, double threshold, const double *score,
                            const known_tuples *known, int64_t fold, int64_t tested)
{
    int64_t judged = 0;
    for (int64_t i = 0; i < tested; i++) {
        if (known->judged_fold[i] != fold) continue;
        judged++;
        for (int j = 0; j < 4; j++) {
            const bool called = score[4 * i + j] >= threshold;
            if (j >= 2 && !called) to->type1 += 1.0;
            if (j < 2 && called) to->type2 += 1.0;
        }
    }
    to->threshold += threshold * (double)judged / (double)tested;
}

static void finish_decision(plumb_surprise_decision *to, int64_t tested)
{
    to->type1 /= 2.0 * (double)tested;
    to->type2 /= 2.0 * (double)tested;
    to->accuracy = 1.0 - 0.5 * (to->type1 + to->type2);
    to->power = 1.0 - to->type2;
    to->measured = true;
}

plumb_status decisions_measure(plumb_surprise_score *to, arena *mem, const known_tuples *known,
                               const double *known_score, const double *score, int64_t tested,
                               const plumb_surprise_options *opt)
{
    const arena_mark mark = arena_get_mark(mem);
    known_scores scores = {.tuple = ARENA_ALLOC(mem, double, 4 * known->count),
                           .impossible = ARENA_ALLOC(mem, double, 2 * known->count)};
    if (!scores.tuple || !scores.impossible) return PLUMB_EMEMORY;
    plumb_surprise_decision decision = {0}, level = {0};
    for (int64_t fold = 0; fold < known->folds; fold++) {
        bool any = false;
        for (int64_t i = 0; i < tested; i++) any = any || known->judged_fold[i] == fold;
        if (!any) continue;
        collect_scores(&scores, known, known_score, fold);
        if (!scores.tuples) return PLUMB_OK; // nothing is known about this fold
        double threshold = opt->threshold, ignored;
        const double at_level = find_level(&scores, opt->type1);
        if (isnan(threshold) && opt->threshold_rule == PLUMB_SURPRISE_THRESHOLD_LEVEL)
            threshold = at_level;
        else if (isnan(threshold)) {
            const plumb_status st =
                tuple_metrics_best(&threshold, &ignored, mem, scores.tuple, scores.tuples);
            if (st) return st;
        }
        apply_threshold(&decision, threshold, score, known, fold, tested);
        apply_threshold(&level, at_level, score, known, fold, tested);
    }
    finish_decision(&decision, tested);
    finish_decision(&level, tested);
    to->decision = decision;
    to->level = level;
    arena_rewind(mem, mark);
    return PLUMB_OK;
}
