// SPDX-License-Identifier: MIT
// Metrics of tuples of scores. Clips are sorted by score once. A bootstrap draw is a weight per
// tuple, so each metric of a draw is one pass over the sorted clips.
#include "measures/surprise/tuple_metrics.h"

#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "math/rng.h"
#include "math/special.h"
#include "math/stats.h"

enum { BOOTSTRAP_STREAM = 0x73727073, EXACT_PERMUTATION = 200 };

void tuple_metrics_sums(double *possible, double *impossible, const double score[4])
{
    // Sums that are equal in exact arithmetic (a constant predictor on a valid splice) must stay a
    // tie. The order of additions changes them by about 2^-50.
    const double rounding = 0x1p-46;
    *possible = score[0] + score[1];
    *impossible = score[2] + score[3];
    if (fabs(*impossible - *possible) <= rounding * (fabs(*impossible) + fabs(*possible)))
        *impossible = *possible;
}

double tuple_metrics_relative(const double score[4])
{
    double p, i;
    tuple_metrics_sums(&p, &i, score);
    const double whole = fabs(i) + fabs(p);
    return whole > 0.0 ? (i - p) / whole : 0.0;
}

bool tuple_metrics_right(const double score[4])
{
    double p, i;
    tuple_metrics_sums(&p, &i, score);
    return i > p;
}

// ---- clips in the order of their scores ----

typedef struct clip {
    double score;
    int64_t tuple;
    bool impossible;
} clip;

static int compare_clips(const void *a, const void *b)
{
    const double x = ((const clip *)a)->score, y = ((const clip *)b)->score;
    return (x > y) - (x < y);
}

static clip *sort_clips(arena *mem, const double *score, int64_t count)
{
    clip *clips = ARENA_ALLOC(mem, clip, 4 * count);
    if (!clips) return NULL;
    for (int64_t i = 0; i < 4 * count; i++)
        clips[i] = (clip){score[i] == 0.0 ? 0.0 : score[i], i / 4, i % 4 >= 2};
    if (count) qsort(clips, (size_t)(4 * count), sizeof *clips, compare_clips);
    return clips;
}

// Area under the ROC curve: P(impossible > possible) + P(equal) / 2. weight (tuples), NULL: 1.
static double compute_auroc(const clip *clips, int64_t count, const double *weight)
{
    double below = 0.0, won = 0.0, possible = 0.0, impossible = 0.0;
    for (int64_t i = 0; i < 4 * count;) {
        double p = 0.0, n = 0.0;
        const double value = clips[i].score;
        for (; i < 4 * count && clips[i].score == value; i++) {
            const double w = weight ? weight[clips[i].tuple] : 1.0;
            if (clips[i].impossible) n += w;
            else p += w;
        }
        won += n * (below + 0.5 * p);
        below += p;
        possible += p;
        impossible += n;
    }
    return won / (possible * impossible);
}

// Area under precision over recall, straight lines between the points, as scikit-learn's
// precision_recall_curve and auc draw it. Clips are taken from the top for impossible ones, from
// the bottom for possible ones.
static double compute_auprc(const clip *clips, int64_t count, bool impossible)
{
    const int64_t n = 4 * count;
    double found = 0.0, taken = 0.0, sum = 0.0, recall = 0.0, precision = 1.0;
    for (int64_t i = 0; i < n;) {
        const double value = clips[impossible ? n - 1 - i : i].score;
        for (; i < n && clips[impossible ? n - 1 - i : i].score == value; i++) {
            found += clips[impossible ? n - 1 - i : i].impossible == impossible;
            taken += 1.0;
        }
        const double next_recall = found / (2.0 * (double)count), next = found / taken;
        sum += (next_recall - recall) * 0.5 * (precision + next);
        recall = next_recall;
        precision = next;
    }
    return sum;
}

// A clip is called impossible if its score is above the threshold. Thresholds lie in the middle
// between neighbours; the lowest of equally good ones is taken.
static void find_best_threshold(double *threshold, double *accuracy, const clip *clips,
                                int64_t count)
{
    const int64_t n = 4 * count;
    int64_t right = 2 * count, best = right; // below all: every impossible one is right
    *threshold = n ? clips[0].score - 1.0 : (double)NAN;
    for (int64_t i = 0; i < n;) {
        const double value = clips[i].score;
        for (; i < n && clips[i].score == value; i++) right += clips[i].impossible ? -1 : 1;
        if (right <= best) continue;
        best = right;
        *threshold = i < n ? value + 0.5 * (clips[i].score - value) : value;
    }
    *accuracy = (double)best / (double)n;
}

plumb_status tuple_metrics_auroc(double *out, arena *mem, const double *score, int64_t count)
{
    const arena_mark mark = arena_get_mark(mem);
    const clip *clips = sort_clips(mem, score, count);
    if (clips) *out = compute_auroc(clips, count, NULL);
    arena_rewind(mem, mark);
    return clips ? PLUMB_OK : PLUMB_EMEMORY;
}

plumb_status tuple_metrics_best(double *threshold, double *accuracy, arena *mem,
                                const double *score, int64_t count)
{
    const arena_mark mark = arena_get_mark(mem);
    const clip *clips = sort_clips(mem, score, count);
    if (clips) find_best_threshold(threshold, accuracy, clips, count);
    arena_rewind(mem, mark);
    return clips ? PLUMB_OK : PLUMB_EMEMORY;
}

// ---- thresholds ----

// The k-th lowest score of one kind of clip, k from 0.
static double find_kth_score(const clip *clips, int64_t count, bool impossible, int64_t k)
{
    for (int64_t i = 0; i < 4 * count; i++)
        if (clips[i].impossible == impossible && k-- == 0) return clips[i].score;
    return (double)INFINITY;
}

static void apply_thresholds(plumb_surprise_metrics *metrics, const clip *clips,
                             const tuple_metrics_plan *plan)
{
    const int64_t n = plan->count;
    // The highest threshold that no more than the allowed share of impossible clips is below.
    metrics->threshold =
        find_kth_score(clips, n, true, (int64_t)floor(plan->type1 * 2.0 * (double)n));
    // As the V-JEPA study has it: entry ceil(0.9 n) of the sorted scores of possible clips; beyond
    // the last of a few, the last.
    const int64_t at = (int64_t)ceil(0.90 * 2.0 * (double)n);
    metrics->threshold_90 = find_kth_score(clips, n, false, at < 2 * n ? at : 2 * n - 1);
    int64_t low = 0, high = 0, right = 0;
    for (int64_t i = 0; i < 4 * n; i++) {
        const bool impossible = clips[i].impossible;
        low += impossible && clips[i].score < metrics->threshold;
        high += !impossible && clips[i].score >= metrics->threshold;
        right += impossible ? clips[i].score > metrics->threshold_90
                            : clips[i].score < metrics->threshold_90;
    }
    metrics->type1 = (double)low / (2.0 * (double)n);
    metrics->type2 = (double)high / (2.0 * (double)n);
    metrics->accuracy_90 = (double)right / (4.0 * (double)n);
    find_best_threshold(&metrics->best_threshold, &metrics->best_accuracy, clips, n);
}

// ---- comparisons inside a tuple ----

// 2 if a > b, 1 for a tie, 0 otherwise.
static int compare_scores(double a, double b)
{
    return (a > b) - (a < b) + 1;
}

static int count_pairs_won(const double s[4], int p1, int p2, int i1, int i2)
{
    return compare_scores(s[i1], s[p1]) + compare_scores(s[i1], s[p2]) +
           compare_scores(s[i2], s[p1]) + compare_scores(s[i2], s[p2]);
}

// Pairs won for each of the six ways to label two of four clips impossible; the first is the true
// one.
static void count_permutations(int won[6], const double s[4])
{
    static const int ways[6][4] = {{0, 1, 2, 3}, {2, 3, 0, 1}, {0, 2, 1, 3},
                                   {1, 3, 0, 2}, {0, 3, 1, 2}, {1, 2, 0, 3}};
    for (int i = 0; i < 6; i++)
        won[i] = count_pairs_won(s, ways[i][0], ways[i][1], ways[i][2], ways[i][3]);
}

// P(sum of pairs won >= observed) if the labels inside each tuple say nothing: the exact
// distribution for a few hundred tuples, the normal one for more.
static plumb_status permutation_test(double *p, arena *mem, const double *score, int64_t count)
{
    int64_t observed = 0;
    double mean = 0.0, variance = 0.0;
    const bool exact = count <= EXACT_PERMUTATION;
    const int64_t size = exact ? 8 * count + 1 : 1;
    double *now = ARENA_ALLOC(mem, double, size), *next = ARENA_ALLOC(mem, double, size);
    if (!now || !next) return PLUMB_EMEMORY;
    now[0] = 1.0;
    for (int64_t t = 0; t < count; t++) {
        int won[6];
        count_permutations(won, score + 4 * t);
        observed += won[0];
        double sum = 0.0, square = 0.0;
        for (int i = 0; i < 6; i++) sum += won[i] / 6.0, square += won[i] * won[i] / 6.0;
        mean += sum;
        variance += square - sum * sum;
        if (!exact) continue;
        for (int64_t i = 0; i <= 8 * t + 8; i++) next[i] = 0.0;
        for (int64_t i = 0; i <= 8 * t; i++)
            for (int j = 0; j < 6; j++) next[i + won[j]] += now[i] / 6.0;
        double *swap = now;
        now = next;
        next = swap;
    }
    *p = 0.0;
    if (exact)
        for (int64_t i = observed; i <= 8 * count; i++) *p += now[i];
    else if (variance > 0.0)
        *p = special_normal_tail(((double)observed - 0.5 - mean) / sqrt(variance));
    else *p = 1.0;
    if (*p > 1.0) *p = 1.0;
    return PLUMB_OK;
}

static void compare_inside_tuples(plumb_surprise_metrics *metrics, const double *score,
                                  int64_t count)
{
    int64_t pairwise = 0, matched = 0, strict = 0, midpoint = 0;
    for (int64_t t = 0; t < count; t++) {
        const double *s = score + 4 * t;
        double p, i;
        tuple_metrics_sums(&p, &i, s);
        metrics->correct += i > p;
        metrics->ties += i == p;
        pairwise += count_pairs_won(s, 0, 1, 2, 3);
        matched += compare_scores(s[2], s[0]) + compare_scores(s[3], s[1]);
        strict += (s[2] > s[0]) + (s[3] > s[1]);
        const double middle = s[0] + 0.5 * (s[2] - s[0]);
        midpoint += compare_scores(middle, s[1]) + compare_scores(s[3], middle);
    }
    const double n = (double)count;
    metrics->pairwise = (double)pairwise / (8.0 * n);
    metrics->matched = (double)matched / (4.0 * n);
    metrics->matched_strict = (double)strict / (2.0 * n);
    metrics->midpoint = (double)midpoint / (4.0 * n);
}

// ---- means over concepts, and how sure they are ----

typedef struct tuple_table {
    const tuple_metrics_plan *plan;
    double *right, *relative, *difference; // a tuple each
    const clip *clips;
    double *sum[4]; // a concept each: weights, right, relative, difference
} tuple_table;

static int64_t concept_of(const tuple_metrics_plan *plan, int64_t tuple)
{
    return plan->concept_of ? plan->concept_of[tuple] : 0;
}

// out: accuracy, relative surprise and difference, the mean over concepts of the mean over tuples.
// A concept without tuples is left out.
static void compute_means(double out[3], const tuple_table *t, const double *weight)
{
    const tuple_metrics_plan *plan = t->plan;
    for (int j = 0; j < 4; j++)
        for (int64_t c = 0; c < plan->concepts; c++) t->sum[j][c] = 0.0;
    for (int64_t i = 0; i < plan->count; i++) {
        const double w = weight ? weight[i] : 1.0;
        const int64_t c = concept_of(plan, i);
        t->sum[0][c] += w;
        t->sum[1][c] += w * t->right[i];
        t->sum[2][c] += w * t->relative[i];
        t->sum[3][c] += w * t->difference[i];
    }
    double concepts = 0.0;
    out[0] = out[1] = out[2] = 0.0;
    for (int64_t c = 0; c < plan->concepts; c++) {
        if (t->sum[0][c] == 0.0) continue;
        concepts += 1.0;
        for (int j = 0; j < 3; j++) out[j] += t->sum[j + 1][c] / t->sum[0][c];
    }
    for (int j = 0; j < 3; j++) out[j] /= concepts;
}

// Resamples the tuples of each concept.
static void draw_weights(double *weight, double *times, const int64_t *order, const int64_t *sizes,
                         int64_t concepts, rng *random)
{
    for (int64_t c = 0, first = 0; c < concepts; first += sizes[c++]) {
        rng_resample(times, random, sizes[c]);
        for (int64_t i = 0; i < sizes[c]; i++) weight[order[first + i]] = times[i];
    }
}

static plumb_status compute_intervals(plumb_surprise_metrics *metrics, arena *mem,
                                      const tuple_table *t)
{
    const tuple_metrics_plan *plan = t->plan;
    const int64_t n = plan->count, draws = plan->resamples;
    const plumb_interval none = {(double)NAN, (double)NAN};
    metrics->accuracy_ci = metrics->relative_ci = metrics->difference_ci = metrics->auroc_ci = none;
    if (n < 2 || draws < 1) return PLUMB_OK;
    double *weight = ARENA_ALLOC(mem, double, n), *times = ARENA_ALLOC(mem, double, n);
    int64_t *order = ARENA_ALLOC(mem, int64_t, n),
            *sizes = ARENA_ALLOC(mem, int64_t, plan->concepts);
    double *value[4];
    for (int j = 0; j < 4; j++)
        if (!(value[j] = ARENA_ALLOC(mem, double, draws))) return PLUMB_EMEMORY;
    if (!weight || !times || !order || !sizes) return PLUMB_EMEMORY;
    int64_t filled = 0;
    for (int64_t c = 0; c < plan->concepts; c++)
        for (int64_t i = 0; i < n; i++)
            if (concept_of(plan, i) == c) order[filled++] = i, sizes[c]++;

    rng random = rng_at(plan->seed, BOOTSTRAP_STREAM);
    for (int64_t d = 0; d < draws; d++) {
        double three[3];
        draw_weights(weight, times, order, sizes, plan->concepts, &random);
        compute_means(three, t, weight);
        for (int j = 0; j < 3; j++) value[j][d] = three[j];
        value[3][d] = compute_auroc(t->clips, n, weight);
    }
    metrics->accuracy_ci = stats_interval_95(value[0], draws);
    metrics->relative_ci = stats_interval_95(value[1], draws);
    metrics->difference_ci = stats_interval_95(value[2], draws);
    metrics->auroc_ci = stats_interval_95(value[3], draws);
    return PLUMB_OK;
}

// [Wilson27], z at 97.5 %.
plumb_interval tuple_metrics_wilson(int64_t right, int64_t count)
{
    const double z = 1.959963984540054, n = (double)count, p = (double)right / n;
    const double centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    const double half = z / (1.0 + z * z / n) * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
    return (plumb_interval){centre - half, centre + half};
}

// One-sided t test that the mean of x is above 0.
static void t_test(plumb_surprise_metrics *metrics, const double *x, int64_t n)
{
    const double mean = stats_mean(x, n);
    double square = 0.0;
    for (int64_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
    metrics->t =
        n > 1 && square > 0.0 ? mean / sqrt(square / (double)(n - 1) / (double)n) : (double)NAN;
    metrics->t_p = special_t_tail(metrics->t, (double)(n - 1));
}

static plumb_status compute_metrics(plumb_surprise_metrics *metrics, arena *mem,
                                    const double *score, const tuple_metrics_plan *plan)
{
    const int64_t n = plan->count;
    tuple_table t = {.plan = plan,
                     .right = ARENA_ALLOC(mem, double, n),
                     .relative = ARENA_ALLOC(mem, double, n),
                     .difference = ARENA_ALLOC(mem, double, n),
                     .clips = sort_clips(mem, score, n)};
    if (!t.right || !t.relative || !t.difference || !t.clips) return PLUMB_EMEMORY;
    for (int j = 0; j < 4; j++)
        if (!(t.sum[j] = ARENA_ALLOC(mem, double, plan->concepts))) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) {
        double possible, impossible;
        tuple_metrics_sums(&possible, &impossible, score + 4 * i);
        t.right[i] = impossible > possible;
        t.relative[i] = tuple_metrics_relative(score + 4 * i);
        t.difference[i] = (impossible - possible) / 2.0;
    }
    double three[3];
    compute_means(three, &t, NULL);
    *metrics = (plumb_surprise_metrics){.tuples = n,
                                        .accuracy = three[0],
                                        .relative_surprise = three[1],
                                        .difference = three[2],
                                        .auroc = compute_auroc(t.clips, n, NULL),
                                        .auprc = compute_auprc(t.clips, n, true),
                                        .auprc_possible = compute_auprc(t.clips, n, false)};
    compare_inside_tuples(metrics, score, n);
    apply_thresholds(metrics, t.clips, plan);
    metrics->accuracy_wilson = tuple_metrics_wilson(metrics->correct, n);
    metrics->chance_p = special_coin_tail(metrics->correct, n);
    t_test(metrics, t.relative, n);
    plumb_status st = permutation_test(&metrics->permutation_p, mem, score, n);
    if (!st) st = compute_intervals(metrics, mem, &t);
    return st;
}

plumb_status tuple_metrics_compute(plumb_surprise_metrics *out, arena *mem, const double *score,
                                   const tuple_metrics_plan *plan)
{
    const arena_mark mark = arena_get_mark(mem);
    const plumb_status st = compute_metrics(out, mem, score, plan);
    arena_rewind(mem, mark);
    return st;
}

plumb_surprise_comparison tuple_metrics_compare(const double *first, const double *second,
                                                int64_t count)
{
    plumb_surprise_comparison pair = {0};
    for (int64_t i = 0; i < count; i++) {
        const bool a = tuple_metrics_right(first + 4 * i), b = tuple_metrics_right(second + 4 * i);
        pair.first_only += a && !b;
        pair.second_only += b && !a;
    }
    const int64_t discordant = pair.first_only + pair.second_only;
    const int64_t more = pair.first_only > pair.second_only ? pair.first_only : pair.second_only;
    pair.p = fmin(1.0, 2.0 * special_coin_tail(more, discordant));
    return pair;
}
