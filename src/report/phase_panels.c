// SPDX-License-Identifier: MIT
// Panels that several figures of a phase space share. All sizes are in pixels.
#define _GNU_SOURCE
#include "report/phase_panels.h"

#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "plot/axes.h"

enum {
    COLUMNS = 4,       // panels side by side
    MAX_PANELS = 24,   // of the truth, and of the latents; the figure says how many are left out
    LEFT = 50,         // of a panel
    TOP = 56,          // heading of a group of panels
    BETWEEN = 66,      // two lines of panels: axis labels
    BOTTOM = 48,       // below the last line
    MAX_POINTS = 2400, // dots per panel, about
    ROW = 110,         // height of a panel over time
    CLOSE_FRAMES = 80, // frames of the close-up
    CLOSE_WIDTH = 190, // of the close-up
};

// Trajectories take these colors in turn.
static const int colors[] = {PALETTE_BLUE, PALETTE_ORANGE, PALETTE_GREEN, PALETTE_VIOLET,
                             PALETTE_RED};
enum { COLOR_COUNT = sizeof colors / sizeof *colors };

void phase_panels_name(char out[48], const report_model *model, bool latent, int64_t index)
{
    const int64_t half = (latent ? model->latents : model->states) / 2;
    const char *letter = index < half ? "q" : "p";
    if (latent && model->latent_names && index < model->named)
        snprintf(out, 48, "%s", model->latent_names + index * REPORT_NAME_SIZE);
    else if (!latent && model->world && model->world->n == half)
        snprintf(out, 48, "%s", model->world->state_names[index]);
    else if (half == 1) snprintf(out, 48, "%s", letter);
    else snprintf(out, 48, "%s%lld", letter, (long long)(index % half));
}

void phase_panels_legend(drawing *canvas, double x, double width, int color, const char *text)
{
    const double line[] = {x, 17, x + 22, 17};
    canvas->path(canvas, line, 2, width, drawing_rgb(color));
    canvas->text(canvas, x + 30, 21.5, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), text);
}

// ---- clouds ----

typedef struct point_cloud {
    const double *values; // (count, steps, width)
    int64_t count, steps, width;
    int64_t across, up; // columns of the two axes; up -1: one row per trajectory
} point_cloud;

// One color per trajectory, the same in every panel.
static plumb_status draw_cloud(drawing *canvas, arena *mem, axes_panel *panel,
                               const point_cloud *cloud)
{
    const int64_t all = cloud->count * cloud->steps;
    // Every stride-th point. The offset i % stride spreads the points over all times.
    const int64_t stride = all / MAX_POINTS + 1;
    double *points = ARENA_ALLOC(mem, double, 2 * (cloud->steps + 1));
    if (!points) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < cloud->count; i++) {
        int64_t n = 0;
        for (int64_t t = i % stride; t < cloud->steps; t += stride, n++) {
            const double *at = cloud->values + (i * cloud->steps + t) * cloud->width;
            points[2 * n] = axes_x(panel, at[cloud->across]);
            points[2 * n + 1] =
                cloud->up < 0 ? axes_y(panel, (double)i) : axes_y(panel, at[cloud->up]);
        }
        canvas->dots(canvas, points, n, 1.4, drawing_rgb(colors[i % COLOR_COUNT]));
    }
    return PLUMB_OK;
}

// Panels of the truth or of the latents.
typedef struct cloud_group {
    const report_model *model;
    bool latent;
    int64_t trajectories;
    int64_t count; // pairs there are
    int64_t shown; // of these
    int64_t columns;
    double x, y, size; // top left corner; height and width of a panel
} cloud_group;

// Pair `i` of the latents has a panel if at least one of it is informative.
static bool has_panel(const report_model *model, int64_t i)
{
    return report_model_is_informative(model, i) ||
           report_model_is_informative(model, model->latents / 2 + i);
}

// Panel `index` of a group.
static point_cloud get_cloud(const cloud_group *group, int64_t index)
{
    const report_model *model = group->model;
    point_cloud cloud = {.count = group->trajectories, .steps = model->steps};
    if (!group->latent) {
        cloud.values = model->truth;
        cloud.width = model->states;
        cloud.across = index;
        cloud.up = model->states / 2 + index;
        return cloud;
    }
    const int64_t m = model->latents / 2;
    int64_t pair = 0;
    for (;; pair++)
        if (has_panel(model, pair) && !index--) break;
    const bool q = report_model_is_informative(model, pair),
               p = report_model_is_informative(model, m + pair);
    cloud.values = model->latent;
    cloud.width = model->latents;
    // If only one of the pair is informative, it is drawn alone, one row per video.
    cloud.across = q ? pair : m + pair;
    cloud.up = q && p ? m + pair : -1;
    return cloud;
}

static int64_t count_lines(const cloud_group *group)
{
    return group->shown ? (group->shown + group->columns - 1) / group->columns : 1;
}

static double get_group_height(const cloud_group *group)
{
    const double lines = (double)count_lines(group);
    return TOP + lines * group->size + (lines - 1) * BETWEEN + BOTTOM +
           (group->shown < group->count ? 20 : 0);
}

// Panels from left to right and from top to bottom, each with its own axes.
static plumb_status draw_group(drawing *canvas, arena *mem, const cloud_group *group)
{
    plumb_status st = PLUMB_OK;
    const drawing_color pale = drawing_rgb(PALETTE_PALE);
    const double y = group->y + TOP;
    canvas->text(canvas, group->x + 10, y - 36, 15, DRAWING_LEFT, pale,
                 group->latent ? "latents" : "truth");
    for (int64_t i = 0; i < group->shown && !st; i++) {
        const point_cloud cloud = get_cloud(group, i);
        char across[48], up[48] = "video";
        axes_panel panel = {.x = group->x + LEFT +
                                 (double)(i % group->columns) * (group->size + LEFT),
                            .y = y + (double)(i / group->columns) * (group->size + BETWEEN),
                            .w = group->size,
                            .h = group->size};
        const int64_t all = cloud.count * cloud.steps;
        // Small panels have room for three ticks.
        const int ticks = group->size > 200 ? 5 : 3;
        panel.across = axes_span_of(cloud.values + cloud.across, all, cloud.width, ticks);
        panel.up = cloud.up < 0 ? axes_between(-0.5, (double)cloud.count - 0.5, 4)
                                : axes_span_of(cloud.values + cloud.up, all, cloud.width, ticks);
        phase_panels_name(across, group->model, group->latent, cloud.across);
        if (cloud.up >= 0) phase_panels_name(up, group->model, group->latent, cloud.up);
        axes_draw(canvas, &panel, across, up);
        st = draw_cloud(canvas, mem, &panel, &cloud);
    }
    if (!group->shown)
        canvas->text(canvas, group->x + LEFT, y + 40, 15, DRAWING_LEFT, drawing_rgb(PALETTE_INK),
                     "none says anything: the posterior is the prior");
    if (group->shown < group->count) {
        char text[80];
        snprintf(text, sizeof text, "%lld more pairs are not shown",
                 (long long)(group->count - group->shown));
        canvas->text(canvas, group->x + LEFT, group->y + get_group_height(group) - 8, 14,
                     DRAWING_LEFT, drawing_rgb(PALETTE_INK), text);
    }
    return st;
}

// Truth and latents side by side if there are few panels, else one below the other.
static void arrange_groups(cloud_group *truth, cloud_group *latent, const report_model *model,
                           int64_t trajectories)
{
    *truth = (cloud_group){.model = model, .trajectories = trajectories};
    *latent = *truth;
    latent->latent = true;
    truth->count = model->states / 2;
    for (int64_t i = 0; i < model->latents / 2; i++) latent->count += has_panel(model, i);
    truth->shown = truth->count < MAX_PANELS ? truth->count : MAX_PANELS;
    latent->shown = latent->count < MAX_PANELS ? latent->count : MAX_PANELS;
    // Without informative latents one place is left for the sentence that says so.
    const int64_t places = truth->shown + (latent->shown ? latent->shown : 1);
    const bool beside = places <= COLUMNS;
    truth->columns = latent->columns = COLUMNS;
    truth->size = latent->size =
        fmin(270, FIGURE_WIDTH / (double)(beside ? places : COLUMNS) - LEFT - 4);
    if (beside) latent->x = (double)truth->shown * (truth->size + LEFT);
    else latent->y = get_group_height(truth);
}

double phase_panels_clouds_height(const report_model *model)
{
    cloud_group truth, latent;
    arrange_groups(&truth, &latent, model, model->count);
    return latent.y + get_group_height(&latent);
}

plumb_status phase_panels_clouds(drawing *canvas, arena *mem, const report_model *model, double y,
                                 int64_t count)
{
    cloud_group truth, latent;
    arrange_groups(&truth, &latent, model, count < model->count ? count : model->count);
    truth.y += y;
    latent.y += y;
    const plumb_status st = draw_group(canvas, mem, &truth);
    return st ? st : draw_group(canvas, mem, &latent);
}

// ---- over time ----

// Draws the coordinate of `values` (count, steps, states) from the first frame of the panel on.
// Values outside the panel are drawn on its edge.
static void draw_curve(drawing *canvas, const axes_panel *panel, const time_row *row,
                       const double *values, double width, int color, double *points)
{
    const int64_t steps = row->model->steps, states = row->model->states;
    const int64_t from = (int64_t)panel->across.low;
    const double *at = values + row->trajectory * steps * states + row->coordinate;
    for (int64_t t = from; t < steps; t++) {
        points[2 * (t - from)] = axes_x(panel, (double)t);
        points[2 * (t - from) + 1] =
            axes_y(panel, fmin(fmax(at[t * states], panel->up.low), panel->up.high));
    }
    canvas->path(canvas, points, steps - from, width, drawing_rgb(color));
}

// An axis that holds the truth, and the readout up to half of the truth's range beyond it. A
// readout that diverges is cut off at the edge.
static axes_span choose_span(const time_row *row)
{
    const report_model *model = row->model;
    const int64_t first = row->trajectory * model->steps * model->states + row->coordinate;
    const axes_span truth = axes_span_of(model->truth + first, model->steps, model->states, 3),
                    readout = axes_span_of(model->readout + first, model->steps, model->states, 3);
    const double beyond = 0.5 * (truth.high - truth.low);
    return axes_between(fmin(truth.low, fmax(readout.low, truth.low - beyond)),
                        fmax(truth.high, fmin(readout.high, truth.high + beyond)), 3);
}

// Draws truth and readout into one panel, with the trained frames shaded and a line at the VPT.
static void draw_part(drawing *canvas, axes_panel *panel, const time_row *row, const char *name,
                      double *points)
{
    const report_model *model = row->model;
    const double trained = (double)report_model_trained_frames(model);
    const double wrong = report_model_vpt_frame(model, row->trajectory);
    panel->up = choose_span(row);
    if (trained > panel->across.low)
        canvas->rectangle(canvas, panel->x, panel->y,
                          axes_x(panel, fmin(trained, panel->across.high)) - panel->x, panel->h,
                          drawing_rgb(PALETTE_BAND));
    axes_draw(canvas, panel, NULL, name);
    draw_curve(canvas, panel, row, model->truth, 2.6, PALETTE_AXIS, points);
    draw_curve(canvas, panel, row, model->readout, 1.1, PALETTE_BLUE, points);
    // A line at the last frame is moved inside the panel.
    if (wrong >= panel->across.low && wrong <= panel->across.high) {
        const double x = axes_x(panel, wrong) - (wrong >= panel->across.high ? 1 : 0);
        const double line[] = {x, panel->y, x, panel->y + panel->h};
        canvas->path(canvas, line, 2, 2, drawing_rgb(PALETTE_RED));
    }
}

// Long videos have a close-up.
static bool has_close_up(const report_model *model)
{
    return model->steps > 2 * CLOSE_FRAMES;
}

const char *phase_panels_time_label(const report_model *model)
{
    return has_close_up(model) ? "frame, and the last 80 of them" : "frame";
}

plumb_status phase_panels_time(drawing *canvas, arena *mem, const time_row *row)
{
    const report_model *model = row->model;
    const bool close = has_close_up(model);
    double *points = ARENA_ALLOC(mem, double, 2 * model->steps);
    if (!points) return PLUMB_EMEMORY;
    axes_panel panel = {.x = LEFT + 14, .y = row->y, .h = ROW};
    panel.w = FIGURE_WIDTH - panel.x - 16 - (close ? CLOSE_WIDTH + 44 : 0);
    panel.across = axes_between(0, (double)(model->steps - 1), 6);
    draw_part(canvas, &panel, row, row->name, points);
    if (!close) return PLUMB_OK;
    panel.x = FIGURE_WIDTH - CLOSE_WIDTH - 14;
    panel.w = CLOSE_WIDTH;
    panel.across =
        axes_between((double)(model->steps - CLOSE_FRAMES), (double)(model->steps - 1), 3);
    draw_part(canvas, &panel, row, NULL, points);
    return PLUMB_OK;
}
