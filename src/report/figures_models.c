// SPDX-License-Identifier: MIT
// Two figures of many models: all models sorted by valid prediction time (VPT), and the rank
// correlation of each measure with the VPT. All sizes are in pixels.
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

// Above MANY_MODELS models the rows are thin. LEFT is for names, RIGHT for numbers.
enum { MAX_MODELS = 512, ROW = 24, THIN_ROW = 13, MANY_MODELS = 40, LEFT = 236, RIGHT = 190 };

// Descending.
static int compare_vpt(const void *a, const void *b)
{
    const double x = report_model_vpt(*(const report_model *const *)a),
                 y = report_model_vpt(*(const report_model *const *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

// Lists the models that have a VPT, longest first.
static int64_t sort_models(const report_model **out, int64_t max_count, const plumb_report *report)
{
    int64_t n = 0;
    for (const report_model *model = report->first; model && n < max_count; model = model->next)
        if (isfinite(report_model_vpt(model))) out[n++] = model;
    qsort(out, (size_t)n, sizeof *out, compare_vpt);
    return n;
}

// Thin rows if there are many models.
static double get_row_height(int64_t n)
{
    return n > MANY_MODELS ? THIN_ROW : ROW;
}

// 0 if there are fewer than two models: then the figure is left out.
static double get_models_height(const plumb_report *report, const report_model *unused)
{
    (void)unused;
    const report_model *all[MAX_MODELS];
    const int64_t n = sort_models(all, MAX_MODELS, report);
    return n > 1 ? 40 + (double)n * get_row_height(n) + 54 : 0;
}

// kappa and its companions are in the record of SyMetric, or in that of the evaluation.
static double get_kappa_value(const report_model *model, const char *key)
{
    const double value = json_tree_double(model->measure, key);
    return isfinite(value) ? value : json_tree_double(model->evaluate, key);
}

// Headings of the dots and of the columns of numbers.
static void draw_models_legend(drawing *canvas)
{
    const drawing_color pale = drawing_rgb(PALETTE_PALE);
    canvas->disc(canvas, 12, 17, 5, drawing_rgb(PALETTE_GREEN));
    canvas->text(canvas, 24, 21.5, 13, DRAWING_LEFT, pale, "SyMetric 1");
    canvas->disc(canvas, 112, 17, 5, drawing_rgb(PALETTE_BLUE));
    canvas->text(canvas, 124, 21.5, 13, DRAWING_LEFT, pale, "canonical 1");
    canvas->text(canvas, FIGURE_WIDTH - RIGHT + 14, 21.5, 13, DRAWING_LEFT, pale, "R2");
    canvas->text(canvas, FIGURE_WIDTH - RIGHT + 74, 21.5, 13, DRAWING_LEFT, pale, "Sym");
    canvas->text(canvas, FIGURE_WIDTH - RIGHT + 134, 21.5, 13, DRAWING_LEFT, pale, "kappa");
}

// One font size for all names, so that the longest fits.
static double get_name_size(const report_model *const *all, int64_t n)
{
    size_t longest = 0;
    for (int64_t i = 0; i < n; i++) {
        const size_t length = strlen(all[i]->name);
        if (length > longest) longest = length;
    }
    return n > MANY_MODELS ? 9 : longest > 26 ? 10 : 13;
}

// One model: its name, its bar with the interval, its verdicts and its numbers.
static void draw_models_row(drawing *canvas, const axes_panel *panel, const report_model *model,
                            double y, double row, double name)
{
    const double vpt = report_model_vpt(model), half = 0.29 * row, size = row < ROW ? 9 : 13;
    const bool passes = json_tree_double(model->measure, "symetric") > 0.5;
    const drawing_color ink = drawing_rgb(PALETTE_INK);
    double ci[2];
    char text[64];
    snprintf(text, sizeof text, "%.36s", model->name);
    canvas->text(canvas, LEFT - 26, y + 0.35 * name, name, DRAWING_RIGHT, ink, text);
    canvas->rectangle(canvas, panel->x + 1, y - half, fmax(axes_x(panel, vpt) - panel->x - 1, 0),
                      2 * half, drawing_rgb(passes ? PALETTE_GREEN : PALETTE_AXIS));
    if (json_tree_doubles(ci, 2, model->forecast, "vpt_ci") == 2 && ci[1] > ci[0]) {
        const double whisker[] = {axes_x(panel, ci[0]), y, axes_x(panel, ci[1]), y};
        canvas->path(canvas, whisker, 2, 1.6, ink);
    }
    // Dots for the two verdicts.
    if (passes) canvas->disc(canvas, LEFT - 16, y, 0.2 * row, drawing_rgb(PALETTE_GREEN));
    if (get_kappa_value(model, "canonical") > 0.5)
        canvas->disc(canvas, LEFT - 5, y, 0.2 * row, drawing_rgb(PALETTE_BLUE));
    // R2, Sym and kappa, if they were measured.
    const double numbers[] = {json_tree_double(model->measure, "r2"),
                              json_tree_double(model->measure, "sym"),
                              get_kappa_value(model, "kappa")};
    for (int i = 0; i < 3; i++) {
        if (!isfinite(numbers[i])) continue;
        // Sym below 1e-9 is rounding; kappa near 0 would be shown as -0.000.
        if (i == 1 && numbers[i] < 1e-9) snprintf(text, sizeof text, "< 1e-9");
        else if (i == 1) text_format(text, sizeof text, "%.2g", numbers[i]);
        else text_format(text, sizeof text, "%.3f", fabs(numbers[i]) < 5e-4 ? 0.0 : numbers[i]);
        canvas->text(canvas, FIGURE_WIDTH - RIGHT + 14 + 60 * i, y + 0.35 * size, size,
                     DRAWING_LEFT, ink, text);
    }
}

// One row per model, with bars on a common axis.
static plumb_status draw_models(drawing *canvas, arena *mem, const plumb_report *report,
                                const report_model *unused)
{
    (void)mem, (void)unused;
    const report_model *all[MAX_MODELS];
    const int64_t n = sort_models(all, MAX_MODELS, report);
    const double row = get_row_height(n);
    // The axis holds all bars and intervals.
    double max_vpt = fmax(report_model_vpt(all[0]), 1), ends[2];
    for (int64_t i = 0; i < n; i++)
        // An interval that is practically unbounded does not set the axis.
        if (json_tree_doubles(ends, 2, all[i]->forecast, "vpt_ci") == 2 && ends[1] < 1e9)
            max_vpt = fmax(max_vpt, ends[1]);
    axes_panel panel = {.x = LEFT, .y = 38, .w = FIGURE_WIDTH - LEFT - RIGHT, .h = (double)n * row};
    panel.across = axes_between(0, 1.02 * max_vpt, 5);
    panel.up = (axes_span){.low = 0, .high = (double)n};
    axes_draw(canvas, &panel, "valid prediction time, frames", NULL);
    draw_models_legend(canvas);
    for (int64_t i = 0; i < n; i++)
        draw_models_row(canvas, &panel, all[i], panel.y + ((double)i + 0.5) * row, row,
                        get_name_size(all, n));
    return PLUMB_OK;
}

const figure figure_models = {
    .name = "models",
    .title = "Models by valid prediction time",
    .caption = "Frames that each model predicts correctly, best first, with 95 % intervals "
               "[Higgins21, Figure 2A]. Green: the published measure accepts the model "
               "(SyMetric 1). Blue dot: plumb's measure kappa accepts it (canonical 1).",
    .all = true,
    .height = get_models_height,
    .draw = draw_models,
};

// ---- correlation of measures with VPT ----

// One row of the figure: where its value is found, and how it is named.
typedef struct correlated_measure {
    const char *label, *name, *key;
    enum { FROM_FORECAST, FROM_POLYNOMIAL, FROM_NETWORK, FROM_KAPPA, FROM_SCORE } source;
    bool lower_is_better; // its sign is changed
    // [Higgins21]: absolute value over the best fifth of its 119 models, or NULL.
    const char *printed;
} correlated_measure;

// The paper prints R2 and Sym as "MLP (PR)".
static const correlated_measure correlated_measures[] = {
    {"MSE Rec", "rec_mse", "rec_mse", FROM_FORECAST, true, "0.07"},
    {"MSE Ext", "ext_mse", "ext_mse", FROM_FORECAST, true, "0.33"},
    {"R2", "r2", "r2", FROM_POLYNOMIAL, false, "0.41"},
    {"R2, network", "r2_mlp", "r2", FROM_NETWORK, false, "0.59"},
    {"R2, held out", "r2_heldout", "r2_heldout", FROM_KAPPA, false, NULL},
    {"Sym", "sym", "sym", FROM_POLYNOMIAL, true, "0.45"},
    {"Sym, network", "sym_mlp", "sym", FROM_NETWORK, true, "0.37"},
    {"SyMetric", "symetric", "symetric", FROM_POLYNOMIAL, false, NULL},
    {"kappa", "kappa", "kappa", FROM_KAPPA, false, NULL},
    {"kappa score", "kappa_score", "kappa_score", FROM_SCORE, false, NULL},
    {"symplectic R2", "symplectic_r2", "symplectic_r2", FROM_KAPPA, false, NULL},
};
enum { MEASURE_COUNT = sizeof correlated_measures / sizeof *correlated_measures, TALL_ROW = 42 };

// Value of a measure, with the sign changed if lower is better.
static double get_measure_value(const report_model *model, const correlated_measure *measure)
{
    const double value =
        measure->source == FROM_FORECAST     ? json_tree_double(model->forecast, measure->key)
        : measure->source == FROM_POLYNOMIAL ? json_tree_double(model->measure, measure->key)
        : measure->source == FROM_NETWORK    ? json_tree_double(model->mlp, measure->key)
        : measure->source == FROM_SCORE      ? report_model_score(model)
                                             : get_kappa_value(model, measure->key);
    return measure->lower_is_better ? -value : value;
}

// Correlates a measure with VPT over the share `top` of the models with the longest VPT. n is 0 if
// that is not defined.
static rank_correlation correlate_measure(const plumb_report *report,
                                          const correlated_measure *measure, double top,
                                          int64_t resamples)
{
    const report_model *all[MAX_MODELS];
    double x[MAX_MODELS], y[MAX_MODELS];
    const int64_t n = sort_models(all, MAX_MODELS, report);
    rank_correlation_options options = rank_correlation_defaults();
    rank_correlation out = {.rho_ci = {(double)NAN, (double)NAN}};
    options.top = top;
    options.resamples = resamples;
    // x is the measure, y the VPT. Models without the measure have NaN and do not count.
    for (int64_t i = 0; i < n; i++) {
        x[i] = get_measure_value(all[i], measure);
        y[i] = report_model_vpt(all[i]);
    }
    if (rank_correlation_measure(&out, x, y, n, &options)) out.n = 0;
    return out;
}

// The public struct has the same values.
static plumb_rank_correlation export_correlation(rank_correlation found)
{
    return (plumb_rank_correlation){found.rho, found.rho_ci, found.p, found.n};
}

bool plumb_report_correlation_at(plumb_report_correlation *out, const plumb_report *report,
                                 int64_t index)
{
    if (!out || !report) return false;
    for (int i = 0; i < MEASURE_COUNT; i++) {
        const correlated_measure *measure = &correlated_measures[i];
        // A first pass without resamples is cheap: it only says whether the row exists.
        if (!correlate_measure(report, measure, 1.0, 0).n || index--) continue;
        const rank_correlation_options options = rank_correlation_defaults();
        *out = (plumb_report_correlation){
            .measure = measure->name,
            .lower_is_better = measure->lower_is_better,
            .all = export_correlation(correlate_measure(report, measure, 1.0, options.resamples)),
            .best = export_correlation(correlate_measure(report, measure, 0.2, options.resamples)),
            .paper = measure->printed};
        return true;
    }
    return false;
}

// 0 if no measure has enough models.
static double get_correlation_height(const plumb_report *report, const report_model *unused)
{
    (void)unused;
    int64_t rows = 0;
    for (int i = 0; i < MEASURE_COUNT; i++)
        rows += correlate_measure(report, &correlated_measures[i], 1.0, 0).n > 0;
    return rows ? 24 + (double)(rows * TALL_ROW) + 58 : 0;
}

// A bar from zero to rho, with its interval and its numbers.
static void draw_correlation_bar(drawing *canvas, const axes_panel *panel,
                                 const rank_correlation *found, double y, const char *which,
                                 unsigned color)
{
    char text[80], ci[40] = "";
    const double zero = axes_x(panel, 0), at = axes_x(panel, found->rho);
    if (!found->n) return;
    canvas->rectangle(canvas, fmin(zero, at), y - 6, fabs(at - zero), 12, drawing_rgb(color));
    if (isfinite(found->rho_ci.low)) {
        const double whisker[] = {axes_x(panel, found->rho_ci.low), y,
                                  axes_x(panel, found->rho_ci.high), y};
        canvas->path(canvas, whisker, 2, 1.6, drawing_rgb(PALETTE_INK));
        text_format(ci, sizeof ci, " [%.2f, %.2f]", found->rho_ci.low, found->rho_ci.high);
    }
    text_format(text, sizeof text, "%+.2f%s %s %lld", found->rho, ci, which, (long long)found->n);
    canvas->text(canvas, FIGURE_WIDTH - RIGHT + 10, y + 4, 12, DRAWING_LEFT,
                 drawing_rgb(PALETTE_PALE), text);
}

// Two bars per measure: over all models and over the best fifth.
static plumb_status draw_correlation(drawing *canvas, arena *mem, const plumb_report *report,
                                     const report_model *unused)
{
    (void)mem, (void)unused;
    axes_panel panel = {.x = LEFT, .y = 20, .w = FIGURE_WIDTH - LEFT - RIGHT};
    panel.h = get_correlation_height(report, NULL) - 24 - 58;
    panel.across = axes_between(-1.05, 1.05, 5);
    // Ticks at -1, -0.5, 0, 0.5 and 1.
    panel.across.step = 0.5;
    panel.up = (axes_span){.low = 0, .high = 1};
    axes_draw(canvas, &panel, "rank correlation with VPT", NULL);
    const double zero = axes_x(&panel, 0);
    double y = panel.y + TALL_ROW / 2.0;
    for (int i = 0; i < MEASURE_COUNT; i++) {
        const correlated_measure *measure = &correlated_measures[i];
        const rank_correlation all = correlate_measure(report, measure, 1.0, 2000),
                               top = correlate_measure(report, measure, 0.2, 2000);
        char text[64];
        if (!all.n) continue;
        canvas->text(canvas, LEFT - 10, y - 1, 13, DRAWING_RIGHT, drawing_rgb(PALETTE_INK),
                     measure->label);
        if (measure->printed) {
            snprintf(text, sizeof text, "paper, best fifth: %s", measure->printed);
            canvas->text(canvas, LEFT - 10, y + 14, 11, DRAWING_RIGHT, drawing_rgb(PALETTE_PALE),
                         text);
        }
        draw_correlation_bar(canvas, &panel, &all, y - 8, "all", PALETTE_BLUE);
        draw_correlation_bar(canvas, &panel, &top, y + 8, "best", PALETTE_ORANGE);
        y += TALL_ROW;
    }
    // The zero line is drawn last, above the bars.
    axes_line(canvas, zero, panel.y, zero, panel.y + panel.h, PALETTE_INK);
    return PLUMB_OK;
}

const figure figure_correlation = {
    .name = "correlation",
    .title = "Which measure predicts VPT",
    .caption = "Spearman's rank correlation between each measure and the valid prediction time, "
               "with 95 % intervals: over all models of this page (blue), and over the fifth with "
               "the longest VPT (orange). MSE and Sym are better when lower, so their sign is "
               "changed: to the right is always better. The values of [Higgins21] are absolute "
               "values over the best fifth of its 119 models: compare them with the length of "
               "the orange bars.",
    .all = true,
    .height = get_correlation_height,
    .draw = draw_correlation,
};
