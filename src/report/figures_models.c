// SPDX-License-Identifier: MIT
// Many models: ordered by how long their pictures stay right, and which measure foretells that.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "report/axes.h"
#include "report/subject.h"

enum { MOST = 60, ROW = 24, LEFT = 200, RIGHT = 190 };

static int by_vpt(const void *a, const void *b)
{
    const double x = subject_vpt(*(const subject *const *)a),
                 y = subject_vpt(*(const subject *const *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

// Models with a VPT, best first.
static int64_t ordered(const subject **out, int64_t room, const plumb_report *r)
{
    int64_t n = 0;
    for (const subject *s = r->first; s && n < room; s = s->next)
        if (isfinite(subject_vpt(s))) out[n++] = s;
    qsort(out, (size_t)n, sizeof *out, by_vpt);
    return n;
}

static double models_height(const plumb_report *r, const subject *none)
{
    (void)none;
    const subject *all[MOST];
    const int64_t n = ordered(all, MOST, r);
    return n > 1 ? 40 + (double)(n * ROW) + 54 : 0;
}

static plumb_status models_draw(sketch *k, arena *mem, const plumb_report *r, const subject *none)
{
    (void)mem, (void)none;
    const subject *all[MOST];
    const int64_t n = ordered(all, MOST, r);
    double most = fmax(subject_vpt(all[0]), 1), ends[2];
    for (int64_t i = 0; i < n; i++)
        if (tree_reals(ends, 2, all[i]->forecast, "vpt_ci") == 2 && ends[1] < 1e9)
            most = fmax(most, ends[1]);
    axes_panel p = {.x = LEFT, .y = 38, .w = FIGURE_WIDTH - LEFT - RIGHT, .h = (double)(n * ROW)};
    p.across = axes_between(0, 1.02 * most, 5);
    p.up = (axes_span){.low = 0, .high = (double)n};
    axes_draw(k, &p, "valid prediction time, frames", NULL);
    k->disc(k, 12, 17, 5, sketch_rgb(PALETTE_GREEN));
    k->text(k, 24, 21.5, 13, SKETCH_LEFT, sketch_rgb(PALETTE_PALE), "SyMetric 1");
    k->text(k, FIGURE_WIDTH - RIGHT + 14, 21.5, 13, SKETCH_LEFT, sketch_rgb(PALETTE_PALE), "R2");
    k->text(k, FIGURE_WIDTH - RIGHT + 84, 21.5, 13, SKETCH_LEFT, sketch_rgb(PALETTE_PALE), "Sym");
    for (int64_t i = 0; i < n; i++) {
        const subject *s = all[i];
        const double y = p.y + (double)(i * ROW) + ROW / 2.0, vpt = subject_vpt(s);
        const bool passes = tree_real(s->measure, "symetric") > 0.5;
        double ci[2];
        char text[64];
        snprintf(text, sizeof text, "%.28s", s->name);
        k->text(k, LEFT - 10, y + 4.5, 13, SKETCH_RIGHT, sketch_rgb(PALETTE_INK), text);
        k->rectangle(k, p.x + 1, y - 7, fmax(axes_x(&p, vpt) - p.x - 1, 0), 14,
                     sketch_rgb(passes ? PALETTE_GREEN : PALETTE_AXIS));
        if (tree_reals(ci, 2, s->forecast, "vpt_ci") == 2 && ci[1] > ci[0]) {
            const double whisker[] = {axes_x(&p, ci[0]), y, axes_x(&p, ci[1]), y};
            k->path(k, whisker, 2, 1.6, sketch_rgb(PALETTE_INK));
        }
        if (passes) k->disc(k, LEFT - 2, y, 5, sketch_rgb(PALETTE_GREEN));
        if (!s->measure) continue;
        snprintf(text, sizeof text, "%.4f", tree_real(s->measure, "r2"));
        k->text(k, FIGURE_WIDTH - RIGHT + 14, y + 4.5, 13, SKETCH_LEFT, sketch_rgb(PALETTE_INK),
                text);
        const double sym = tree_real(s->measure, "sym");
        if (sym < 1e-9) snprintf(text, sizeof text, "< 1e-9");
        else snprintf(text, sizeof text, "%.2g", sym);
        k->text(k, FIGURE_WIDTH - RIGHT + 84, y + 4.5, 13, SKETCH_LEFT, sketch_rgb(PALETTE_INK),
                text);
    }
    return PLUMB_OK;
}

const figure figure_models = {
    .name = "models",
    .title = "Models by valid prediction time",
    .caption =
        "How many frames each model foretells, with 95 % intervals; green are those whose latents "
        "are the true phase space (SyMetric 1).",
    .all = true,
    .height = models_height,
    .draw = models_draw,
};

// ---- which measure foretells VPT ----

typedef struct foretoken {
    const char *label, *path;
    bool of_forecast;
} foretoken;

static const foretoken tokens[] = {
    {"MSE Rec", "rec_mse", true}, {"MSE Ext", "ext_mse", true},
    {"R2", "r2", false},          {"R2 held out", "r2_heldout", false},
    {"Sym", "sym", false},        {"SyMetric", "symetric", false},
    {"kappa", "kappa", false},
};
enum { TOKENS = sizeof tokens / sizeof *tokens };

// Ranks from 0, ties share their mean.
static void rank(double *out, const double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double below = 0, equal = 0;
        for (int64_t j = 0; j < n; j++) {
            below += v[j] < v[i];
            equal += v[j] == v[i];
        }
        out[i] = below + (equal - 1) / 2;
    }
}

// Spearman's: the correlation of ranks. NaN if either does not vary.
static double spearman(const double *x, const double *y, int64_t n)
{
    double a[MOST], b[MOST], ab = 0, aa = 0, bb = 0;
    const double mean = (double)(n - 1) / 2;
    rank(a, x, n);
    rank(b, y, n);
    for (int64_t i = 0; i < n; i++) {
        ab += (a[i] - mean) * (b[i] - mean);
        aa += (a[i] - mean) * (a[i] - mean);
        bb += (b[i] - mean) * (b[i] - mean);
    }
    return ab / sqrt(aa * bb);
}

// Of the models that have both; `*count` is how many.
static double correlation(int64_t *count, const plumb_report *r, const foretoken *t)
{
    const subject *all[MOST];
    double x[MOST], y[MOST];
    const int64_t n = ordered(all, MOST, r);
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = tree_real(t->of_forecast ? all[i]->forecast : all[i]->measure, t->path);
        if (!isfinite(v)) continue;
        x[*count] = v;
        y[(*count)++] = subject_vpt(all[i]);
    }
    return *count > 2 ? spearman(x, y, *count) : (double)NAN;
}

static double correlation_height(const plumb_report *r, const subject *none)
{
    (void)none;
    int64_t n, rows = 0;
    for (int i = 0; i < TOKENS; i++) rows += isfinite(correlation(&n, r, &tokens[i]));
    return rows ? 24 + (double)(rows * ROW) + 58 : 0;
}

static plumb_status correlation_draw(sketch *k, arena *mem, const plumb_report *r,
                                     const subject *none)
{
    (void)mem, (void)none;
    axes_panel p = {.x = LEFT, .y = 20, .w = FIGURE_WIDTH - LEFT - RIGHT};
    p.h = correlation_height(r, NULL) - 24 - 58;
    p.across = axes_between(-1.05, 1.05, 5);
    p.across.step = 0.5;
    p.up = (axes_span){.low = 0, .high = 1};
    axes_draw(k, &p, "rank correlation with VPT", NULL);
    const double zero = axes_x(&p, 0);
    double y = p.y + ROW / 2.0;
    for (int i = 0; i < TOKENS; i++) {
        int64_t n;
        char text[64];
        const double v = correlation(&n, r, &tokens[i]);
        if (!isfinite(v)) continue;
        k->rectangle(k, fmin(zero, axes_x(&p, v)), y - 7, fabs(axes_x(&p, v) - zero), 14,
                     sketch_rgb(v < 0 ? PALETTE_ORANGE : PALETTE_BLUE));
        k->text(k, LEFT - 10, y + 4.5, 13, SKETCH_RIGHT, sketch_rgb(PALETTE_INK), tokens[i].label);
        snprintf(text, sizeof text, "%+.2f over %lld models", v, (long long)n);
        k->text(k, FIGURE_WIDTH - RIGHT + 14, y + 4.5, 13, SKETCH_LEFT, sketch_rgb(PALETTE_PALE),
                text);
        y += ROW;
    }
    axes_rule(k, zero, p.y, zero, p.y + p.h, PALETTE_INK);
    return PLUMB_OK;
}

const figure figure_correlation = {
    .name = "correlation",
    .title = "Which measure foretells VPT",
    .caption =
        "Spearman's rank correlation between each measure and the valid prediction time, over the "
        "models of this page. MSE and Sym are better when smaller.",
    .all = true,
    .height = correlation_height,
    .draw = correlation_draw,
};
