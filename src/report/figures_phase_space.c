// SPDX-License-Identifier: MIT
// Two figures of one model: the true states and the latents in phase space, and the true state over
// time beside what a fit reads off the latents. All sizes are in pixels.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "plot/axes.h"
#include "report/readout_fit.h"
#include "report/report_model.h"

enum {
    PANELS = 4,        // side by side
    PANEL = 150,       // height and width of a panel
    LEFT = 50,         // of a panel
    MAX_POINTS = 2400, // dots per panel, about
    ROWS = 4,          // coordinates over time
    ROW = 110,         // the height of one
    CLOSE_FRAMES = 80, // frames of the close-up
    CLOSE_WIDTH = 190, // of the close-up
};

// Trajectories take these colors in turn.
static const int colors[] = {PALETTE_BLUE, PALETTE_ORANGE, PALETTE_GREEN, PALETTE_VIOLET,
                             PALETTE_RED};
enum { COLOR_COUNT = sizeof colors / sizeof *colors };

// ---- phase space ----

typedef struct point_cloud {
    const double *values; // (count, steps, width)
    int64_t count, steps, width;
    int64_t across, up; // columns of the two axes; up -1: one row per trajectory
} point_cloud;

// The name of a coordinate. Latents have the numbers of the model.
static void get_name(char out[48], const report_model *model, bool latent, int64_t index)
{
    const int64_t half = (latent ? model->latents : model->states) / 2;
    const char *letter = index < half ? "q" : "p";
    if (!latent && model->world && model->world->n == half)
        snprintf(out, 48, "%s", model->world->state_names[index]);
    else if (half == 1) snprintf(out, 48, "%s", letter);
    else snprintf(out, 48, "%s%lld", letter, (long long)(index % half));
}

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

// One panel for each pair (q, p) of latents of which at least one is informative.
static int64_t find_latent_clouds(point_cloud *out, const report_model *model)
{
    const int64_t m = model->latents / 2;
    int64_t n = 0;
    for (int64_t i = 0; i < m && n < PANELS; i++) {
        const bool q = report_model_is_informative(model, i),
                   p = report_model_is_informative(model, m + i);
        if (!q && !p) continue;
        // If only one of the pair is informative, it is drawn alone, one row per video.
        out[n++] = (point_cloud){model->latent,  model->count,  model->steps,
                                 model->latents, q ? i : m + i, q && p ? m + i : -1};
    }
    return n;
}

// A row of panels, under a heading.
typedef struct panel_row {
    const report_model *model;
    double x, y, size; // top left corner; height and width of a panel
    const point_cloud *clouds;
    int64_t count;
    bool latent; // the clouds are of latents, else of true states
} panel_row;

// Panels from left to right, each with its own axes.
static plumb_status draw_row(drawing *canvas, arena *mem, const panel_row *row)
{
    plumb_status st = PLUMB_OK;
    canvas->text(canvas, row->x + 10, row->y - 36, 15, DRAWING_LEFT, drawing_rgb(PALETTE_PALE),
                 row->latent ? "latents" : "truth");
    for (int64_t i = 0; i < row->count && !st; i++) {
        const point_cloud *cloud = &row->clouds[i];
        char across[48], up[48] = "video";
        axes_panel panel = {.x = row->x + LEFT + (double)i * (row->size + LEFT),
                            .y = row->y,
                            .w = row->size,
                            .h = row->size};
        const int64_t all = cloud->count * cloud->steps;
        // Small panels have room for three ticks.
        const int ticks = row->size > 200 ? 5 : 3;
        panel.across = axes_span_of(cloud->values + cloud->across, all, cloud->width, ticks);
        panel.up = cloud->up < 0
                       ? axes_between(-0.5, (double)cloud->count - 0.5, 4)
                       : axes_span_of(cloud->values + cloud->up, all, cloud->width, ticks);
        get_name(across, row->model, row->latent, cloud->across);
        if (cloud->up >= 0) get_name(up, row->model, row->latent, cloud->up);
        axes_draw(canvas, &panel, across, up);
        st = draw_cloud(canvas, mem, &panel, cloud);
    }
    if (!row->count)
        canvas->text(canvas, row->x + LEFT, row->y + 40, 15, DRAWING_LEFT, drawing_rgb(PALETTE_INK),
                     "none says anything: the posterior is the prior");
    return st;
}

// Truth and latents side by side if there are few panels, else one below the other.
typedef struct phase_layout {
    point_cloud truth[PANELS], latent[PANELS];
    int64_t truths, latents;
    bool beside;
    double size;
} phase_layout;

// Chooses the panels, their places and their size.
static phase_layout arrange_panels(const report_model *model)
{
    phase_layout layout = {0};
    const int64_t n = model->states / 2;
    for (; layout.truths < n && layout.truths < PANELS; layout.truths++)
        layout.truth[layout.truths] =
            (point_cloud){model->truth,  model->count,  model->steps,
                          model->states, layout.truths, n + layout.truths};
    layout.latents = find_latent_clouds(layout.latent, model);
    // Without informative latents one place is left for the sentence that says so.
    const double each =
        layout.latents ? (double)(layout.truths + layout.latents) : (double)layout.truths + 1;
    layout.beside = each <= PANELS;
    layout.size = fmin(270, FIGURE_WIDTH / (layout.beside ? each : PANELS) - LEFT - 4);
    return layout;
}

// 0 if the model has no latents or no true states.
static double get_phase_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    if (!model->latent || !model->truth) return 0;
    const phase_layout layout = arrange_panels(model);
    return (layout.size + 104) * (layout.beside ? 1 : 2);
}

// Both rows have panels of one size.
static plumb_status draw_phase(drawing *canvas, arena *mem, const plumb_report *report,
                               const report_model *model)
{
    (void)report;
    const phase_layout layout = arrange_panels(model);
    const panel_row truth = {model, 0, 56, layout.size, layout.truth, layout.truths, false};
    panel_row latents = {model, 0, 56, layout.size, layout.latent, layout.latents, true};
    if (layout.beside) latents.x = (double)layout.truths * (layout.size + LEFT);
    else latents.y += layout.size + 104;
    const plumb_status st = draw_row(canvas, mem, &truth);
    return st ? st : draw_row(canvas, mem, &latents);
}

const figure figure_phase = {
    .name = "phase-space",
    .title = "Phase space",
    .caption =
        "The true states and the informative latents, one color per video. A canonical map may "
        "rotate and bend one into the other, but it must keep the ratio of areas. A latent whose "
        "partner is not informative is drawn as points, one row per video.",
    .height = get_phase_height,
    .draw = draw_phase,
};

// ---- over time ----

// Coordinates that are shown over time.
static int64_t count_rows(const report_model *model)
{
    return model->states < ROWS ? model->states : ROWS;
}

// 0 if there is nothing to compare over time.
static double get_trajectory_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    return model->latent && model->truth && model->steps > 2
               ? 46 + (double)count_rows(model) * (ROW + 34) + 34
               : 0;
}

// One coordinate of trajectory 0 over time.
typedef struct time_series {
    const report_model *model;
    const double *readout; // (steps, states), read off the latents
    int64_t coordinate;
    double *points; // scratch, (2 steps)
} time_series;

// Draws the coordinate of `values` (steps, states) from the first frame of the panel on. Values
// outside the panel are drawn on its edge.
static void draw_curve(drawing *canvas, const axes_panel *panel, const time_series *series,
                       const double *values, double width, int color)
{
    const int64_t steps = series->model->steps, states = series->model->states;
    const int64_t from = (int64_t)panel->across.low;
    double *points = series->points;
    for (int64_t t = from; t < steps; t++) {
        const double value = values[t * states + series->coordinate];
        points[2 * (t - from)] = axes_x(panel, (double)t);
        points[2 * (t - from) + 1] =
            axes_y(panel, fmin(fmax(value, panel->up.low), panel->up.high));
    }
    canvas->path(canvas, points, steps - from, width, drawing_rgb(color));
}

// Draws truth and readout into one panel, with the trained frames shaded and a line at the VPT.
static void draw_part(drawing *canvas, axes_panel *panel, const time_series *series,
                      const char *name)
{
    const report_model *model = series->model;
    const double trained = (double)report_model_trained_frames(model);
    const double wrong = report_model_vpt_frame(model, 0);
    const axes_span truth =
        axes_span_of(model->truth + series->coordinate, model->steps, model->states, 3);
    // The axis holds the truth; a readout that diverges is cut off at its edge.
    panel->up = axes_between(truth.low, truth.high, 3);
    if (trained > panel->across.low)
        canvas->rectangle(canvas, panel->x, panel->y,
                          axes_x(panel, fmin(trained, panel->across.high)) - panel->x, panel->h,
                          drawing_rgb(PALETTE_BAND));
    axes_draw(canvas, panel, NULL, name);
    draw_curve(canvas, panel, series, model->truth, 2.6, PALETTE_AXIS);
    draw_curve(canvas, panel, series, series->readout, 1.1, PALETTE_BLUE);
    // A line at the last frame is moved inside the panel.
    if (wrong >= panel->across.low && wrong <= panel->across.high) {
        const double x = axes_x(panel, wrong) - (wrong >= panel->across.high ? 1 : 0);
        const double line[] = {x, panel->y, x, panel->y + panel->h};
        canvas->path(canvas, line, 2, 2, drawing_rgb(PALETTE_RED));
    }
}

// Draws a line and its name at the top.
static void draw_legend(drawing *canvas, double x, double width, int color, const char *text)
{
    const double line[] = {x, 17, x + 22, 17};
    canvas->path(canvas, line, 2, width, drawing_rgb(color));
    canvas->text(canvas, x + 30, 21.5, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), text);
}

// One row per coordinate: all frames and, for long videos, a close-up of the last ones.
static plumb_status draw_trajectory(drawing *canvas, arena *mem, const plumb_report *report,
                                    const report_model *model)
{
    (void)report;
    // The fit uses the frames the model was trained to predict, if they are known; the rest is
    // held out.
    int64_t fitted = report_model_trained_frames(model);
    if (fitted < 2 || fitted > model->steps) fitted = model->steps;
    const double *readout = readout_fit_predict(mem, model, fitted);
    double *points = ARENA_ALLOC(mem, double, 2 * model->steps);
    if (!readout || !points)
        return readout ? PLUMB_EMEMORY : fail(PLUMB_ENUMERIC, "the latents have no fit");
    const bool close = model->steps > 2 * CLOSE_FRAMES;
    draw_legend(canvas, LEFT + 14, 2.6, PALETTE_AXIS, "truth");
    draw_legend(canvas, LEFT + 114, 1.4, PALETTE_BLUE, "read off the latents");
    if (report_model_vpt_frame(model, 0) < (double)model->steps)
        draw_legend(canvas, LEFT + 300, 2, PALETTE_RED, "frames are wrong from here on (VPT)");
    for (int64_t i = 0; i < count_rows(model); i++) {
        const time_series series = {model, readout, i, points};
        char name[48];
        get_name(name, model, false, i);
        axes_panel panel = {.x = LEFT + 14, .y = 52 + (double)i * (ROW + 34), .h = ROW};
        panel.w = FIGURE_WIDTH - panel.x - 16 - (close ? CLOSE_WIDTH + 44 : 0);
        panel.across = axes_between(0, (double)(model->steps - 1), 6);
        draw_part(canvas, &panel, &series, name);
        if (!close) continue;
        panel.x = FIGURE_WIDTH - CLOSE_WIDTH - 14;
        panel.w = CLOSE_WIDTH;
        panel.across =
            axes_between((double)(model->steps - CLOSE_FRAMES), (double)(model->steps - 1), 3);
        draw_part(canvas, &panel, &series, NULL);
    }
    canvas->text(canvas, FIGURE_WIDTH / 2.0, get_trajectory_height(report, model) - 10, 15,
                 DRAWING_MIDDLE, drawing_rgb(PALETTE_INK),
                 close ? "frame, and the last 80 of them" : "frame");
    return PLUMB_OK;
}

const figure figure_trajectory = {
    .name = "trajectory",
    .title = "State read off the latents, over time",
    .caption = "One video: the true state, and the state that a least-squares fit reads off the "
               "latents. The fit uses the frames that the model was trained to predict (shaded). "
               "The red line marks the first predicted frame that is wrong, if there is one.",
    .height = get_trajectory_height,
    .draw = draw_trajectory,
};
