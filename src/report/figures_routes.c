// SPDX-License-Identifier: MIT
// R2 and Sym by polynomials and by a network against the number of trajectories they were fitted
// to: how many each route needs, and whether a small network overfits on few [Higgins21]. Drawn on
// request only. All sizes are in pixels.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "base/text.h"
#include "plot/axes.h"
#include "report/phase_panels.h"

enum { LEFT = 74, PANEL = 190, TOP = 62, BETWEEN = 74, BOTTOM = 90 };

// One measured number of trajectories of one route.
typedef struct route_point {
    double trajectories; // fitted to
    double fitted, heldout, sym;
    bool passes; // SyMetric 1
} route_point;

static int compare_points(const void *a, const void *b)
{
    const double x = ((const route_point *)a)->trajectories,
                 y = ((const route_point *)b)->trajectories;
    return x < y ? -1 : x > y;
}

// The points of a route over all models, by their number of trajectories. `out` has room for all
// models.
static int64_t list_points(route_point *out, const plumb_report *report, bool network)
{
    int64_t n = 0;
    for (const report_model *model = report->first; model; model = model->next) {
        const json_tree *record = network ? model->mlp : model->measure;
        const route_point point = {
            json_tree_double(record, network ? "train_trajectories" : "trajectories"),
            json_tree_double(record, network ? "r2_train" : "r2"),
            json_tree_double(record, "r2_heldout"), json_tree_double(record, "sym"),
            json_tree_double(record, "symetric") >= 1};
        if (point.trajectories > 0 && isfinite(point.fitted)) out[n++] = point;
    }
    qsort(out, (size_t)n, sizeof *out, compare_points);
    return n;
}

// 0 with fewer than two numbers of trajectories.
static double get_routes_height(const plumb_report *report, const report_model *unused)
{
    (void)unused;
    int64_t n = 0;
    double first = (double)NAN;
    for (const report_model *model = report->first; model; model = model->next) {
        const double trajectories = json_tree_double(model->measure, "trajectories");
        if (!model->mlp || !isfinite(trajectories) || trajectories == first) continue;
        first = trajectories;
        n++;
    }
    return n > 1 ? TOP + 2 * PANEL + BETWEEN + BOTTOM : 0;
}

// A line through the points of a route with a disc at each. `which`: 0 fitted, 1 held out, 2 Sym.
static void draw_series(drawing *canvas, const axes_panel *panel, const route_point *points,
                        int64_t count, int which, int color)
{
    double last[2] = {(double)NAN, (double)NAN};
    for (int64_t i = 0; i < count; i++) {
        const route_point *point = &points[i];
        const double value = which == 0   ? point->fitted
                             : which == 1 ? point->heldout
                                          : log10(fmax(point->sym, 1e-6));
        if (!isfinite(value)) continue;
        const double x = axes_x(panel, log10(point->trajectories)),
                     y = axes_y(panel, fmin(fmax(value, panel->up.low), panel->up.high));
        const double line[] = {last[0], last[1], x, y};
        if (isfinite(last[0])) canvas->path(canvas, line, 2, which ? 2 : 1.2, drawing_rgb(color));
        canvas->disc(canvas, x, y, which ? 3.6 : 2.4, drawing_rgb(color));
        last[0] = x, last[1] = y;
    }
}

// A red line at a threshold.
static void draw_threshold(drawing *canvas, const axes_panel *panel, double value)
{
    const double y = axes_y(panel, value), line[] = {panel->x, y, panel->x + panel->w, y};
    canvas->path(canvas, line, 2, 1.2, drawing_rgb(PALETTE_RED));
}

// From how many trajectories on SyMetric is 1, in words.
static void describe_need(char *text, size_t size, const char *name, const route_point *points,
                          int64_t count)
{
    int64_t i = count;
    while (i > 0 && points[i - 1].passes) i--;
    if (i == count)
        snprintf(text, size, "%s: SyMetric is not 1 even with the most trajectories", name);
    else
        text_format(text, size, "%s: SyMetric is 1 from %.0f trajectories on", name,
                    points[i].trajectories);
}

static plumb_status draw_routes(drawing *canvas, arena *mem, const plumb_report *report,
                                const report_model *unused)
{
    (void)unused;
    static const int color[] = {PALETTE_BLUE, PALETTE_ORANGE};
    static const char *const names[] = {"polynomials", "network"};
    route_point *points[2];
    int64_t count[2];
    double low = (double)INFINITY, high = 0, least = 0;
    for (int k = 0; k < 2; k++) {
        points[k] = ARENA_ALLOC(mem, route_point, report->model_count);
        if (!points[k]) return PLUMB_EMEMORY;
        count[k] = list_points(points[k], report, k);
        for (int64_t i = 0; i < count[k]; i++) {
            low = fmin(low, log10(points[k][i].trajectories));
            high = fmax(high, log10(points[k][i].trajectories));
            least = fmin(least, points[k][i].heldout); // NaN is ignored
        }
    }
    axes_panel panel = {.x = LEFT, .y = TOP, .w = FIGURE_WIDTH - LEFT - 30, .h = PANEL};
    panel.across = axes_between(low - 0.1, high + 0.1, 6);
    panel.across.step = 1;
    panel.across.decades = true;
    // A fit that fails by far must not set the axis.
    panel.up = axes_between(fmax(least, -1), 1.05, 5);
    axes_draw(canvas, &panel, NULL, "R2");
    draw_threshold(canvas, &panel, 0.9);
    for (int k = 0; k < 2; k++)
        for (int which = 0; which < 2; which++)
            draw_series(canvas, &panel, points[k], count[k], which, color[k]);
    panel.y += PANEL + BETWEEN;
    panel.up = axes_between(-6.2, 3.2, 5);
    panel.up.step = 2;
    panel.up.decades = true;
    axes_draw(canvas, &panel, "trajectories fitted to", "Sym");
    draw_threshold(canvas, &panel, log10(0.05));
    for (int k = 0; k < 2; k++) draw_series(canvas, &panel, points[k], count[k], 2, color[k]);
    for (int k = 0; k < 2; k++) {
        char text[120];
        phase_panels_legend(canvas, LEFT + k * 150, 2, color[k], names[k]);
        describe_need(text, sizeof text, names[k], points[k], count[k]);
        canvas->text(canvas, LEFT, panel.y + PANEL + 62 + 20 * k, 13, DRAWING_LEFT,
                     drawing_rgb(PALETTE_INK), text);
    }
    canvas->text(canvas, LEFT + 300, 21.5, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE),
                 "thick: held out; thin: on the data fitted to");
    return PLUMB_OK;
}

const figure figure_routes = {
    .name = "routes",
    .title = "How many trajectories polynomials and a network need",
    .caption = "R2 on the data that F was fitted to and on data held out, and Sym, against the "
               "number of trajectories, by polynomials and by a network. Where a network has a "
               "high R2 on its own data and a low one held out, it overfits.",
    .all = true,
    .on_request = true,
    .height = get_routes_height,
    .draw = draw_routes,
};
