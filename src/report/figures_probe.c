// SPDX-License-Identifier: MIT
// What is read out of latents: R2 of every target by both probes, beside the controls. And the
// scores of several models with the differences of pairs. All sizes are in pixels.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plot/axes.h"
#include "report/phase_panels.h"

enum { LEFT = 190, RIGHT = 30, TOP = 44, BOTTOM = 54, ROW = 26, MAX_ROWS = 40 };

// A line with its ends marked, and a disc at the value.
static void draw_interval(drawing *canvas, const axes_panel *panel, double y, double value,
                          const json_tree *record, const char *path, int color)
{
    double ci[2];
    const drawing_color ink = drawing_rgb(color);
    if (!isfinite(value)) return;
    if (json_tree_doubles(ci, 2, record, path) == 2 && isfinite(ci[0] + ci[1])) {
        const double line[] = {axes_x(panel, fmax(ci[0], panel->across.low)), y,
                               axes_x(panel, fmin(ci[1], panel->across.high)), y};
        canvas->path(canvas, line, 2, 1.6, ink);
    }
    canvas->disc(canvas, axes_x(panel, fmax(value, panel->across.low)), y, 4, ink);
}

static void draw_name(drawing *canvas, double y, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%.30s", name ? name : "");
    canvas->text(canvas, LEFT - 14, y + 4.5, 13, DRAWING_RIGHT, drawing_rgb(PALETTE_INK), text);
}

// ---- probe ----

// The targets that change; the others have no score.
static int64_t list_targets(const json_tree *out[MAX_ROWS], int64_t *left, const json_tree *record)
{
    int64_t count = 0;
    *left = 0;
    const json_tree *targets = json_tree_find(record, "targets");
    for (const json_tree *target = targets ? targets->child : NULL; target; target = target->next) {
        if (!isfinite(json_tree_double(target, "linear.r2"))) continue;
        if (count < MAX_ROWS) out[count++] = target;
        else ++*left;
    }
    return count;
}

static double get_probe_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    const json_tree *targets[MAX_ROWS];
    int64_t left;
    const int64_t rows = list_targets(targets, &left, model->probe);
    return rows ? TOP + rows * ROW + BOTTOM + (left ? 18 : 0) : 0;
}

// What the same probe reads out of shuffled targets and of other inputs: pale marks.
static void draw_controls(drawing *canvas, const axes_panel *panel, double y,
                          const json_tree *target)
{
    static const char *const keys[] = {"controls.shuffled_max", "controls.past",
                                       "controls.projection", "controls.pixels", "controls.action"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const double value = json_tree_double(target, keys[i]);
        if (!isfinite(value)) continue;
        const double x = axes_x(panel, fmax(value, panel->across.low));
        const double line[] = {x, y - 7, x, y + 7};
        canvas->path(canvas, line, 2, 1.6, drawing_rgb(i ? PALETTE_AXIS : PALETTE_RED));
    }
}

static plumb_status draw_probe(drawing *canvas, arena *mem, const plumb_report *report,
                               const report_model *model)
{
    (void)mem, (void)report;
    const json_tree *targets[MAX_ROWS];
    int64_t left;
    const int64_t rows = list_targets(targets, &left, model->probe);
    const axes_panel panel = {.x = LEFT,
                              .y = TOP,
                              .w = FIGURE_WIDTH - LEFT - RIGHT,
                              .h = (double)rows * ROW,
                              .across = axes_between(-0.1, 1, 6)};
    axes_draw(canvas, &panel, "R2 of trajectories left out", NULL);
    for (int64_t i = 0; i < rows; i++) {
        const double y = TOP + ((double)i + 0.5) * ROW;
        draw_name(canvas, y, json_tree_string(targets[i], "name"));
        draw_controls(canvas, &panel, y, targets[i]);
        draw_interval(canvas, &panel, y - 5, json_tree_double(targets[i], "linear.r2"), targets[i],
                      "linear.r2_ci", PALETTE_BLUE);
        draw_interval(canvas, &panel, y + 5, json_tree_double(targets[i], "nonlinear.r2"),
                      targets[i], "nonlinear.r2_ci", PALETTE_ORANGE);
    }
    phase_panels_legend(canvas, LEFT, 2, PALETTE_BLUE, "linear probe");
    phase_panels_legend(canvas, LEFT + 130, 2, PALETTE_ORANGE, "non-linear probe");
    phase_panels_legend(canvas, LEFT + 290, 2, PALETTE_RED, "shuffled");
    phase_panels_legend(canvas, LEFT + 400, 2, PALETTE_AXIS, "other controls");
    if (left) {
        char text[80];
        snprintf(text, sizeof text, "%lld more targets are not shown", (long long)left);
        canvas->text(canvas, LEFT, TOP + (double)rows * ROW + BOTTOM + 8, 13, DRAWING_LEFT,
                     drawing_rgb(PALETTE_PALE), text);
    }
    return PLUMB_OK;
}

const figure figure_probe = {
    .name = "probe",
    .title = "What can be read out of the latents",
    .caption =
        "R2 of each target by a linear and a non-linear probe, on trajectories that were not "
        "fitted to, with 95 % intervals. Marks are controls: the highest R2 of shuffled "
        "targets, and what the same probe reads out of earlier latents, of frames or of "
        "actions. A value says something about the model where it is above them.",
    .height = get_probe_height,
    .draw = draw_probe,
};

// ---- compare ----

static const json_tree *find_comparison(const plumb_report *report)
{
    for (const report_model *model = report->first; model; model = model->next)
        if (model->compare) return model->compare;
    return NULL;
}

static double get_compare_height(const plumb_report *report, const report_model *unused)
{
    (void)unused;
    const int64_t rows = json_tree_count(json_tree_find(find_comparison(report), "models"));
    return rows ? TOP + (double)(rows < MAX_ROWS ? rows : MAX_ROWS) * ROW + BOTTOM : 0;
}

static plumb_status draw_compare(drawing *canvas, arena *mem, const plumb_report *report,
                                 const report_model *unused)
{
    (void)unused, (void)mem;
    const json_tree *models = json_tree_find(find_comparison(report), "models");
    double low = (double)INFINITY, high = -(double)INFINITY, ci[2];
    int64_t rows = 0;
    for (const json_tree *one = models->child; one && rows < MAX_ROWS; one = one->next, rows++) {
        const double mean = json_tree_double(one, "mean");
        low = fmin(low, mean);
        high = fmax(high, mean);
        if (json_tree_doubles(ci, 2, one, "mean_ci") != 2) continue;
        low = fmin(low, ci[0]);
        high = fmax(high, ci[1]);
    }
    const double margin = 0.05 * (high - low);
    const axes_panel panel = {.x = LEFT,
                              .y = TOP,
                              .w = FIGURE_WIDTH - LEFT - RIGHT,
                              .h = (double)rows * ROW,
                              .across = axes_between(low - margin, high + margin, 6)};
    axes_draw(canvas, &panel, "mean score", NULL);
    rows = 0;
    for (const json_tree *one = models->child; one && rows < MAX_ROWS; one = one->next, rows++) {
        const double y = TOP + ((double)rows + 0.5) * ROW;
        draw_name(canvas, y, json_tree_string(one, "name"));
        draw_interval(canvas, &panel, y, json_tree_double(one, "mean"), one, "mean_ci",
                      PALETTE_BLUE);
    }
    phase_panels_legend(canvas, LEFT, 2, PALETTE_BLUE, "mean over items, with its 95 % interval");
    return PLUMB_OK;
}

const figure figure_compare = {
    .name = "compare",
    .title = "The scores of the models",
    .caption = "The mean of each model's scores with its interval over items. Intervals of models "
               "that were measured on the same items may overlap although one is better in nearly "
               "every item: the table has the tests of pairs.",
    .all = true,
    .height = get_compare_height,
    .draw = draw_compare,
};
