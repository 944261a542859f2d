// SPDX-License-Identifier: MIT
// Many models: ordered by how long their pictures stay right, and which measure foretells that.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "measures/rank_correlation.h"
#include "plot/axes.h"
#include "plumb/report.h"
#include "report/report_model.h"

enum { MOST = 512, ROW = 24, THIN_ROW = 13, MANY = 40, LEFT = 236, RIGHT = 190 };

static int by_vpt(const void *a, const void *b)
{
    const double x = report_model_vpt(*(const report_model *const *)a),
                 y = report_model_vpt(*(const report_model *const *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

// Models with a VPT, best first.
static int64_t ordered(const report_model **out, int64_t room, const plumb_report *r)
{
    int64_t n = 0;
    for (const report_model *s = r->first; s && n < room; s = s->next)
        if (isfinite(report_model_vpt(s))) out[n++] = s;
    qsort(out, (size_t)n, sizeof *out, by_vpt);
    return n;
}

static double row_height(int64_t n)
{
    return n > MANY ? THIN_ROW : ROW;
}

static double models_height(const plumb_report *r, const report_model *none)
{
    (void)none;
    const report_model *all[MOST];
    const int64_t n = ordered(all, MOST, r);
    return n > 1 ? 40 + (double)n * row_height(n) + 54 : 0;
}

// plumb's own numbers stand with the polynomial's or by themselves.
static double own_number(const report_model *s, const char *key)
{
    const double v = json_tree_double(s->measure, key);
    return isfinite(v) ? v : json_tree_double(s->evaluate, key);
}

static void models_legend(drawing *k)
{
    const drawing_color pale = drawing_rgb(PALETTE_PALE);
    k->disc(k, 12, 17, 5, drawing_rgb(PALETTE_GREEN));
    k->text(k, 24, 21.5, 13, DRAWING_LEFT, pale, "SyMetric 1");
    k->disc(k, 112, 17, 5, drawing_rgb(PALETTE_BLUE));
    k->text(k, 124, 21.5, 13, DRAWING_LEFT, pale, "canonical 1");
    k->text(k, FIGURE_WIDTH - RIGHT + 14, 21.5, 13, DRAWING_LEFT, pale, "R2");
    k->text(k, FIGURE_WIDTH - RIGHT + 74, 21.5, 13, DRAWING_LEFT, pale, "Sym");
    k->text(k, FIGURE_WIDTH - RIGHT + 134, 21.5, 13, DRAWING_LEFT, pale, "kappa");
}

// The same for all, so that the longest has room.
static double name_size(const report_model *const *all, int64_t n)
{
    size_t longest = 0;
    for (int64_t i = 0; i < n; i++) {
        const size_t length = strlen(all[i]->name);
        if (length > longest) longest = length;
    }
    return n > MANY ? 9 : longest > 26 ? 10 : 13;
}

// One model: its name, its bar with the interval, its verdicts and numbers.
static void models_row(drawing *k, const axes_panel *p, const report_model *s, double y, double row,
                       double name)
{
    const double vpt = report_model_vpt(s), half = 0.29 * row, size = row < ROW ? 9 : 13;
    const bool passes = json_tree_double(s->measure, "symetric") > 0.5;
    const drawing_color ink = drawing_rgb(PALETTE_INK);
    double ci[2];
    char text[64];
    snprintf(text, sizeof text, "%.36s", s->name);
    k->text(k, LEFT - 26, y + 0.35 * name, name, DRAWING_RIGHT, ink, text);
    k->rectangle(k, p->x + 1, y - half, fmax(axes_x(p, vpt) - p->x - 1, 0), 2 * half,
                 drawing_rgb(passes ? PALETTE_GREEN : PALETTE_AXIS));
    if (json_tree_doubles(ci, 2, s->forecast, "vpt_ci") == 2 && ci[1] > ci[0]) {
        const double whisker[] = {axes_x(p, ci[0]), y, axes_x(p, ci[1]), y};
        k->path(k, whisker, 2, 1.6, ink);
    }
    if (passes) k->disc(k, LEFT - 16, y, 0.2 * row, drawing_rgb(PALETTE_GREEN));
    if (own_number(s, "canonical") > 0.5)
        k->disc(k, LEFT - 5, y, 0.2 * row, drawing_rgb(PALETTE_BLUE));
    const double numbers[] = {json_tree_double(s->measure, "r2"),
                              json_tree_double(s->measure, "sym"), own_number(s, "kappa")};
    for (int i = 0; i < 3; i++) {
        if (!isfinite(numbers[i])) continue;
        if (i == 1 && numbers[i] < 1e-9) snprintf(text, sizeof text, "< 1e-9");
        else if (i == 1) text_format(text, sizeof text, "%.2g", numbers[i]);
        else text_format(text, sizeof text, "%.3f", fabs(numbers[i]) < 5e-4 ? 0.0 : numbers[i]);
        k->text(k, FIGURE_WIDTH - RIGHT + 14 + 60 * i, y + 0.35 * size, size, DRAWING_LEFT, ink,
                text);
    }
}

static plumb_status models_draw(drawing *k, arena *mem, const plumb_report *r,
                                const report_model *none)
{
    (void)mem, (void)none;
    const report_model *all[MOST];
    const int64_t n = ordered(all, MOST, r);
    const double row = row_height(n);
    double most = fmax(report_model_vpt(all[0]), 1), ends[2];
    for (int64_t i = 0; i < n; i++)
        if (json_tree_doubles(ends, 2, all[i]->forecast, "vpt_ci") == 2 && ends[1] < 1e9)
            most = fmax(most, ends[1]);
    axes_panel p = {.x = LEFT, .y = 38, .w = FIGURE_WIDTH - LEFT - RIGHT, .h = (double)n * row};
    p.across = axes_between(0, 1.02 * most, 5);
    p.up = (axes_span){.low = 0, .high = (double)n};
    axes_draw(k, &p, "valid prediction time, frames", NULL);
    models_legend(k);
    for (int64_t i = 0; i < n; i++)
        models_row(k, &p, all[i], p.y + ((double)i + 0.5) * row, row, name_size(all, n));
    return PLUMB_OK;
}

const figure figure_models = {
    .name = "models",
    .title = "Models by valid prediction time",
    .caption = "How many frames each model foretells, best first, with 95 % intervals [Higgins21, "
               "Figure 2A]; green are those whose latents are the true phase space by the "
               "published measure (SyMetric 1), a blue dot marks those that plumb's own passes.",
    .all = true,
    .height = models_height,
    .draw = models_draw,
};

// ---- which measure foretells VPT ----

typedef struct predictor {
    const char *label, *name, *key;
    enum { OF_FORECAST, OF_POLYNOMIAL, OF_NETWORK, OF_OWN } where;
    bool smaller;        // is better: its sign is turned
    const char *printed; // in the paper, for its 119 models; NULL if it is not there
} predictor;

// [Higgins21]'s numbers, brackets and all, as printed.
static const predictor tokens[] = {
    {"MSE Rec", "rec_mse", "rec_mse", OF_FORECAST, true, "0.07"},
    {"MSE Ext", "ext_mse", "ext_mse", OF_FORECAST, true, "0.33"},
    {"R2", "r2", "r2", OF_POLYNOMIAL, false, "0.59 (0.41)"},
    {"R2, network", "r2_mlp", "r2", OF_NETWORK, false, NULL},
    {"R2, held out", "r2_heldout", "r2_heldout", OF_OWN, false, NULL},
    {"Sym", "sym", "sym", OF_POLYNOMIAL, true, "0.37 (0.45)"},
    {"Sym, network", "sym_mlp", "sym", OF_NETWORK, true, NULL},
    {"SyMetric", "symetric", "symetric", OF_POLYNOMIAL, false, NULL},
    {"kappa", "kappa", "kappa", OF_OWN, false, NULL},
    {"symplectic R2", "symplectic_r2", "symplectic_r2", OF_OWN, false, NULL},
};
enum { TOKENS = sizeof tokens / sizeof *tokens, TALL_ROW = 42 };

static double token_value(const report_model *s, const predictor *t)
{
    const double v = t->where == OF_FORECAST     ? json_tree_double(s->forecast, t->key)
                     : t->where == OF_POLYNOMIAL ? json_tree_double(s->measure, t->key)
                     : t->where == OF_NETWORK    ? json_tree_double(s->mlp, t->key)
                                                 : own_number(s, t->key);
    return t->smaller ? -v : v;
}

// Over all models that have both, or the best; n is 0 where that is not defined.
static rank_correlation correlate(const plumb_report *r, const predictor *t, double top,
                                  int64_t resamples)
{
    const report_model *all[MOST];
    double x[MOST], y[MOST];
    const int64_t n = ordered(all, MOST, r);
    rank_correlation_options o = rank_correlation_defaults();
    rank_correlation out = {.rho_ci = {(double)NAN, (double)NAN}};
    o.top = top;
    o.resamples = resamples;
    for (int64_t i = 0; i < n; i++) {
        x[i] = token_value(all[i], t);
        y[i] = report_model_vpt(all[i]);
    }
    if (rank_correlation_measure(&out, x, y, n, &o)) out.n = 0;
    return out;
}

static plumb_rank_correlation export_correlation(rank_correlation found)
{
    return (plumb_rank_correlation){found.rho, found.rho_ci, found.p, found.n};
}

bool plumb_report_correlation_at(plumb_report_correlation *out, const plumb_report *report,
                                 int64_t index)
{
    for (int i = 0; i < TOKENS; i++) {
        const predictor *t = &tokens[i];
        if (!correlate(report, t, 1.0, 0).n || index--) continue;
        const rank_correlation_options o = rank_correlation_defaults();
        *out = (plumb_report_correlation){
            .measure = t->name,
            .smaller = t->smaller,
            .all = export_correlation(correlate(report, t, 1.0, o.resamples)),
            .best = export_correlation(correlate(report, t, 0.2, o.resamples)),
            .paper = t->printed};
        return true;
    }
    return false;
}

static double correlation_height(const plumb_report *r, const report_model *none)
{
    (void)none;
    int64_t rows = 0;
    for (int i = 0; i < TOKENS; i++) rows += correlate(r, &tokens[i], 1.0, 0).n > 0;
    return rows ? 24 + (double)(rows * TALL_ROW) + 58 : 0;
}

static void correlation_bar(drawing *k, const axes_panel *p, const rank_correlation *f, double y,
                            const char *which, unsigned color)
{
    char text[80], ci[40] = "";
    const double zero = axes_x(p, 0), at = axes_x(p, f->rho);
    if (!f->n) return;
    k->rectangle(k, fmin(zero, at), y - 6, fabs(at - zero), 12, drawing_rgb(color));
    if (isfinite(f->rho_ci.low)) {
        const double whisker[] = {axes_x(p, f->rho_ci.low), y, axes_x(p, f->rho_ci.high), y};
        k->path(k, whisker, 2, 1.6, drawing_rgb(PALETTE_INK));
        text_format(ci, sizeof ci, " [%.2f, %.2f]", f->rho_ci.low, f->rho_ci.high);
    }
    text_format(text, sizeof text, "%+.2f%s %s %lld", f->rho, ci, which, (long long)f->n);
    k->text(k, FIGURE_WIDTH - RIGHT + 10, y + 4, 12, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), text);
}

static plumb_status correlation_draw(drawing *k, arena *mem, const plumb_report *r,
                                     const report_model *none)
{
    (void)mem, (void)none;
    axes_panel p = {.x = LEFT, .y = 20, .w = FIGURE_WIDTH - LEFT - RIGHT};
    p.h = correlation_height(r, NULL) - 24 - 58;
    p.across = axes_between(-1.05, 1.05, 5);
    p.across.step = 0.5;
    p.up = (axes_span){.low = 0, .high = 1};
    axes_draw(k, &p, "rank correlation with VPT", NULL);
    const double zero = axes_x(&p, 0);
    double y = p.y + TALL_ROW / 2.0;
    for (int i = 0; i < TOKENS; i++) {
        const predictor *t = &tokens[i];
        const rank_correlation all = correlate(r, t, 1.0, 2000), top = correlate(r, t, 0.2, 2000);
        char text[64];
        if (!all.n) continue;
        k->text(k, LEFT - 10, y - 1, 13, DRAWING_RIGHT, drawing_rgb(PALETTE_INK), t->label);
        if (t->printed) {
            snprintf(text, sizeof text, "paper %s", t->printed);
            k->text(k, LEFT - 10, y + 14, 11, DRAWING_RIGHT, drawing_rgb(PALETTE_PALE), text);
        }
        correlation_bar(k, &p, &all, y - 8, "all", PALETTE_BLUE);
        correlation_bar(k, &p, &top, y + 8, "best", PALETTE_ORANGE);
        y += TALL_ROW;
    }
    axes_line(k, zero, p.y, zero, p.y + p.h, PALETTE_INK);
    return PLUMB_OK;
}

const figure figure_correlation = {
    .name = "correlation",
    .title = "Which measure foretells VPT",
    .caption = "Spearman's rank correlation between each measure and the valid prediction time, "
               "with 95 % intervals: over all models of this page (blue), and over the fifth with "
               "the longest VPT (orange). MSE and Sym are better when smaller, so their sign is "
               "turned: to the right is always good. Beside them what the paper prints for its "
               "119 models [Higgins21].",
    .all = true,
    .height = correlation_height,
    .draw = correlation_draw,
};
