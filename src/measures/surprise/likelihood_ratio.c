// SPDX-License-Identifier: MIT
// First the order of clips, then its scale. The order is that of u - b v, where u is the surprise
// over its mean on possible clips, or the logarithm of that, and v = (d - 1) log r_k; b is what
// decides most known tuples. The scale is a logistic regression of known single clips, for each
// concept, which cannot change the order inside a tuple. Of the kinds of u that decide about as
// many known tuples as the best, the one with the least cross-entropy on known single clips is
// taken.
#include "measures/surprise/likelihood_ratio.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "measures/surprise/tuple_metrics.h"

enum { NEIGHBOURS = 20, MAX_POINTS = 500, WEIGHTS = 26, VARIANCES = 3 };

// ---- the dimension of the observed features ----

// Distances to the NEIGHBOURS nearest other points, ascending. Returns how many.
static int64_t find_neighbours(double near[NEIGHBOURS], const double *points, int64_t count,
                               int64_t dims, int64_t at)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i == at) continue;
        double square = 0.0;
        for (int64_t j = 0; j < dims; j++) {
            const double off = points[i * dims + j] - points[at * dims + j];
            square += off * off;
        }
        if (!(square > 0.0)) continue; // a repeated point says nothing
        if (found == NEIGHBOURS && square >= near[NEIGHBOURS - 1]) continue;
        int64_t place = found < NEIGHBOURS ? found++ : NEIGHBOURS - 1;
        for (; place > 0 && near[place - 1] > square; place--) near[place] = near[place - 1];
        near[place] = square;
    }
    for (int64_t i = 0; i < found; i++) near[i] = sqrt(near[i]);
    return found;
}

double likelihood_ratio_dimension(const double *points, int64_t count, int64_t dims)
{
    double sum = 0.0, terms = 0.0;
    const int64_t used = count < MAX_POINTS ? count : MAX_POINTS;
    for (int64_t i = 0; i < used; i++) {
        double near[NEIGHBOURS], logs = 0.0;
        const int64_t found = find_neighbours(near, points, count, dims, i * count / used);
        if (found < 3) continue;
        for (int64_t j = 0; j + 1 < found; j++) logs += log(near[found - 1] / near[j]);
        sum += logs / (double)(found - 2); // unbiased for the inverse
        terms += 1.0;
    }
    // Too few different points to tell: all dimensions count.
    return sum > 0.0 && terms > 0.0 ? fmin(terms / sum, (double)dims) : (double)dims;
}

// ---- the order of clips ----

// All clips of one task: u for all kinds of variance, and v; known tuples first, then judged ones.
typedef struct clip_terms {
    int64_t known, judged;
    double *u[VARIANCES], *v; // (known + judged, 4)
    double *mean;             // (concepts) of the surprise of possible clips
    bool positive;            // all surprises are, so that they have logarithms
} clip_terms;

// The kinds of variance: one for all frames of a clip, one for each frame, or an unknown one for
// each scene. Averaged over scales of all sizes, -log of a Gaussian of n errors is (n / 2) log s.
enum { VARIANCE_CLIP, VARIANCE_FRAME, VARIANCE_SCENE };

// A tuple of the task, and its concept.
static int64_t get_tuple(int64_t *concept, const likelihood_ratio_task *task, int64_t i)
{
    const known_tuples *known = task->known;
    const int64_t judged = i - known->count;
    const int64_t tuple = judged < 0 ? known->tuple[i] : task->sets->tested_tuple[judged];
    *concept = task->arrays->concept_of ? task->arrays->concept_of[tuple] : 0;
    return tuple;
}

// scale (frames + 1): mean of |s| on possible known clips of a concept, for each frame and the
// clip.
static void average_possible(double *scale, const likelihood_ratio_task *task, int64_t concept,
                             int64_t fold)
{
    const surprise_arrays *arrays = task->arrays;
    const int64_t frames = arrays->frames;
    double clips = 0.0;
    memset(scale, 0, (size_t)(frames + 1) * sizeof *scale);
    for (int64_t i = 0; i < task->known->count; i++) {
        if (task->known->concept[i] != concept || !known_tuples_use(task->known, i, fold)) continue;
        for (int64_t j = 0; j < 2; j++) {
            const int64_t clip = 4 * task->known->tuple[i] + j;
            for (int64_t t = 0; t < frames; t++) scale[t] += fabs(arrays->frame[clip * frames + t]);
            scale[frames] += fabs(arrays->clip[clip]);
        }
        clips += 2.0;
    }
    // A surprise that is always zero has no scale.
    for (int64_t t = 0; t <= frames; t++)
        scale[t] = scale[t] > 0.0 && clips > 0.0 ? scale[t] / clips : 1.0;
}

// u and v of all tuples, with means of the known tuples outside `fold`. dimension (sets).
static plumb_status compute_terms(clip_terms *terms, arena *mem, const likelihood_ratio_task *task,
                                  const double *dimension, int64_t fold)
{
    const surprise_arrays *arrays = task->arrays;
    const int64_t frames = arrays->frames, concepts = task->known->concepts;
    double *scale = ARENA_ALLOC(mem, double, concepts *(frames + 1));
    if (!scale) return PLUMB_EMEMORY;
    for (int64_t c = 0; c < concepts; c++) {
        average_possible(scale + c * (frames + 1), task, c, fold);
        terms->mean[c] = scale[c * (frames + 1) + frames];
    }
    terms->positive = true;
    for (int64_t i = 0; i < terms->known + terms->judged; i++) {
        int64_t concept;
        const int64_t tuple = get_tuple(&concept, task, i);
        const double *by = scale + concept * (frames + 1);
        const double *r =
            i < terms->known ? task->known_r + 4 * i : task->judged_r + 4 * (i - terms->known);
        const double exponent = dimension[task->sets->sets > 1 ? concept : 0];
        for (int64_t j = 0; j < 4; j++) {
            const int64_t clip = 4 * tuple + j, at = 4 * i + j;
            double sum = 0.0;
            for (int64_t t = 0; t < frames; t++) sum += arrays->frame[clip * frames + t] / by[t];
            terms->u[VARIANCE_CLIP][at] = arrays->clip[clip] / by[frames];
            terms->u[VARIANCE_FRAME][at] =
                frames ? sum / (double)frames : terms->u[VARIANCE_CLIP][at];
            terms->positive = terms->positive && terms->u[VARIANCE_CLIP][at] > 0.0;
            terms->u[VARIANCE_SCENE][at] = log(fmax(terms->u[VARIANCE_CLIP][at], 1e-300));
            // A clip that was observed has an infinite density; cut it.
            terms->v[at] = exponent * log(fmax(r[j], 1e-12));
        }
    }
    return PLUMB_OK;
}

// Sum of the impossible clips minus that of the possible ones.
static double subtract_sums(const double *x)
{
    return (x[2] + x[3]) - (x[0] + x[1]);
}

// Mean over concepts of the share of known tuples outside `fold` that u - weight v decides.
static double decide_known(const clip_terms *terms, const likelihood_ratio_task *task, int kind,
                           double weight, int64_t fold)
{
    const known_tuples *known = task->known;
    double sum = 0.0, concepts = 0.0;
    for (int64_t c = 0; c < known->concepts; c++) {
        double right = 0.0, count = 0.0;
        for (int64_t i = 0; i < known->count; i++) {
            if (known->concept[i] != c || !known_tuples_use(known, i, fold)) continue;
            double score[4];
            for (int j = 0; j < 4; j++)
                score[j] = terms->u[kind][4 * i + j] - weight * terms->v[4 * i + j];
            right += tuple_metrics_right(score);
            count += 1.0;
        }
        if (count > 0.0) sum += right / count, concepts += 1.0;
    }
    return concepts > 0.0 ? sum / concepts : 0.0;
}

// The weight of v that decides most known tuples with one kind of variance, the least of equal
// ones. `share` is what it decides.
static double choose_weight(double *share, const clip_terms *terms,
                            const likelihood_ratio_task *task, int kind, int64_t fold)
{
    double chosen = 0.0, u = 0.0, v = 0.0;
    *share = -1.0;
    for (int64_t i = 0; i < terms->known; i++) {
        u += subtract_sums(terms->u[kind] + 4 * i) * subtract_sums(terms->u[kind] + 4 * i);
        v += subtract_sums(terms->v + 4 * i) * subtract_sums(terms->v + 4 * i);
    }
    // Weights from a thousandth to a thousand times that at which both terms are as large.
    const double even = v > 0.0 ? sqrt(u / v) : 0.0;
    for (int w = 0; w < WEIGHTS; w++) {
        const double weight = w ? even * pow(10.0, 0.25 * (w - 13)) : 0.0;
        const double right = decide_known(terms, task, kind, weight, fold);
        if (right > *share) *share = right, chosen = weight;
    }
    return chosen;
}

// ---- the scale ----

typedef struct logistic_fit {
    double slope, offset;
} logistic_fit;

// Logistic regression of the known clips of one concept, with the targets of [Platt99]. x (known,
// 4). `slope` above 0 is kept; else it is fitted, and never turns the order round.
static logistic_fit fit_logistic(const double *x, const known_tuples *known, int64_t concept,
                                 int64_t fold, double slope)
{
    double n = 0.0, sum = 0.0, square = 0.0;
    for (int64_t i = 0; i < 4 * known->count; i++)
        if (known->concept[i / 4] == concept && known_tuples_use(known, i / 4, fold)) {
            n += 1.0;
            sum += x[i];
        }
    if (n < 1.0) return (logistic_fit){0};
    const double mean = sum / n;
    for (int64_t i = 0; i < 4 * known->count; i++)
        if (known->concept[i / 4] == concept && known_tuples_use(known, i / 4, fold))
            square += (x[i] - mean) * (x[i] - mean);
    const double deviation = sqrt(square / n), least = 1e-3;
    if (!(deviation > 0.0)) return (logistic_fit){0};
    const double high = (0.5 * n + 1.0) / (0.5 * n + 2.0);
    double a = slope > 0.0 ? slope * deviation : 1.0, b = 0.0;
    for (int step = 0; step < 60; step++) {
        double ga = 0.0, gb = 0.0, haa = 1e-9, hab = 0.0, hbb = 1e-9;
        for (int64_t i = 0; i < 4 * known->count; i++) {
            if (known->concept[i / 4] != concept || !known_tuples_use(known, i / 4, fold)) continue;
            const double z = (x[i] - mean) / deviation, p = 1.0 / (1.0 + exp(-(a * z + b)));
            const double off = p - (i % 4 >= 2 ? high : 1.0 - high), w = p * (1.0 - p);
            ga += off * z, gb += off;
            haa += w * z * z, hab += w * z, hbb += w;
        }
        // Newton's step, at most 1 in each direction: far from the solution it is too long.
        const double det = haa * hbb - hab * hab;
        double da = slope > 0.0 ? 0.0 : (hbb * ga - hab * gb) / det;
        double db = slope > 0.0 ? gb / hbb : (haa * gb - hab * ga) / det;
        da = fmax(-1.0, fmin(1.0, da)), db = fmax(-1.0, fmin(1.0, db));
        a -= da, b -= db;
        if (fabs(da) + fabs(db) < 1e-12) break;
    }
    // The known clips do not show that the order is right: hardly anything can be concluded.
    if (a < least) a = least, b = 0.0;
    return (logistic_fit){a / deviation, b - a * mean / deviation};
}

// Mean cross-entropy of known single clips outside `fold`, after the logistic regression of each
// concept. x (known, 4).
static double measure_entropy(const double *x, const likelihood_ratio_task *task, int64_t fold)
{
    const known_tuples *known = task->known;
    double sum = 0.0, clips = 0.0;
    for (int64_t c = 0; c < known->concepts; c++) {
        const logistic_fit fit = fit_logistic(x, known, c, fold, 0.0);
        for (int64_t i = 0; i < 4 * known->count; i++) {
            if (known->concept[i / 4] != c || !known_tuples_use(known, i / 4, fold)) continue;
            // -log of the probability of what the clip is, log(1 + e^-z) without overflow.
            const double z = (i % 4 >= 2 ? 1.0 : -1.0) * (fit.slope * x[i] + fit.offset);
            sum += z > 0.0 ? log1p(exp(-z)) : log1p(exp(z)) - z;
            clips += 1.0;
        }
    }
    return clips > 0.0 ? sum / clips : 0.0;
}

// The kind of variance and its weight of v. x (known + judged, 4) is room for u - weight v. Kinds
// that decide fewer known tuples than the best by more than its standard error are out.
static double choose_kind(int *kind, double *x, const clip_terms *terms,
                          const likelihood_ratio_task *task, int64_t fold)
{
    double share[VARIANCES], weight[VARIANCES], best = 0.0, least = (double)INFINITY;
    bool possible[VARIANCES] = {true, task->arrays->frames > 0,
                                terms->positive && !(task->opt->temperature > 0.0)};
    for (int k = 0; k < VARIANCES; k++) {
        if (!possible[k]) continue;
        weight[k] = choose_weight(&share[k], terms, task, k, fold);
        best = fmax(best, share[k]);
    }
    const double count = fmax((double)terms->known, 1.0), error = sqrt(best * (1.0 - best) / count);
    *kind = VARIANCE_CLIP;
    for (int k = 0; k < VARIANCES; k++) {
        if (!possible[k] || share[k] < best - error) continue;
        for (int64_t i = 0; i < 4 * terms->known; i++)
            x[i] = terms->u[k][i] - weight[k] * terms->v[i];
        const double entropy = measure_entropy(x, task, fold);
        if (entropy < least) least = entropy, *kind = k;
    }
    return weight[*kind];
}

// ---- all of it ----

// Adds the parameters of one fold to `out`, and writes the log ratio of the tuples that it judges.
static plumb_status judge_fold(plumb_surprise_ratio *out, double *log_ratio, double *known_score,
                               arena *mem, const likelihood_ratio_task *task, int64_t fold)
{
    const known_tuples *known = task->known;
    const int64_t n = known->count, judged = task->sets->tested, concepts = known->concepts;
    const arena_mark mark = arena_get_mark(mem);
    clip_terms terms = {.known = n, .judged = judged, .mean = ARENA_ALLOC(mem, double, concepts)};
    terms.v = ARENA_ALLOC(mem, double, 4 * (n + judged));
    for (int k = 0; k < VARIANCES; k++)
        if (!(terms.u[k] = ARENA_ALLOC(mem, double, 4 * (n + judged)))) return PLUMB_EMEMORY;
    double *x = ARENA_ALLOC(mem, double, 4 * (n + judged));
    if (!terms.mean || !terms.v || !x) return PLUMB_EMEMORY;
    const plumb_status st = compute_terms(&terms, mem, task, out->dimension, fold);
    if (st) return st;
    int kind;
    const double weight = choose_kind(&kind, x, &terms, task, fold);
    for (int64_t i = 0; i < 4 * (n + judged); i++) x[i] = terms.u[kind][i] - weight * terms.v[i];
    const double share = 1.0 / (double)known->folds;
    out->frame_variances = out->frame_variances || kind == VARIANCE_FRAME;
    out->scene_variances = out->scene_variances || kind == VARIANCE_SCENE;
    for (int64_t c = 0; c < concepts; c++) {
        const double fixed =
            task->opt->temperature > 0.0 ? terms.mean[c] / task->opt->temperature : 0.0;
        const logistic_fit fit = fit_logistic(x, known, c, fold, fixed);
        ((double *)out->temperature)[c] += share * terms.mean[c] / fit.slope;
        ((double *)out->weight)[c] += share * fit.slope * weight;
        for (int64_t i = 0; i < n + judged; i++) {
            int64_t concept;
            get_tuple(&concept, task, i);
            if (concept != c) continue;
            for (int64_t j = 4 * i; j < 4 * i + 4; j++) {
                const double value = fit.slope * x[j] + fit.offset;
                if (i < n && known->split) known_score[j] = value;
                else if (i >= n && known->judged_fold[i - n] == fold) log_ratio[j - 4 * n] = value;
            }
        }
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// Probabilities of the judged clips, and how well they agree with what the clips are. Impossible
// clips weigh as the prior says, although half of the clips are impossible.
static void measure_calibration(plumb_surprise_ratio *out, double *posterior, int64_t count,
                                double prior)
{
    double weights[PLUMB_SURPRISE_BINS] = {0}, said[PLUMB_SURPRISE_BINS] = {0},
           were[PLUMB_SURPRISE_BINS] = {0}, all = 0.0;
    for (int64_t i = 0; i < 4 * count; i++) {
        const bool impossible = i % 4 >= 2;
        const double w = impossible ? prior : 1.0 - prior;
        // p / (p + (1 - p) / LR) [Lin23]
        const double p = 1.0 / (1.0 + exp(-(out->log_ratio[i] - out->log_threshold)));
        const int bin = p >= 1.0 ? PLUMB_SURPRISE_BINS - 1 : (int)(p * PLUMB_SURPRISE_BINS);
        posterior[i] = p;
        out->brier += w * (p - impossible) * (p - impossible);
        out->posterior_mean[impossible] += p / (2.0 * (double)count);
        weights[bin] += w, said[bin] += w * p, were[bin] += w * impossible, all += w;
        out->calibration_clips[bin]++;
    }
    out->brier /= all;
    for (int b = 0; b < PLUMB_SURPRISE_BINS; b++) {
        const bool empty = !(weights[b] > 0.0);
        out->calibration_said[b] = empty ? (double)NAN : said[b] / weights[b];
        out->calibration_found[b] = empty ? (double)NAN : were[b] / weights[b];
        if (!empty) out->calibration_error += fabs(said[b] - were[b]) / all;
    }
    out->posterior = posterior;
}

plumb_status likelihood_ratio_measure(plumb_surprise_ratio *out, double *known_score, arena *mem,
                                      const likelihood_ratio_task *task)
{
    const known_tuples *known = task->known;
    const observation_sets *sets = task->sets;
    const int64_t n = sets->tested;
    double *ratio = ARENA_ALLOC(mem, double, 4 * n), *posterior = ARENA_ALLOC(mem, double, 4 * n);
    double *dimension = ARENA_ALLOC(mem, double, sets->sets);
    plumb_surprise_ratio found = {.log_ratio = ratio,
                                  .dimension = dimension,
                                  .temperature = ARENA_ALLOC(mem, double, known->concepts),
                                  .weight = ARENA_ALLOC(mem, double, known->concepts)};
    if (!ratio || !posterior || !dimension || !found.temperature || !found.weight)
        return PLUMB_EMEMORY;
    found.concepts = known->concepts;
    found.sets = sets->sets;
    // The dimension of the features themselves: on a sphere that is d - 1.
    for (int64_t i = 0; i < sets->sets; i++)
        dimension[i] = likelihood_ratio_dimension(sets->set[i].observed,
                                                  sets->set[i].observed_count, task->arrays->dims);
    plumb_status st = PLUMB_OK;
    for (int64_t fold = 0; fold < known->folds && !st; fold++)
        st = judge_fold(&found, ratio, known_score, mem, task, fold);
    if (!st && !known->split) memcpy(known_score, ratio, (size_t)(4 * n) * sizeof *ratio);
    if (st) return st;

    // Impossible if the ratio reaches (1 - prior) / prior, the threshold of Bayes' rule. Type 1:
    // impossible clips (2, 3) below it; type 2: possible clips (0, 1) above it.
    const double prior = task->opt->prior;
    found.log_threshold = log((1.0 - prior) / prior);
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < 4 * n; i++) {
        low += i % 4 >= 2 && ratio[i] < found.log_threshold;
        high += i % 4 < 2 && ratio[i] >= found.log_threshold;
    }
    found.type1 = (double)low / (2.0 * (double)n);
    found.type2 = (double)high / (2.0 * (double)n);
    found.accuracy = 1.0 - 0.5 * (found.type1 + found.type2);
    measure_calibration(&found, posterior, n, prior);
    st = tuple_metrics_auroc(&found.auroc, mem, ratio, n);
    if (!st)
        st = tuple_metrics_best(&found.best_log_threshold, &found.best_accuracy, mem, ratio, n);
    found.measured = !st;
    if (!st) *out = found;
    return st;
}
