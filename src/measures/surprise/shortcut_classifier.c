// SPDX-License-Identifier: MIT
// Ridge regression on features minus their mean over the four clips of a tuple at that time. What
// all four clips share cannot tell them apart, and without it differences as small as one grey
// level count. If the splice is valid, every frame (pair) occurs once as possible and once as
// impossible with the same features, so any classifier is correct in exactly half of the cases.
#include "measures/surprise/shortcut_classifier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "math/rng.h"
#include "math/stats.h"

enum { CLIPS = 4, FOLDS = 2, STREAM_FOLDS = 0x5a, STREAM_BOOTSTRAP = 0x5b };

// On a grid of so many tiles along a step_half: 3 (grid^2 + 3) numbers.
static void compute_features(float *out, int64_t grid, const uint8_t *frame, int64_t height,
                             int64_t width, int64_t channels)
{
    int64_t sum[3][64] = {{0}}, count[64] = {0}, low[3] = {0}, across[3] = {0}, down[3] = {0};
    const int64_t line = width * channels;
    for (int64_t r = 0; r < height; r++)
        for (int64_t c = 0; c < width; c++) {
            const int64_t tile = r * grid / height * grid + c * grid / width;
            count[tile]++;
            for (int64_t k = 0; k < 3; k++) {
                const uint8_t *p = frame + r * line + c * channels + (channels < 3 ? 0 : k);
                sum[k][tile] += *p;
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
    compute_features(out, 8, frame, height, width, channels);
}

void shortcut_classifier_pair(float out[SHORTCUT_PAIR], const uint8_t *first, const uint8_t *second,
                              uint8_t *scratch, int64_t height, int64_t width, int64_t channels)
{
    enum { ONE = SHORTCUT_PAIR / 3 };
    for (int64_t i = 0; i < height * width * channels; i++)
        scratch[i] = (uint8_t)abs(first[i] - second[i]);
    compute_features(out, 4, first, height, width, channels);
    compute_features(out + ONE, 4, second, height, width, channels);
    compute_features(out + 2 * ONE, 4, scratch, height, width, channels);
}

typedef struct ridge_model {
    const float *x;               // (tuples, 4, times, width)
    int64_t tuples, times, width; // as in shortcut_task
    const int *fold;              // (tuples)
    double *scale;                // (width) 1 / standard deviation, or 0
    double *gram, *w;             // (width, width) and (width)
    double *row;                  // (4, width) scratch
} ridge_model;

// row (4, width): the four clips of a tuple at one time minus their mean, times `scale`.
static void center_rows(const ridge_model *model, int64_t tuple, int64_t time)
{
    const int64_t d = model->width;
    for (int64_t k = 0; k < d; k++) {
        double value[CLIPS], mean = 0.0;
        for (int64_t c = 0; c < CLIPS; c++) {
            value[c] = (double)model->x[((tuple * CLIPS + c) * model->times + time) * d + k];
            mean += value[c];
        }
        mean /= CLIPS;
        for (int64_t c = 0; c < CLIPS; c++)
            model->row[c * d + k] = (value[c] - mean) * model->scale[k];
    }
}

// scale = 1 / sqrt(sum of squares) of each feature over the tuples outside `fold`.
static void compute_scale(ridge_model *model, int fold)
{
    const int64_t d = model->width;
    double *square = model->w;
    for (int64_t k = 0; k < d; k++) model->scale[k] = 1.0, square[k] = 0.0;
    for (int64_t i = 0; i < model->tuples; i++)
        for (int64_t s = 0; s < model->times && model->fold[i] != fold; s++) {
            center_rows(model, i, s);
            for (int64_t k = 0; k < CLIPS * d; k++) square[k % d] += model->row[k] * model->row[k];
        }
    for (int64_t k = 0; k < d; k++) model->scale[k] = square[k] > 0.0 ? 1.0 / sqrt(square[k]) : 0.0;
}

// w = (X^T X + 0.01 I)^-1 X^T y over the tuples outside `fold`, y = -1 for possible clips and 1 for
// impossible ones. Columns of X have length 1, so the ridge is a hundredth of each.
static void fit_ridge(ridge_model *model, int fold)
{
    const int64_t d = model->width;
    compute_scale(model, fold);
    memset(model->gram, 0, (size_t)(d * d) * sizeof *model->gram);
    memset(model->w, 0, (size_t)d * sizeof *model->w);
    for (int64_t i = 0; i < model->tuples; i++)
        for (int64_t s = 0; s < model->times && model->fold[i] != fold; s++) {
            center_rows(model, i, s);
            for (int64_t c = 0; c < CLIPS; c++) {
                const double *x = model->row + c * d, y = c < 2 ? -1.0 : 1.0;
                for (int64_t a = 0; a < d; a++) {
                    if (x[a] == 0.0) continue;
                    model->w[a] += y * x[a];
                    for (int64_t b = 0; b <= a; b++) model->gram[a * d + b] += x[a] * x[b];
                }
            }
        }
    for (int64_t a = 0; a < d; a++) model->gram[a * d + a] += 0.01;
    // The ridge makes the matrix positive definite, unless a feature is NaN: then all weights are.
    if (cholesky_small_factor(model->gram, d, 0.0))
        cholesky_small_solve(model->w, model->gram, d, 1);
    else
        for (int64_t a = 0; a < d; a++) model->w[a] = (double)NAN;
}

// 1 above 0, 0 below, one half at 0.
static double step_half(double value)
{
    return value > 0.0 ? 1.0 : value < 0.0 ? 0.0 : 0.5;
}

// Share of this tuple's frames that are named rightly, and whether the impossible clips together
// come out impossible_higher; a tie, but for rounding, is half.
static void score_tuple(double *right, double *impossible_higher, const ridge_model *model,
                        int64_t tuple)
{
    double difference = 0.0, size = 0.0;
    *right = 0.0;
    for (int64_t s = 0; s < model->times; s++) {
        center_rows(model, tuple, s);
        for (int64_t c = 0; c < CLIPS; c++) {
            double score = 0.0;
            for (int64_t k = 0; k < model->width; k++)
                score += model->w[k] * model->row[c * model->width + k];
            *right += c < 2 ? step_half(-score) : step_half(score);
            difference += c < 2 ? -score : score;
            size += fabs(score);
        }
    }
    *right /= (double)(CLIPS * model->times);
    *impossible_higher = fabs(difference) <= 1e-9 * size ? 0.5 : step_half(difference);
}

plumb_status shortcut_classifier_evaluate(shortcut_result *out, arena *mem,
                                          const shortcut_task *task)
{
    const int64_t tuples = task->tuples, width = task->width;
    const arena_mark mark = arena_get_mark(mem);
    int *fold = ARENA_ALLOC(mem, int, tuples);
    int64_t *order = ARENA_ALLOC(mem, int64_t, tuples);
    double *right = ARENA_ALLOC(mem, double, tuples),
           *impossible_higher = ARENA_ALLOC(mem, double, tuples);
    ridge_model model = {
        .x = task->x, .tuples = tuples, .times = task->times, .width = width, .fold = fold};
    model.scale = ARENA_ALLOC(mem, double, width);
    model.w = ARENA_ALLOC(mem, double, width);
    model.gram = ARENA_ALLOC(mem, double, width *width);
    model.row = ARENA_ALLOC(mem, double, CLIPS *width);
    if (!fold || !order || !right || !impossible_higher || !model.scale || !model.w ||
        !model.gram || !model.row)
        return PLUMB_EMEMORY;
    // Two folds, drawn by the seed.
    rng random = rng_at(task->seed, STREAM_FOLDS);
    rng_distinct(order, &random, tuples, tuples);
    for (int64_t i = 0; i < tuples; i++) fold[order[i]] = (int)(i % FOLDS);
    for (int f = 0; f < FOLDS; f++) {
        fit_ridge(&model, f);
        for (int64_t i = 0; i < tuples; i++)
            if (fold[i] == f) score_tuple(&right[i], &impossible_higher[i], &model, i);
    }
    *out = (shortcut_result){0};
    for (int64_t i = 0; i < tuples; i++) {
        out->accuracy += right[i];
        out->tuple_accuracy += impossible_higher[i];
    }
    out->accuracy /= (double)tuples;
    out->tuple_accuracy /= (double)tuples;
    const bootstrap_options draws = {tuples, task->resamples, task->seed, STREAM_BOOTSTRAP};
    plumb_status st = stats_bootstrap_mean(&out->accuracy_ci, mem, right, &draws);
    if (!st) st = stats_bootstrap_mean(&out->tuple_ci, mem, impossible_higher, &draws);
    out->leak = out->accuracy_ci.low > 0.5 + 1e-9 || out->tuple_ci.low > 0.5 + 1e-9;
    arena_rewind(mem, mark);
    return st;
}
