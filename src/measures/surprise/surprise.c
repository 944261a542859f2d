// SPDX-License-Identifier: MIT
// The measure itself: read the arrays, make an observation set per concept, compute r by each
// scorer, then scores s - gamma r and their metrics [Lin23].
#include <assert.h>
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
#include "math/rng.h"
#include "measures/surprise/decisions.h"
#include "measures/surprise/input.h"
#include "measures/surprise/isolation_forest.h"
#include "measures/surprise/known_tuples.h"
#include "measures/surprise/likelihood_ratio.h"
#include "measures/surprise/motion_control.h"
#include "measures/surprise/observation_set.h"
#include "measures/surprise/one_class_svm.h"
#include "measures/surprise/options.h"
#include "measures/surprise/scorers.h"
#include "measures/surprise/tuple_metrics.h"
#include "measures/surprise/uniformity.h"

const char *plumb_scorer_name(plumb_scorer scorer)
{
    static const char *const words[] = {
#define WORD(name, word) word,
        PLUMB_SCORER_LIST(WORD)
#undef WORD
    };
    assert(scorer >= 0 && scorer < PLUMB_SCORER_COUNT);
    return words[scorer];
}

plumb_scorer plumb_scorer_find(const char *name)
{
    int i = name ? 0 : PLUMB_SCORER_COUNT;
    while (i < PLUMB_SCORER_COUNT && strcmp(plumb_scorer_name((plumb_scorer)i), name) != 0) i++;
    return (plumb_scorer)i;
}

bool scorer_available(plumb_scorer scorer)
{
    return scorer != PLUMB_SCORER_OCSVM || one_class_svm_load() == PLUMB_OK;
}

// ---- which scorers ----

// Why the arrays do not allow a scorer, or NULL.
static const char *find_missing_array(plumb_scorer scorer, const surprise_arrays *arrays)
{
    if (scorer == PLUMB_SCORER_PLAIN) return NULL;
    if (scorer == PLUMB_SCORER_NAIVE)
        return arrays->naive
                   ? NULL
                   : "needs surprise_voe, the surprise of a model trained on impossible clips";
    return arrays->dims ? NULL : "needs feature, (tuples, 4, d)";
}

// A concept of one tuple cannot be split into observed and tested ones.
static const char *find_undivided_concept(arena *mem, const surprise_arrays *arrays)
{
    const int64_t concepts = arrays->concepts ? arrays->concepts : 1;
    for (int64_t c = 0; c < concepts && !arrays->observed; c++) {
        int64_t count = 0;
        for (int64_t i = 0; i < arrays->tuples; i++)
            count += !arrays->concept_of || arrays->concept_of[i] == c;
        if (count >= 2) continue;
        char text[160];
        snprintf(text, sizeof text, "needs observation, or two tuples of each concept%s%.80s",
                 arrays->concepts ? ": there is one of " : "",
                 arrays->concepts ? arrays->concept_name[c] : "");
        return arena_strdup(mem, text);
    }
    return NULL;
}

static bool has_choice(const plumb_surprise_options *opt)
{
    bool any = false;
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) any = any || opt->scorers[i];
    return any;
}

// A scorer that the caller asked for must work. Without a choice, scorers whose arrays are missing
// are left out and `why` says so. knn-log runs only on request.
static plumb_status choose_scorers(bool wanted[PLUMB_SCORER_COUNT], plumb_surprise *out, arena *mem,
                                   const surprise_arrays *arrays, const plumb_surprise_options *opt)
{
    const bool any = has_choice(opt);
    const char *undivided = find_undivided_concept(mem, arrays);
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) {
        const plumb_scorer scorer = (plumb_scorer)i;
        out->scorers[i].scorer = scorer;
        const char *why = find_missing_array(scorer, arrays);
        // On request the split itself fails, with a message of its own.
        if (!why && !any && i >= PLUMB_SCORER_KNN) why = undivided;
        wanted[i] = any ? opt->scorers[i] : i != PLUMB_SCORER_KNN_LOG;
        if (!wanted[i]) continue;
        if (why && any)
            return fail(PLUMB_ESHAPE, "the scorer %s %s", plumb_scorer_name(scorer), why);
        if (!why && !scorer_available(scorer)) {
            if (any) return PLUMB_EMISSING; // one_class_svm_load set the message
            why = "this build or this machine lacks libsvm";
        }
        out->scorers[i].why = why;
        wanted[i] = !why;
    }
    return PLUMB_OK;
}

// ---- r ----

typedef struct surprise_work {
    plumb_surprise *out;
    arena *mem;
    const surprise_arrays *clips;
    const plumb_surprise_options *opt;
    observation_sets set;
    const double *tested;                 // (tested, 4, dims)
    double *r[PLUMB_SCORER_COUNT];        // (tested, 4)
    double *sample_r[PLUMB_SCORER_COUNT]; // r of the sample of observed clips
    bool scales_gamma;                    // some gamma is scaled by them
    known_tuples known;
    double *known_s;                     // (known, 4): surprise
    double *known_r[PLUMB_SCORER_COUNT]; // (known, 4); NULL: not known
} surprise_work;

// One scorer by one observation set: r of the tested clips it has, then of the sample.
static plumb_status measure_set(surprise_work *work, plumb_scorer scorer,
                                const observation_set *observed_set, int64_t set)
{
    const int64_t dims = work->clips->dims, queries = 4 * observed_set->query_count;
    const int64_t sample = work->scales_gamma ? observed_set->sample_count : 0;
    const bool all = observed_set->query_count == work->out->tested; // no copy needed
    scorer_function *score = scorer_find(scorer);
    arena scratch = {0};
    double *rows = all ? NULL : ARENA_ALLOC(&scratch, double, queries *dims);
    double *r = ARENA_ALLOC(&scratch, double, queries + sample);
    plumb_status st = (all || rows) && r ? PLUMB_OK : PLUMB_EMEMORY;
    // The four clips of each tested tuple of this concept, (4 query_count, dims).
    for (int64_t j = 0; !all && !st && j < observed_set->query_count; j++)
        memcpy(rows + 4 * j * dims, work->tested + 4 * observed_set->queries[j] * dims,
               (size_t)(4 * dims) * sizeof *rows);
    scorer_task task = {.observed = observed_set->observed,
                        .observed_count = observed_set->observed_count,
                        .queries = all ? work->tested : rows,
                        .query_count = queries,
                        .dims = dims,
                        .opt = work->opt,
                        .stream = (uint64_t)set};
    const double start = clock_now();
    if (!st) st = score(r, &scratch, &task);
    work->out->scorers[scorer].seconds += clock_now() - start;
    if (!st && sample) {
        // An observed clip is its own nearest neighbour, which must not count.
        plumb_surprise_options next = *work->opt;
        if (scorer == PLUMB_SCORER_KNN && next.k < observed_set->observed_count) next.k++;
        task.opt = &next;
        task.queries = observed_set->sample;
        task.query_count = sample;
        task.quiet = true;
        st = score(r + queries, &scratch, &task);
    }
    // Back to the order of the tested tuples.
    for (int64_t j = 0; !st && j < queries; j++)
        work->r[scorer][4 * observed_set->queries[j / 4] + j % 4] = r[j];
    for (int64_t j = 0; !st && j < sample; j++)
        work->sample_r[scorer][observed_set->sample_first + j] = r[queries + j];
    arena_clear(&scratch);
    return st;
}

// r (tested, 4) of one scorer over all observation sets.
static plumb_status measure_distance(surprise_work *work, plumb_scorer scorer)
{
    work->r[scorer] = ARENA_ALLOC(work->mem, double, work->out->tested * 4);
    work->sample_r[scorer] = ARENA_ALLOC(work->mem, double, work->set.sample_count);
    if (!work->r[scorer] || !work->sample_r[scorer]) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < work->set.sets && !st; i++)
        if (work->set.set[i].query_count) st = measure_set(work, scorer, &work->set.set[i], i);
    return st;
}

static double compute_deviation(const double *x, int64_t n)
{
    double mean = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; i++) mean += x[i];
    mean /= (double)n;
    for (int64_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
    return sqrt(square / (double)n);
}

// r of knn-log: (d - 1) log r_k, the log of the density up to a constant.
static plumb_status compute_log_distances(surprise_work *work)
{
    const int64_t n = 4 * work->out->tested;
    double *r = work->r[PLUMB_SCORER_KNN_LOG] = ARENA_ALLOC(work->mem, double, n);
    if (!r) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) {
        const double distance = work->r[PLUMB_SCORER_KNN][i];
        if (!(distance > 0.0))
            return fail(PLUMB_ENUMERIC,
                        "the %lldth neighbour of tuple %lld, clip %lld is the clip itself: its "
                        "logarithm is not defined for knn-log",
                        (long long)work->opt->k, (long long)work->out->tested_tuple[i / 4],
                        (long long)(i % 4));
        r[i] = (double)(work->clips->dims - 1) * log(distance);
    }
    return PLUMB_OK;
}

// gamma for the tuples of one fold: as given, or the best for known tuples, or gamma std(r_knn) /
// std(r) over the sample of observed clips.
static double choose_gamma(const surprise_work *work, plumb_scorer scorer, int64_t fold)
{
    const plumb_surprise_options *opt = work->opt;
    if (!isnan(opt->gammas[scorer])) return opt->gammas[scorer];
    if (opt->gamma_auto && work->known_r[scorer])
        return decisions_choose_gamma(&work->known, work->known_s, work->known_r[scorer], fold);
    switch (scorer) {
    case PLUMB_SCORER_PLAIN: return 0.0;
    case PLUMB_SCORER_NAIVE: return 1.0;
    case PLUMB_SCORER_KNN:
    case PLUMB_SCORER_KNN_LOG: return opt->gamma;
    case PLUMB_SCORER_LR: return (double)NAN; // it has none
    default: break;
    }
    // The same scale for every scorer: gamma r has the deviation that gamma r_knn has.
    const double deviation = compute_deviation(work->sample_r[scorer], work->set.sample_count);
    const double knn = compute_deviation(work->sample_r[PLUMB_SCORER_KNN], work->set.sample_count);
    return deviation > 0.0 ? opt->gamma * knn / deviation : 0.0;
}

// ---- scores ----

// score and most (tested, 4): the surprise of clips and of their greatest frame, minus gamma r.
static plumb_status subtract_distances(surprise_work *work, plumb_scorer scorer, double *score,
                                       double *most)
{
    plumb_surprise *out = work->out;
    plumb_surprise_score *to = &out->scorers[scorer];
    double gamma[KNOWN_TUPLES_FOLDS] = {0};
    const int64_t folds = work->known.count ? work->known.folds : 1;
    for (int64_t f = 0; f < folds; f++) {
        gamma[f] = choose_gamma(work, scorer, f);
        to->gamma += gamma[f] / (double)folds;
    }
    for (int64_t i = 0; i < 4 * out->tested; i++) {
        const int64_t from = 4 * out->tested_tuple[i / 4] + i % 4;
        const int64_t fold = work->known.count ? work->known.judged_fold[i / 4] : 0;
        const double off = to->distance ? gamma[fold] * to->distance[i] : 0.0;
        score[i] = work->clips->clip[from] - off;
        if (work->clips->maximum) most[i] = work->clips->maximum[from] - off;
        if (!isfinite(score[i]))
            return fail(PLUMB_ENUMERIC,
                        "the score of tuple %lld, clip %lld by %s is NaN or infinity",
                        (long long)(from / 4), (long long)(from % 4), plumb_scorer_name(scorer));
    }
    return PLUMB_OK;
}

// Thresholds for single clips from the scores of known ones, if their r is known.
static plumb_status decide_clips(surprise_work *work, plumb_scorer scorer, const double *score)
{
    const known_tuples *known = &work->known;
    plumb_surprise_score *to = &work->out->scorers[scorer];
    if (!known->count) return PLUMB_OK;
    const double *known_score = scorer == PLUMB_SCORER_LR ? work->known_r[PLUMB_SCORER_LR] : NULL;
    if (!known->split) known_score = score; // each by the others
    if (!known_score) {
        double *made = ARENA_ALLOC(work->mem, double, 4 * known->count);
        if (!made) return PLUMB_EMEMORY;
        if (to->distance && !work->known_r[scorer]) return PLUMB_OK;
        for (int64_t i = 0; i < 4 * known->count; i++)
            made[i] =
                work->known_s[i] - (to->distance ? to->gamma * work->known_r[scorer][i] : 0.0);
        known_score = made;
    }
    return decisions_measure(to, work->mem, known, known_score, score, work->out->tested,
                             work->opt);
}

// The same decisions with motion held fixed.
static plumb_status control_motion(surprise_work *work, plumb_scorer scorer, const double *score)
{
    const surprise_arrays *clips = work->clips;
    const int64_t n = work->out->tested, row = 4 * clips->motion_numbers;
    if (!clips->motion) return PLUMB_OK;
    double *motion = ARENA_ALLOC(work->mem, double, n *row);
    if (!motion) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++)
        memcpy(motion + i * row, clips->motion + work->out->tested_tuple[i] * row,
               (size_t)row * sizeof *motion);
    return motion_control_measure(
        &work->out->scorers[scorer].motion, work->mem,
        &(motion_control_task){
            .score = score, .motion = motion, .tuples = n, .numbers = clips->motion_numbers});
}

// Scores of the tested tuples by one scorer, and their metrics.
static plumb_status score_tuples(surprise_work *work, plumb_scorer scorer)
{
    plumb_surprise *out = work->out;
    plumb_surprise_score *to = &out->scorers[scorer];
    const int64_t n = out->tested;
    double *score = ARENA_ALLOC(work->mem, double, 4 * n),
           *most = ARENA_ALLOC(work->mem, double, 4 * n);
    if (!score || !most) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    to->distance = work->r[scorer];
    if (scorer == PLUMB_SCORER_LR) {
        memcpy(score, out->ratio.log_ratio, (size_t)(4 * n) * sizeof *score);
        to->gamma = (double)NAN;
    } else {
        st = subtract_distances(work, scorer, score, most);
    }
    if (!st) st = decide_clips(work, scorer, score);
    if (!st) st = control_motion(work, scorer, score);
    if (st) return st;
    // Metrics over all tuples, the bootstrap within concepts.
    to->score = score;
    to->measured = true;
    const tuple_metrics_plan plan = {.count = n,
                                     .concept_of = out->concept_of,
                                     .concepts = out->concept_count ? out->concept_count : 1,
                                     .type1 = work->opt->type1,
                                     .resamples = work->opt->resamples,
                                     .seed = work->opt->seed};
    st = tuple_metrics_compute(&to->all, work->mem, score, &plan);
    to->has_maximum = work->clips->maximum && scorer != PLUMB_SCORER_LR;
    if (!st && to->has_maximum) st = tuple_metrics_compute(&to->maximum, work->mem, most, &plan);
    if (st || !out->concept_count) return st;

    // The same metrics for each concept alone.
    plumb_surprise_metrics *each =
        ARENA_ALLOC(work->mem, plumb_surprise_metrics, out->concept_count);
    double *part = ARENA_ALLOC(work->mem, double, 4 * n);
    if (!each || !part) return PLUMB_EMEMORY;
    for (int64_t c = 0; c < out->concept_count && !st; c++) {
        tuple_metrics_plan one = plan;
        one.count = 0;
        one.concept_of = NULL;
        one.concepts = 1;
        for (int64_t i = 0; i < n; i++)
            if (out->concept_of[i] == c)
                memcpy(part + 4 * one.count++, score + 4 * i, 4 * sizeof *part);
        st = tuple_metrics_compute(&each[c], work->mem, part, &one);
    }
    to->concepts = each;
    return st;
}

// ---- known tuples ----

// r of the known tuples by one scorer. What cannot be computed stays unknown: decisions by this
// scorer are then left out.
static plumb_status measure_known(surprise_work *work, plumb_scorer scorer)
{
    const known_tuples *known = &work->known;
    if (!known->split) {
        work->known_r[scorer] = work->r[scorer];
        return PLUMB_OK;
    }
    double *r = ARENA_ALLOC(work->mem, double, 4 * known->count);
    if (!r) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    bool found = true;
    if (scorer == PLUMB_SCORER_NAIVE) {
        for (int64_t i = 0; i < 4 * known->count; i++)
            r[i] = work->clips->naive[4 * known->tuple[i / 4] + i % 4];
    } else if (scorer == PLUMB_SCORER_KNN_LOG) {
        const double *near = work->known_r[PLUMB_SCORER_KNN];
        found = near;
        for (int64_t i = 0; near && i < 4 * known->count; i++) {
            found = found && near[i] > 0.0;
            r[i] = (double)(work->clips->dims - 1) * log(near[i]);
        }
    } else {
        st = known_tuples_distances(r, work->mem, known, work->clips, work->opt, scorer);
        found = !st;
        if (st != PLUMB_EMEMORY && st != PLUMB_ESTOPPED) st = PLUMB_OK;
    }
    work->known_r[scorer] = found ? r : NULL;
    return st;
}

// Surprise and r of the tuples that gammas, thresholds and the likelihood ratio are fitted on.
static plumb_status read_known(surprise_work *work, bool needs_knn,
                               const bool wanted[PLUMB_SCORER_COUNT])
{
    plumb_status st = known_tuples_make(&work->known, work->mem, &work->set, work->clips);
    const known_tuples *known = &work->known;
    if (st || !known->count) return st;
    work->known_s = ARENA_ALLOC(work->mem, double, 4 * known->count);
    if (!work->known_s) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < 4 * known->count; i++)
        work->known_s[i] = work->clips->clip[4 * known->tuple[i / 4] + i % 4];
    for (int i = PLUMB_SCORER_NAIVE; i < PLUMB_SCORER_LR && !st; i++)
        if (wanted[i] || (i == PLUMB_SCORER_KNN && needs_knn))
            st = measure_known(work, (plumb_scorer)i);
    return st;
}

// The likelihood ratio. A scorer lr that nobody asked for is left out if it cannot be fitted.
static plumb_status measure_ratio(surprise_work *work, bool *wants_lr)
{
    const known_tuples *known = &work->known;
    if (!known->count || !work->known_r[PLUMB_SCORER_KNN]) {
        const char *why = "needs two tuples of each concept that are not judged";
        if (*wants_lr && has_choice(work->opt)) return fail(PLUMB_EVALUE, "the scorer lr %s", why);
        if (*wants_lr) work->out->scorers[PLUMB_SCORER_LR].why = why;
        *wants_lr = false;
        return PLUMB_OK;
    }
    double *score = ARENA_ALLOC(work->mem, double, 4 * known->count);
    if (!score) return PLUMB_EMEMORY;
    work->known_r[PLUMB_SCORER_LR] = score;
    return likelihood_ratio_measure(&work->out->ratio, score, work->mem,
                                    &(likelihood_ratio_task){
                                        .arrays = work->clips,
                                        .sets = &work->set,
                                        .known = known,
                                        .opt = work->opt,
                                        .known_r = work->known_r[PLUMB_SCORER_KNN],
                                        .judged_r = work->r[PLUMB_SCORER_KNN],
                                    });
}

// Tests whether r_k looks like that of points spread evenly on the sphere.
static plumb_status measure_uniformity(surprise_work *work)
{
    plumb_surprise_uniformity *to = &work->out->uniformity;
    if (!work->opt->normalise) {
        to->why = "features are not of unit length";
        return PLUMB_OK;
    }
    const int64_t n = 4 * work->out->tested;
    int64_t *observed = ARENA_ALLOC(work->mem, int64_t, n);
    if (!observed) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) observed[i] = work->set.observed_of[i / 4];
    plumb_status st = uniformity_measure(to, work->mem, work->r[PLUMB_SCORER_KNN], observed, n,
                                         work->opt->k, work->clips->dims);
    if (st || !work->out->concept_count) return st;
    // The same for each concept alone.
    plumb_surprise_uniformity *each =
        ARENA_ALLOC(work->mem, plumb_surprise_uniformity, work->out->concept_count);
    double *r = ARENA_ALLOC(work->mem, double, n);
    if (!each || !r) return PLUMB_EMEMORY;
    for (int64_t c = 0; c < work->out->concept_count && !st; c++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) {
            if (work->out->concept_of[i / 4] != c) continue;
            observed[count] = work->set.observed_of[i / 4];
            r[count++] = work->r[PLUMB_SCORER_KNN][i];
        }
        st = uniformity_measure(&each[c], work->mem, r, observed, count, work->opt->k,
                                work->clips->dims);
    }
    work->out->concept_uniformity = each;
    return st;
}

// McNemar's test for each pair of measured scorers.
static plumb_status compare_scorers(surprise_work *work)
{
    plumb_surprise *out = work->out;
    plumb_surprise_comparison *pairs =
        ARENA_ALLOC(work->mem, plumb_surprise_comparison, PLUMB_SCORER_COUNT * PLUMB_SCORER_COUNT);
    if (!pairs) return PLUMB_EMEMORY;
    for (int a = 0; a < PLUMB_SCORER_COUNT; a++)
        for (int b = a + 1; b < PLUMB_SCORER_COUNT; b++) {
            if (!out->scorers[a].measured || !out->scorers[b].measured) continue;
            plumb_surprise_comparison *pair = &pairs[out->pair_count++];
            *pair =
                tuple_metrics_compare(out->scorers[a].score, out->scorers[b].score, out->tested);
            pair->first = (plumb_scorer)a;
            pair->second = (plumb_scorer)b;
        }
    out->pairs = pairs;
    return PLUMB_OK;
}

// ---- all of it ----

// r of all dense scorers. knn is also needed by knn-log and as the scale of the other gammas.
static plumb_status measure_distances(surprise_work *work, bool wanted[PLUMB_SCORER_COUNT])
{
    for (int i = PLUMB_SCORER_IFOREST; i <= PLUMB_SCORER_MAHALANOBIS; i++)
        work->scales_gamma = work->scales_gamma || (wanted[i] && isnan(work->opt->gammas[i]));
    bool needed[PLUMB_SCORER_COUNT];
    memcpy(needed, wanted, sizeof needed);
    needed[PLUMB_SCORER_KNN] = wanted[PLUMB_SCORER_KNN] || wanted[PLUMB_SCORER_KNN_LOG] ||
                               wanted[PLUMB_SCORER_LR] || work->scales_gamma;
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < PLUMB_SCORER_COUNT && !st; i++) {
        if (!needed[i] || !scorer_find((plumb_scorer)i)) continue;
        st = measure_distance(work, (plumb_scorer)i);
        // A scorer that nobody asked for by name does not end the whole measurement. Without knn
        // the others have no scale.
        if (st && st != PLUMB_EMEMORY && st != PLUMB_ESTOPPED && i != PLUMB_SCORER_KNN &&
            !has_choice(work->opt)) {
            work->out->scorers[i].why = arena_strdup(work->mem, plumb_last_error());
            st = work->out->scorers[i].why ? PLUMB_OK : PLUMB_EMEMORY;
            wanted[i] = false;
            work->r[i] = NULL;
        }
        status_progress(0.9 * (i + 1) / PLUMB_SCORER_COUNT);
    }
    if (!st && wanted[PLUMB_SCORER_KNN_LOG]) st = compute_log_distances(work);
    return st;
}

// k of the options, or the share of the observation set that [Lin23] has: 50 of 2000.
static plumb_status choose_k(plumb_surprise *out, plumb_surprise_options *opt,
                             const observation_sets *sets)
{
    int64_t least = INT64_MAX;
    for (int64_t i = 0; i < sets->sets; i++)
        if (sets->set[i].observed_count < least) least = sets->set[i].observed_count;
    if (!opt->k) opt->k = (int64_t)floor(0.025 * (double)least + 0.5);
    if (opt->k < 1) opt->k = 1;
    if (opt->k > least)
        return fail(PLUMB_EVALUE, "k is %lld; with %lld observed clips it can be 1 to %lld",
                    (long long)opt->k, (long long)least, (long long)least);
    out->k = opt->k;
    out->least_observed = least;
    return PLUMB_OK;
}

static plumb_status measure_surprise(plumb_surprise *out, arena *mem,
                                     const plumb_surprise_input *in,
                                     const plumb_surprise_options *opt)
{
    surprise_arrays *arrays = ARENA_ALLOC(mem, surprise_arrays, 1);
    surprise_work *work = ARENA_ALLOC(mem, surprise_work, 1);
    if (!arrays || !work) return PLUMB_EMEMORY;
    bool wanted[PLUMB_SCORER_COUNT];
    plumb_status st = surprise_input_read(arrays, mem, in, opt);
    if (!st) st = choose_scorers(wanted, out, mem, arrays, opt);
    if (st) return st;
    // Dense scorers compare features with observed clips; plain and naive need no observation set.
    bool dense = false;
    for (int i = PLUMB_SCORER_KNN; i < PLUMB_SCORER_COUNT; i++) dense = dense || wanted[i];
    *work = (surprise_work){.out = out, .mem = mem, .clips = arrays, .opt = opt};
    out->tuples = arrays->tuples;
    out->dims = arrays->dims;
    out->frames = arrays->frames;
    out->error_unit = arrays->error_unit;
    out->joined = arrays->joined;
    out->concept_count = arrays->concepts;
    out->concept_names = arrays->concept_name;
    out->zero_features = dense ? arrays->zero_features : 0;
    st = observation_set_make(&work->set, mem, arrays, opt, dense);
    if (st) return st;
    out->tested = work->set.tested;
    out->tested_tuple = work->set.tested_tuple;
    out->concept_of = work->set.concept_of;
    out->split = work->set.split;
    out->observed = work->set.observed;
    plumb_surprise_options resolved = *opt;
    if (dense) st = choose_k(out, &resolved, &work->set);
    if (st) return st;
    work->opt = &resolved;
    out->equal_observations = work->set.equal;
    work->tested = work->set.tested_feature;
    // Surprise per frame of the tested tuples, for reports.
    if (arrays->frames) {
        double *frames = ARENA_ALLOC(mem, double, out->tested * 4 * arrays->frames);
        if (!frames) return PLUMB_EMEMORY;
        for (int64_t i = 0; i < out->tested; i++)
            memcpy(frames + i * 4 * arrays->frames,
                   arrays->frame + out->tested_tuple[i] * 4 * arrays->frames,
                   (size_t)(4 * arrays->frames) * sizeof *frames);
        out->frame_surprise = frames;
    }
    if (wanted[PLUMB_SCORER_NAIVE]) {
        double *r = work->r[PLUMB_SCORER_NAIVE] = ARENA_ALLOC(mem, double, 4 * out->tested);
        if (!r) return PLUMB_EMEMORY;
        for (int64_t i = 0; i < 4 * out->tested; i++)
            r[i] = arrays->naive[4 * out->tested_tuple[i / 4] + i % 4];
    }
    if (dense) st = measure_distances(work, wanted);
    const bool has_ratio = wanted[PLUMB_SCORER_KNN] || wanted[PLUMB_SCORER_LR];
    if (!st) st = read_known(work, has_ratio, wanted);
    if (!st && has_ratio) st = measure_ratio(work, &wanted[PLUMB_SCORER_LR]);
    for (int i = 0; i < PLUMB_SCORER_COUNT && !st; i++)
        if (wanted[i]) st = score_tuples(work, (plumb_scorer)i);
    if (!st && wanted[PLUMB_SCORER_KNN]) st = measure_uniformity(work);
    if (!st) st = compare_scorers(work);
    // The hash of all inputs identifies the data of a result.
    hash_arrays(out->input_hash,
                (const plumb_array *[]){in->surprise, in->truth, in->prediction, in->feature,
                                        in->observation, in->surprise_naive, in->concepts,
                                        in->error_unit, in->motion, in->observation_concepts},
                10);
    return st;
}

plumb_status plumb_surprise_measure(plumb_surprise *out, const plumb_surprise_input *input,
                                    const plumb_surprise_options *opt)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(input);
    assert(out && input);
    const double start = clock_now();
    plumb_surprise_options checked = plumb_surprise_defaults();
    plumb_surprise_input in = {0};
    plumb_status st = options_resolve(&checked, sizeof checked, opt, "plumb_surprise_options");
    if (!st) st = surprise_options_check(&checked);
    if (!st) st = options_resolve(&in, sizeof in, input, "plumb_surprise_input");
    if (st) return st;

    plumb_surprise result = {0};
    arena *mem = result_begin(&result.memory);
    st = mem ? measure_surprise(&result, mem, &in, &checked) : PLUMB_EMEMORY;
    st = result_end(st, &result.memory);
    if (st) return st;
    result.seconds = clock_now() - start;
    *out = result;
    return PLUMB_OK;
}

void plumb_surprise_clear(plumb_surprise *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
