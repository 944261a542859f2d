// SPDX-License-Identifier: MIT
// How the error of states grows over time: of rollouts read through a probe, beside that of encoded
// latents, and of predicted states. All sizes are in pixels.
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "plot/axes.h"
#include "report/phase_panels.h"

enum { LEFT = 74, RIGHT = 30, TOP = 66, PANEL = 220, BOTTOM = 60, MAX_STEPS = 4096 };

// The record with errors per step: of plumb dynamics, or of plumb forecast of states.
static const json_tree *find_errors(const report_model *model)
{
    return model->dynamics ? json_tree_find(model->dynamics, "motion") : model->state_forecast;
}

static double get_motion_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    double step[2];
    return json_tree_doubles(step, 2, find_errors(model), "step_vrmse") == 2 ? TOP + PANEL + BOTTOM
                                                                             : 0;
}

// A line through log10 of the values; it is broken where one is not a number.
static void draw_curve(drawing *canvas, const axes_panel *panel, const double *value, int64_t count,
                       int color)
{
    double points[2 * MAX_STEPS];
    int64_t n = 0;
    for (int64_t t = 0; t <= count; t++) {
        const bool known = t < count && isfinite(value[t]) && value[t] > 0;
        if (known) {
            points[2 * n] = axes_x(panel, (double)t);
            points[2 * n++ + 1] =
                axes_y(panel, fmin(fmax(log10(value[t]), panel->up.low), panel->up.high));
            continue;
        }
        if (n > 1) canvas->path(canvas, points, n, 1.8, drawing_rgb(color));
        n = 0;
    }
}

static plumb_status draw_motion(drawing *canvas, arena *mem, const plumb_report *report,
                                const report_model *model)
{
    (void)report;
    double *error = ARENA_ALLOC(mem, double, MAX_STEPS),
           *floor = ARENA_ALLOC(mem, double, MAX_STEPS);
    if (!error || !floor) return PLUMB_EMEMORY;
    const json_tree *record = model->dynamics ? model->dynamics : model->state_forecast;
    const int64_t count = json_tree_doubles(error, MAX_STEPS, find_errors(model), "step_vrmse");
    const int64_t floors = json_tree_doubles(floor, MAX_STEPS, record, "floor.step_vrmse");
    double low = -1, high = 0.2;
    for (int64_t t = 0; t < count + floors; t++) {
        const double value = t < count ? error[t] : floor[t - count];
        if (!isfinite(value) || !(value > 0)) continue;
        low = fmin(low, log10(value));
        high = fmax(high, log10(value));
    }
    axes_panel panel = {.x = LEFT, .y = TOP, .w = FIGURE_WIDTH - LEFT - RIGHT, .h = PANEL};
    panel.across = axes_between(0, (double)count, 6);
    // Errors far below or above anything that matters do not set the axis.
    panel.up = axes_between(fmax(low, -6) - 0.1, fmin(high, 3) + 0.1, 5);
    panel.up.step = 1;
    panel.up.decades = true;
    axes_draw(canvas, &panel, "steps", "error / deviations of the truth");
    const double deviations = json_tree_double(record, "deviations");
    if (deviations > 0) {
        const double y = axes_y(&panel, log10(deviations));
        axes_line(canvas, panel.x, y, panel.x + panel.w, y, PALETTE_RED);
        phase_panels_legend(canvas, LEFT + 380, 2, PALETTE_RED, "threshold of the VPT");
    }
    draw_curve(canvas, &panel, floor, floors, PALETTE_AXIS);
    draw_curve(canvas, &panel, error, count, PALETTE_BLUE);
    phase_panels_legend(canvas, LEFT, 2, PALETTE_BLUE, model->dynamics ? "rollout" : "prediction");
    if (floors)
        phase_panels_legend(canvas, LEFT + 150, 2, PALETTE_AXIS, "encoded from true frames");
    return PLUMB_OK;
}

const figure figure_motion = {
    .name = "motion",
    .title = "How the error of the state grows",
    .caption = "Root mean square error of the states over trajectories, in standard deviations of "
               "the truth. A rollout is read through the probe; what the probe makes of latents "
               "encoded from true frames is the best it could be.",
    .height = get_motion_height,
    .draw = draw_motion,
};
