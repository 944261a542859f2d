// SPDX-License-Identifier: MIT
// Figures 1 and 2A of [Higgins21]: coordinates of a mass on a spring, and all models by their VPT.
// They are drawn on request only and are no part of the page. All sizes are in pixels.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "plot/axes.h"
#include "plumb/kappa.h"
#include "report/report_model.h"

static const int colors[] = {PALETTE_BLUE, PALETTE_ORANGE, PALETTE_GREEN, PALETTE_VIOLET,
                             PALETTE_RED};
enum { COLOR_COUNT = sizeof colors / sizeof *colors };

// ---- 1: two sets of canonical coordinates ----

enum { SPRINGS = 40, SPRING_STEPS = 60, SHOWN = 5, EDGE = 24, SQUARE = 270, TOP = 64 };

// The spring needs no data, so it can always be drawn.
static double get_spring_height(const plumb_report *report, const report_model *unused)
{
    (void)report, (void)unused;
    return TOP + SQUARE + 86;
}

// q = sqrt(2 J) sin(angle), p = sqrt(2 J) cos(angle): canonical coordinates of the same state.
static void convert_action(double *q, double *p, double angle, double action)
{
    *q = sqrt(2 * action) * sin(angle);
    *p = sqrt(2 * action) * cos(angle);
}

// Trajectories (SPRINGS, SPRING_STEPS, 2) of H = (q^2 + p^2) / 2 in both sets of coordinates. The
// action stays, the angle grows with time.
static void simulate_springs(double *cartesian, double *action_angle)
{
    for (int i = 0; i < SPRINGS; i++)
        for (int t = 0; t < SPRING_STEPS; t++) {
            const int64_t at = 2 * (i * SPRING_STEPS + t);
            const double action = 0.1 + 0.9 * (i + 0.5) / SPRINGS,
                         angle = remainder(2.4 * i + 0.11 * t, 2 * M_PI);
            convert_action(&cartesian[at], &cartesian[at + 1], angle, action);
            action_angle[at] = angle;
            action_angle[at + 1] = action;
        }
}

// kappa of the map between the two, in words. Without OpenBLAS there is none.
static plumb_status describe_map(char *text, size_t size, double *cartesian, double *action_angle)
{
    const int64_t shape[] = {SPRINGS, SPRING_STEPS, 2};
    const plumb_array latent = plumb_array_view(cartesian, PLUMB_FLOAT64, 3, shape),
                      truth = plumb_array_view(action_angle, PLUMB_FLOAT64, 3, shape);
    const bool angles[] = {true};
    plumb_kappa_options options = plumb_kappa_defaults();
    options.resamples = 0;
    options.angles = angles;
    plumb_kappa kappa;
    const plumb_status st = plumb_kappa_measure(&kappa, &latent, NULL, &truth, &options);
    if (st == PLUMB_ESTOPPED || st == PLUMB_EMEMORY) return st;
    if (st || !kappa.measured) snprintf(text, size, "kappa of the map: not measured");
    else text_format(text, size, "kappa of the map between them: %.3f", kappa.kappa);
    if (!st) plumb_kappa_clear(&kappa);
    return PLUMB_OK;
}

// The same region of phase space in both panels: a rectangle of angles and actions.
static void draw_region(drawing *canvas, const axes_panel *panel, bool cartesian)
{
    const double low[] = {0.35, 0.4}, high[] = {1.25, 0.8}; // angle, action
    double points[2 * (4 * EDGE + 1)];
    for (int k = 0; k <= 4 * EDGE; k++) {
        const int side = k / EDGE % 4;
        const double along = (double)(k % EDGE) / EDGE;
        // Along the four sides, back to the first corner.
        const double u = side == 0   ? along
                         : side == 1 ? 1
                         : side == 2 ? 1 - along
                                     : 0,
                     v = side == 0   ? 0
                         : side == 1 ? along
                         : side == 2 ? 1
                                     : 1 - along;
        double x = low[0] + u * (high[0] - low[0]), y = low[1] + v * (high[1] - low[1]);
        if (cartesian) convert_action(&x, &y, x, y);
        points[2 * k] = axes_x(panel, x);
        points[2 * k + 1] = axes_y(panel, y);
    }
    canvas->path(canvas, points, 4 * EDGE + 1, 2.4, drawing_rgb(PALETTE_RED));
}

// Some trajectories as dots, and the region.
static void draw_springs(drawing *canvas, const axes_panel *panel, const double *states,
                         bool cartesian)
{
    double points[2 * SPRING_STEPS];
    for (int i = 0; i < SHOWN; i++) {
        const double *at = states + 2 * (int64_t)(i * (SPRINGS / SHOWN) + 4) * SPRING_STEPS;
        for (int t = 0; t < SPRING_STEPS; t++) {
            points[2 * t] = axes_x(panel, at[2 * t]);
            points[2 * t + 1] = axes_y(panel, at[2 * t + 1]);
        }
        canvas->dots(canvas, points, SPRING_STEPS, 1.8, drawing_rgb(colors[i % COLOR_COUNT]));
    }
    draw_region(canvas, panel, cartesian);
}

static plumb_status draw_spring(drawing *canvas, arena *mem, const plumb_report *report,
                                const report_model *unused)
{
    (void)report, (void)unused;
    char text[96];
    double *cartesian = ARENA_ALLOC(mem, double, SPRINGS *SPRING_STEPS * 2);
    double *action_angle = ARENA_ALLOC(mem, double, SPRINGS *SPRING_STEPS * 2);
    if (!cartesian || !action_angle) return PLUMB_EMEMORY;
    simulate_springs(cartesian, action_angle);
    const plumb_status st = describe_map(text, sizeof text, cartesian, action_angle);
    if (st) return st;
    axes_panel left = {.x = 70, .y = TOP, .w = SQUARE, .h = SQUARE};
    left.across = left.up = axes_between(-1.6, 1.6, 5);
    axes_panel right = {.x = 460, .y = TOP, .w = SQUARE, .h = SQUARE};
    right.across = axes_between(-M_PI, M_PI, 5);
    right.up = axes_between(0, 1.15, 5);
    const drawing_color pale = drawing_rgb(PALETTE_PALE), ink = drawing_rgb(PALETTE_INK);
    canvas->text(canvas, left.x + 24, 22, 15, DRAWING_LEFT, pale, "Cartesian");
    canvas->text(canvas, right.x + 24, 22, 15, DRAWING_LEFT, pale, "action and angle");
    axes_draw(canvas, &left, "position q", "momentum p");
    axes_draw(canvas, &right, "angle", "action J");
    draw_springs(canvas, &left, cartesian, true);
    draw_springs(canvas, &right, action_angle, false);
    canvas->text(canvas, FIGURE_WIDTH / 2.0, TOP + SQUARE + 70, 15, DRAWING_MIDDLE, ink, text);
    return PLUMB_OK;
}

const figure figure_paper_1 = {
    .name = "paper-1",
    .title = "A mass on a spring in two sets of canonical coordinates",
    .caption = "The same trajectories in Cartesian coordinates and in action and angle "
               "[Higgins21, Figure 1]. The red region has the same area in both.",
    .all = true,
    .on_request = true,
    .height = get_spring_height,
    .draw = draw_spring,
};

// ---- 2A: models by their VPT ----

enum { LEFT = 76, PANEL = 250, LINES = 2 };

// Descending.
static int compare_vpt(const void *a, const void *b)
{
    const double x = report_model_vpt(*(const report_model *const *)a),
                 y = report_model_vpt(*(const report_model *const *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

// 0 if no model has a VPT.
static double get_ranking_height(const plumb_report *report, const report_model *unused)
{
    (void)unused;
    for (const report_model *model = report->first; model; model = model->next)
        if (isfinite(report_model_vpt(model))) return PANEL + 112 + 22 * LINES;
    return 0;
}

// The name of the kind of a model, "hgn++"; "" if it is not known.
static const char *get_kind(const report_model *model)
{
    const char *kind = json_tree_string(model->config, "model");
    if (!kind) kind = json_tree_string(model->evaluate, "model");
    return kind ? kind : "";
}

static const char *get_world(const report_model *model)
{
    return model->world ? model->world->name : "";
}

// Mean VPT in both directions over the best model of this kind of each world. Returns the number of
// worlds.
static int64_t average_best(double vpt[2], const report_model *const *all, int64_t n,
                            const char *kind)
{
    int64_t worlds = 0;
    vpt[0] = vpt[1] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (strcmp(get_kind(all[i]), kind)) continue;
        // They are sorted: the first of a world is its best.
        bool first = true;
        for (int64_t j = 0; j < i && first; j++)
            first = strcmp(get_kind(all[j]), kind) || strcmp(get_world(all[j]), get_world(all[i]));
        const double forward = json_tree_double(all[i]->forecast, "vpt_forward"),
                     backward = json_tree_double(all[i]->forecast, "vpt_backward");
        if (!first || !isfinite(forward)) continue;
        worlds++;
        vpt[0] += forward;
        vpt[1] += isfinite(backward) ? backward : 0;
    }
    for (int d = 0; d < 2 && worlds; d++) vpt[d] /= (double)worlds;
    return worlds;
}

// One line for each kind of model that the paper has.
static void draw_averages(drawing *canvas, const report_model *const *all, int64_t n, double y)
{
    static const struct {
        const char *kind, *paper;
    } kinds[] = {{"hgn++", "267 and 178"}, {"hgn", "11 and 0"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double vpt[2];
        char text[160];
        const int64_t worlds = average_best(vpt, all, n, kinds[i].kind);
        if (!worlds) continue;
        text_format(text, sizeof text,
                    "%s, best of each of %lld world%s: VPT forward %.0f, backward %.0f (paper, 13 "
                    "worlds: %s)",
                    kinds[i].kind, (long long)worlds, worlds == 1 ? "" : "s", vpt[0], vpt[1],
                    kinds[i].paper);
        canvas->text(canvas, LEFT, y, 13, DRAWING_LEFT, drawing_rgb(PALETTE_INK), text);
        y += 22;
    }
}

// A disc at the mean of both directions, and a line from one direction to the other.
static plumb_status draw_ranking(drawing *canvas, arena *mem, const plumb_report *report,
                                 const report_model *unused)
{
    (void)unused;
    const report_model **all = ARENA_ALLOC(mem, const report_model *, report->model_count);
    if (!all) return PLUMB_EMEMORY;
    int64_t n = 0;
    double most = 1;
    for (const report_model *model = report->first; model; model = model->next)
        if (isfinite(report_model_vpt(model))) all[n++] = model;
    qsort(all, (size_t)n, sizeof *all, compare_vpt);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < 2; d++) {
            const double vpt =
                json_tree_double(all[i]->forecast, d ? "vpt_backward" : "vpt_forward");
            most = fmax(most, fmax(report_model_vpt(all[i]), isfinite(vpt) ? vpt : 0));
        }
    axes_panel panel = {.x = LEFT, .y = 46, .w = FIGURE_WIDTH - LEFT - 20, .h = PANEL};
    panel.across = axes_between(0, (double)n + 1, 8);
    panel.across.step = fmax(1, round(panel.across.step));
    panel.up = axes_between(0, 1.04 * most, 5);
    axes_draw(canvas, &panel, "model, longest VPT first", "VPT");
    canvas->disc(canvas, 180, 17, 5, drawing_rgb(PALETTE_GREEN));
    canvas->text(canvas, 192, 21.5, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), "SyMetric 1");
    canvas->disc(canvas, 300, 17, 3.5, drawing_rgb(PALETTE_PALE));
    canvas->text(canvas, 312, 21.5, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE),
                 "SyMetric 0; lines from forward to backward VPT");
    for (int64_t i = 0; i < n; i++) {
        const double x = axes_x(&panel, (double)i + 1),
                     forward = json_tree_double(all[i]->forecast, "vpt_forward"),
                     backward = json_tree_double(all[i]->forecast, "vpt_backward");
        const bool passes = json_tree_double(all[i]->measure, "symetric") >= 1;
        if (isfinite(forward) && isfinite(backward)) {
            const double line[] = {x, axes_y(&panel, forward), x, axes_y(&panel, backward)};
            canvas->path(canvas, line, 2, 1.4, drawing_rgb(PALETTE_AXIS));
        }
        canvas->disc(canvas, x, axes_y(&panel, report_model_vpt(all[i])), passes ? 5 : 3.5,
                     drawing_rgb(passes ? PALETTE_GREEN : PALETTE_PALE));
    }
    draw_averages(canvas, all, n, PANEL + 124);
    return PLUMB_OK;
}

const figure figure_paper_2a = {
    .name = "paper-2a",
    .title = "Models by valid prediction time, and SyMetric",
    .caption = "All models in the order of their VPT, green where SyMetric is 1 [Higgins21, Figure "
               "2A], and the average VPT in both directions.",
    .all = true,
    .on_request = true,
    .height = get_ranking_height,
    .draw = draw_ranking,
};
