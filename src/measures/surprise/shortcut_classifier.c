// SPDX-License-Identifier: MIT
// Least squares with a ridge, on features from which the mean over the four clips of a tuple at
// that time is taken away: what all four share tells nobody which is which, and differences as
// small as one grey level are not lost in it. Where the splice holds, every frame (pair) is there
// once as possible and once as impossible, with the same numbers, and whatever the classifier says
// is right in exactly half of the cases.
#include "measures/surprise/shortcut_classifier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "math/rng.h"
#include "math/stats.h"

enum { CLIPS = 4, FOLDS = 2, STREAM = 0x5a, DRAWS = 0x5b };

// On a grid of so many cells along a side: 3 (grid^2 + 3) numbers.
static void describe(float *out, int64_t grid, const uint8_t *frame, int64_t height, int64_t width,
                     int64_t channels)
{
    int64_t sum[3][64] = {{0}}, count[64] = {0}, low[3] = {0}, across[3] = {0}, down[3] = {0};
    const int64_t line = width * channels;
    for (int64_t r = 0; r < height; r++)
        for (int64_t c = 0; c < width; c++) {
            const int64_t cell = r * grid / height * grid + c * grid / width;
            count[cell]++;
            for (int64_t k = 0; k < 3; k++) {
                const uint8_t *p = frame + r * line + c * channels + (channels < 3 ? 0 : k);
                sum[k][cell] += *p;
                low[k] += *p & 1;
                if (c + 1 < width) across[k] += abs(*p - p[channels]);
                if (r + 1 < height) down[k] += abs(*p - p[line]);
            }
        }
    const double pixels = (double)(height * width);
    for (int k = 0; k < 3; k++) {
        for (int64_t i = 0; i < grid * grid; i++)
            *out++ = count[i] ? (float)((double)sum[k][i] / (double)count[i]) : 0.0f;
        *out++ = (float)((double)low[k] / pixels);
        *out++ = (float)((double)across[k] / pixels);
        *out++ = (float)((double)down[k] / pixels);
    }
}

void shortcut_classifier_frame(float out[SHORTCUT_FRAME], const uint8_t *frame, int64_t height,
                               int64_t width, int64_t channels)
{
    describe(out, 8, frame, height, width, channels);
}

void shortcut_classifier_pair(float out[SHORTCUT_PAIR], const uint8_t *first, const uint8_t *second,
                              uint8_t *scratch, int64_t height, int64_t width, int64_t channels)
{
    enum { ONE = SHORTCUT_PAIR / 3 };
    for (int64_t i = 0; i < height * width * channels; i++)
        scratch[i] = (uint8_t)abs(first[i] - second[i]);
    describe(out, 4, first, height, width, channels);
    describe(out + ONE, 4, second, height, width, channels);
    describe(out + 2 * ONE, 4, scratch, height, width, channels);
}

typedef struct task {
    const float *x;
    int64_t tuples, times, width;
    const int *fold;  // (tuples)
    double *scale;    // (width) 1 / standard deviation, or 0
    double *gram, *w; // (width, width) and (width)
    double *row;      // (4, width) scratch
} task;

// The four clips of a tuple at one time, their mean taken away, scaled.
static void rows_of(const task *t, int64_t tuple, int64_t time)
{
    const int64_t d = t->width;
    for (int64_t k = 0; k < d; k++) {
        double value[CLIPS], mean = 0.0;
        for (int64_t c = 0; c < CLIPS; c++) {
            value[c] = (double)t->x[((tuple * CLIPS + c) * t->times + time) * d + k];
            mean += value[c];
        }
        mean /= CLIPS;
        for (int64_t c = 0; c < CLIPS; c++) t->row[c * d + k] = (value[c] - mean) * t->scale[k];
    }
}

static void find_scale(task *t, int fold)
{
    const int64_t d = t->width;
    double *square = t->w;
    for (int64_t k = 0; k < d; k++) t->scale[k] = 1.0, square[k] = 0.0;
    for (int64_t i = 0; i < t->tuples; i++)
        for (int64_t s = 0; s < t->times && t->fold[i] != fold; s++) {
            rows_of(t, i, s);
            for (int64_t k = 0; k < CLIPS * d; k++) square[k % d] += t->row[k] * t->row[k];
        }
    for (int64_t k = 0; k < d; k++) t->scale[k] = square[k] > 0.0 ? 1.0 / sqrt(square[k]) : 0.0;
}

// Learns from all tuples that are not in `fold`. Impossible is above 0. Columns have length one, so
// a ridge of 0.01 is a hundredth of each.
static void train(task *t, int fold)
{
    const int64_t d = t->width;
    find_scale(t, fold);
    memset(t->gram, 0, (size_t)(d * d) * sizeof *t->gram);
    memset(t->w, 0, (size_t)d * sizeof *t->w);
    for (int64_t i = 0; i < t->tuples; i++)
        for (int64_t s = 0; s < t->times && t->fold[i] != fold; s++) {
            rows_of(t, i, s);
            for (int64_t c = 0; c < CLIPS; c++) {
                const double *x = t->row + c * d, y = c < 2 ? -1.0 : 1.0;
                for (int64_t a = 0; a < d; a++) {
                    if (x[a] == 0.0) continue;
                    t->w[a] += y * x[a];
                    for (int64_t b = 0; b <= a; b++) t->gram[a * d + b] += x[a] * x[b];
                }
            }
        }
    for (int64_t a = 0; a < d; a++) t->gram[a * d + a] += 0.01;
    // The ridge makes the matrix positive definite, unless a feature is NaN: then all weights are.
    if (cholesky_small_factor(t->gram, d, 0.0)) cholesky_small_solve(t->w, t->gram, d, 1);
    else
        for (int64_t a = 0; a < d; a++) t->w[a] = (double)NAN;
}

static double side(double value)
{
    return value > 0.0 ? 1.0 : value < 0.0 ? 0.0 : 0.5;
}

// Share of this tuple's frames that are named rightly, and whether the impossible clips together
// come out higher; a tie, but for rounding, is half.
static void judge(double *right, double *higher, const task *t, int64_t tuple)
{
    double difference = 0.0, size = 0.0;
    *right = 0.0;
    for (int64_t s = 0; s < t->times; s++) {
        rows_of(t, tuple, s);
        for (int64_t c = 0; c < CLIPS; c++) {
            double score = 0.0;
            for (int64_t k = 0; k < t->width; k++) score += t->w[k] * t->row[c * t->width + k];
            *right += c < 2 ? side(-score) : side(score);
            difference += c < 2 ? -score : score;
            size += fabs(score);
        }
    }
    *right /= (double)(CLIPS * t->times);
    *higher = fabs(difference) <= 1e-9 * size ? 0.5 : side(difference);
}

plumb_status shortcut_classifier_evaluate(plumb_audit_classifier *out, arena *mem, const float *x,
                                          int64_t tuples, int64_t times, int64_t width,
                                          const plumb_audit_options *opt)
{
    const arena_mark mark = arena_get_mark(mem);
    int *fold = ARENA_ALLOC(mem, int, tuples);
    int64_t *order = ARENA_ALLOC(mem, int64_t, tuples);
    double *right = ARENA_ALLOC(mem, double, tuples), *higher = ARENA_ALLOC(mem, double, tuples);
    task t = {.x = x, .tuples = tuples, .times = times, .width = width, .fold = fold};
    t.scale = ARENA_ALLOC(mem, double, width);
    t.w = ARENA_ALLOC(mem, double, width);
    t.gram = ARENA_ALLOC(mem, double, width *width);
    t.row = ARENA_ALLOC(mem, double, CLIPS *width);
    if (!fold || !order || !right || !higher || !t.scale || !t.w || !t.gram || !t.row)
        return PLUMB_EMEMORY;
    rng r = rng_at(opt->seed, STREAM);
    rng_distinct(order, &r, tuples, tuples);
    for (int64_t i = 0; i < tuples; i++) fold[order[i]] = (int)(i % FOLDS);
    for (int f = 0; f < FOLDS; f++) {
        train(&t, f);
        for (int64_t i = 0; i < tuples; i++)
            if (fold[i] == f) judge(&right[i], &higher[i], &t, i);
    }
    *out = (plumb_audit_classifier){0};
    for (int64_t i = 0; i < tuples; i++) {
        out->accuracy += right[i];
        out->tuple_accuracy += higher[i];
    }
    out->accuracy /= (double)tuples;
    out->tuple_accuracy /= (double)tuples;
    const bootstrap_options draws = {tuples, opt->bootstrap, opt->seed, DRAWS};
    plumb_status st = stats_bootstrap_mean(&out->accuracy_ci, mem, right, &draws);
    if (!st) st = stats_bootstrap_mean(&out->tuple_ci, mem, higher, &draws);
    out->leak = out->accuracy_ci.low > 0.5 + 1e-9 || out->tuple_ci.low > 0.5 + 1e-9;
    arena_rewind(mem, mark);
    return st;
}
