// SPDX-License-Identifier: MIT
// Figure 3E of [Higgins21]: rollouts from states with one latent changed, and which constant latent
// stands for which physical constant. Drawn on request only. All sizes are in pixels.
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text.h"
#include "measures/rank_correlation.h"
#include "plot/axes.h"
#include "report/phase_panels.h"

enum {
    VALUES = 3,       // -2, 0 and 2
    MAX_LATENTS = 24, // the figure says how many are left out
    MAX_COLUMNS = 12, // physical constants in the table
    LEFT = 74,
    PANEL = 76, // height of a panel over time
    TOP = 58,   // legend
    LINE = 24,  // of the table
    NAME = 90,  // width of the names in the table
};
static const double values[VALUES] = {-2, 0, 2};

// ---- rollouts ----

// The informative latents, q first; `which` has the first MAX_LATENTS of them.
static int64_t list_latents(int64_t which[MAX_LATENTS], const report_model *model)
{
    int64_t n = 0;
    for (int64_t i = 0; i < model->latents; i++)
        if (report_model_is_informative(model, i)) {
            if (n < MAX_LATENTS) which[n] = i;
            n++;
        }
    return n;
}

static int64_t min_count(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Height of a row: a panel, and frames below it.
static double get_row_height(const report_model *model)
{
    return PANEL + (double)model->traversal_frames.height + 48;
}

// The pair whose q moves most along a trajectory, on average over the videos.
static int64_t find_moving_pair(const report_model *model)
{
    int64_t best = 0;
    double most = -1;
    for (int64_t i = 0; i < model->latents / 2; i++) {
        double sum = 0, square = 0, moved = 0;
        for (int64_t k = 0; k < model->count; k++) {
            sum = square = 0;
            for (int64_t t = 0; t < model->steps; t++) {
                const double q = model->latent[(k * model->steps + t) * model->latents + i];
                sum += q;
                square += q * q;
            }
            const double mean = sum / (double)model->steps;
            moved += square / (double)model->steps - mean * mean;
        }
        if (moved > most) most = moved, best = i;
    }
    return best;
}

// One panel: q and p of the moving pair, from one changed state, with frames below.
static plumb_status draw_rollout(drawing *canvas, arena *mem, const report_model *model,
                                 int64_t latent, int value, axes_panel panel)
{
    const int64_t steps = model->traversal_steps, n = model->latents;
    const int64_t pair = find_moving_pair(model), item = latent * VALUES + value;
    const double *states = model->traversal_states + item * steps * n;
    double *points = ARENA_ALLOC(mem, double, 2 * steps);
    const report_video *video = &model->traversal_frames;
    uint8_t *rgb = arena_alloc(mem, video->height * video->width, 3);
    if (!points || !rgb) return PLUMB_EMEMORY;
    axes_draw(canvas, &panel, NULL, NULL);
    for (int half = 1; half >= 0; half--) {
        for (int64_t t = 0; t < steps; t++) {
            const double v = states[t * n + pair + half * (n / 2)];
            points[2 * t] = axes_x(&panel, (double)t);
            points[2 * t + 1] = axes_y(&panel, fmin(fmax(v, panel.up.low), panel.up.high));
        }
        canvas->path(canvas, points, steps, 1.4, drawing_rgb(half ? PALETTE_ORANGE : PALETTE_BLUE));
    }
    // The frames stand at their steps.
    const double room = panel.w / (double)video->steps;
    for (int64_t k = 0; k < video->steps; k++) {
        report_model_copy_frame(rgb, model, video, item, k);
        canvas->picture(canvas, panel.x + (double)k * room + (room - (double)video->width) / 2,
                        panel.y + panel.h + 22, 1, rgb, video->width, video->height);
    }
    return PLUMB_OK;
}

// An axis that holds the moving pair in all rollouts.
static axes_span choose_span(const report_model *model)
{
    const int64_t n = model->latents, pair = find_moving_pair(model);
    const int64_t rows = n * VALUES * model->traversal_steps;
    return axes_join(axes_span_of(model->traversal_states + pair, rows, n, 3),
                     axes_span_of(model->traversal_states + n / 2 + pair, rows, n, 3), 3);
}

// Draws a row per latent and a panel per value.
static plumb_status draw_rollouts(drawing *canvas, arena *mem, const report_model *model)
{
    int64_t which[MAX_LATENTS];
    const int64_t shown = min_count(list_latents(which, model), MAX_LATENTS);
    const axes_span up = choose_span(model);
    plumb_status st = PLUMB_OK;
    char name[48], text[96];
    for (int64_t i = 0; i < shown && !st; i++) {
        const double y = TOP + (double)i * get_row_height(model);
        phase_panels_name(name, model, true, which[i]);
        canvas->text(canvas, 8, y + PANEL / 2.0, 15, DRAWING_LEFT, drawing_rgb(PALETTE_INK), name);
        for (int k = 0; k < VALUES && !st; k++) {
            axes_panel panel = {.x = LEFT + k * 242, .y = y, .w = 212, .h = PANEL};
            panel.across = axes_between(0, (double)(model->traversal_steps - 1), 4);
            panel.up = up;
            text_format(text, sizeof text, "%s = %g", name, values[k]);
            canvas->text(canvas, panel.x + panel.w, y - 5, 12, DRAWING_RIGHT,
                         drawing_rgb(PALETTE_PALE), text);
            st = draw_rollout(canvas, mem, model, which[i], k, panel);
        }
    }
    return st;
}

// ---- constants ----

// The name of column `index` of the parameters: "color_index", "offset 1".
static void get_parameter_name(char out[64], const report_model *model, int64_t index,
                               bool *category)
{
    const plumb_world_info *world = model->world;
    snprintf(out, 64, "%lld", (long long)index);
    *category = false;
    for (int64_t i = 0, at = 0; world && i < world->parameter_count; i++) {
        const plumb_world_parameter *parameter = &world->parameters[i];
        if (index >= at && index < at + parameter->count) {
            if (parameter->count == 1) snprintf(out, 64, "%s", parameter->name);
            else snprintf(out, 64, "%s %lld", parameter->name, (long long)(index - at));
            *category = parameter->integer;
            return;
        }
        at += parameter->count;
    }
}

// The share of the variance of x that lies between groups of equal y, as a root: 0 to 1.
static double correlate_category(const double *x, const double *y, int64_t n)
{
    double sum = 0, square = 0, between = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i], square += x[i] * x[i];
    for (int64_t i = 0; i < n; i++) {
        double group = 0, members = 0;
        for (int64_t j = 0; j < n; j++)
            if (y[j] == y[i]) group += x[j], members += 1;
        // Every member adds the squared mean of its group.
        between += group * group / (members * members);
    }
    const double all = square - sum * sum / (double)n;
    return all > 0 ? sqrt(fmax(0, (between - sum * sum / (double)n) / all)) : (double)NAN;
}

// |correlation| of a latent's mean over time with a parameter, over trajectories. NaN if the
// parameter never changes.
static double correlate_constant(arena *mem, const report_model *model, int64_t latent,
                                 int64_t parameter, bool category)
{
    const int64_t n = model->measured_count;
    double *x = ARENA_ALLOC(mem, double, n), *y = ARENA_ALLOC(mem, double, n);
    if (!x || !y) return (double)NAN;
    bool differs = false;
    for (int64_t i = 0; i < n; i++) {
        x[i] = model->latent_means[i * model->latents + latent];
        y[i] = model->parameters[i * model->parameter_total + parameter];
        differs |= y[i] != y[0];
    }
    if (!differs) return (double)NAN;
    if (category) return correlate_category(x, y, n);
    rank_correlation_options options = rank_correlation_defaults();
    options.resamples = 0;
    rank_correlation found;
    return rank_correlation_measure(&found, x, y, n, &options) ? (double)NAN : fabs(found.rho);
}

// A latent is constant if it moves less along a trajectory than it differs between trajectories.
static bool is_constant(const report_model *model, int64_t latent)
{
    return model->latent_within[latent] < 0.5 * model->latent_between[latent];
}

// The constant latents among the informative ones, and the parameters that differ.
static int64_t list_constants(int64_t which[MAX_LATENTS], const report_model *model)
{
    int64_t all[MAX_LATENTS], n = 0;
    const int64_t shown = min_count(list_latents(all, model), MAX_LATENTS);
    for (int64_t i = 0; i < shown && model->parameters; i++)
        if (is_constant(model, all[i])) which[n++] = all[i];
    return n;
}

// Height of the table, with its heading; one line says that there is none.
static double get_table_height(const report_model *model)
{
    int64_t which[MAX_LATENTS];
    return 40 + LINE * (double)(list_constants(which, model) + 2);
}

// One row per constant latent, one column per physical constant, the largest of a row in green.
static plumb_status draw_table(drawing *canvas, arena *mem, const report_model *model, double y)
{
    const drawing_color ink = drawing_rgb(PALETTE_INK), pale = drawing_rgb(PALETTE_PALE);
    int64_t which[MAX_LATENTS], columns = 0, column[MAX_COLUMNS];
    bool category[MAX_COLUMNS];
    const int64_t rows = list_constants(which, model);
    char text[64];
    if (!rows) {
        canvas->text(canvas, 8, y + 40, 14, DRAWING_LEFT, ink,
                     model->parameters ? "no informative latent is constant along a video"
                     : model->world && !model->world->parameter_count
                         ? "the world has no physical constants that differ"
                         : "the physical constants of the videos are not known");
        return PLUMB_OK;
    }
    canvas->text(
        canvas, 8, y + 24, 13, DRAWING_LEFT, pale,
        "absolute rank correlation of constant latents with physical constants, over videos");
    for (int64_t c = 0; c < model->parameter_total && columns < MAX_COLUMNS; c++) {
        bool is_category;
        get_parameter_name(text, model, c, &is_category);
        if (isnan(correlate_constant(mem, model, which[0], c, is_category))) continue;
        const double x = NAME + (double)columns * (FIGURE_WIDTH - NAME) / MAX_COLUMNS * 1.5;
        if (x > FIGURE_WIDTH - 60) break;
        canvas->text(canvas, x, y + 24 + LINE, 13, DRAWING_LEFT, pale, text);
        category[columns] = is_category;
        column[columns++] = c;
    }
    for (int64_t i = 0; i < rows; i++) {
        double rho[MAX_COLUMNS];
        int64_t best = 0;
        for (int64_t k = 0; k < columns; k++) {
            rho[k] = correlate_constant(mem, model, which[i], column[k], category[k]);
            if (rho[k] > rho[best]) best = k;
        }
        const double at = y + 24 + LINE * (double)(i + 2);
        phase_panels_name(text, model, true, which[i]);
        canvas->text(canvas, 8, at, 13, DRAWING_LEFT, ink, text);
        for (int64_t k = 0; k < columns; k++) {
            text_format(text, sizeof text, "%.2f", rho[k]);
            canvas->text(canvas, NAME + (double)k * (FIGURE_WIDTH - NAME) / MAX_COLUMNS * 1.5, at,
                         13, DRAWING_LEFT, k == best ? drawing_rgb(PALETTE_GREEN) : ink, text);
        }
    }
    return PLUMB_OK;
}

// ---- figure ----

// 0 without rollouts from changed latents.
static double get_traversal_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    int64_t which[MAX_LATENTS];
    if (!model->traversal_states || !model->traversal_frames.rgb || !model->latent) return 0;
    const int64_t latents = list_latents(which, model);
    // Without informative latents one sentence says so.
    if (!latents) return TOP + 40;
    return TOP + (double)min_count(latents, MAX_LATENTS) * get_row_height(model) +
           (latents > MAX_LATENTS ? 24 : 0) + get_table_height(model);
}

static plumb_status draw_traversal(drawing *canvas, arena *mem, const plumb_report *report,
                                   const report_model *model)
{
    (void)report;
    int64_t which[MAX_LATENTS];
    char text[96], q[48], p[48];
    const int64_t latents = list_latents(which, model), pair = find_moving_pair(model);
    if (!latents) {
        canvas->text(canvas, LEFT, TOP, 15, DRAWING_LEFT, drawing_rgb(PALETTE_INK),
                     "no latent says anything: the posterior is the prior");
        return PLUMB_OK;
    }
    phase_panels_name(q, model, true, pair);
    phase_panels_name(p, model, true, model->latents / 2 + pair);
    phase_panels_legend(canvas, LEFT, 1.6, PALETTE_BLUE, q);
    phase_panels_legend(canvas, LEFT + 80, 1.6, PALETTE_ORANGE, p);
    snprintf(text, sizeof text, "of rollouts of %lld steps with one latent changed at the start",
             (long long)model->traversal_steps);
    canvas->text(canvas, LEFT + 160, 21.5, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), text);
    const plumb_status st = draw_rollouts(canvas, mem, model);
    if (st) return st;
    double y = TOP + (double)min_count(latents, MAX_LATENTS) * get_row_height(model);
    if (latents > MAX_LATENTS) {
        snprintf(text, sizeof text, "%lld more latents are not shown",
                 (long long)(latents - MAX_LATENTS));
        canvas->text(canvas, LEFT, y + 10, 14, DRAWING_LEFT, drawing_rgb(PALETTE_INK), text);
        y += 24;
    }
    return draw_table(canvas, mem, model, y);
}

const figure figure_paper_3e = {
    .name = "paper-3e",
    .title = "Rollouts with one latent changed",
    .caption = "The pair of latents that moves, from states with one informative latent at -2, 0 "
               "and 2, with five frames of each rollout; below, which constant latent stands for "
               "which physical constant [Higgins21, Figure 3E]. For a constant that is a category, "
               "as a color, it is the root of the share of variance between its groups.",
    .on_request = true,
    .height = get_traversal_height,
    .draw = draw_traversal,
};
