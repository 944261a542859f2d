// SPDX-License-Identifier: MIT
// Figures 2B, 3A to 3C and 3D of [Higgins21], of one model: states read off the latents over 1000
// frames, trajectories in both phase spaces, and strips of frames. They are drawn on request only.
// All sizes are in pixels.
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "plot/palette.h"
#include "report/phase_panels.h"

enum { LEFT = 64, TRAJECTORIES = 4, MAX_ROWS = 24, FRAMES = 11, LABEL = 92, GAP = 4, BETWEEN = 12 };

// ---- 2B and 3D: over time ----

// Trajectories that are shown.
static int64_t count_trajectories(const report_model *model)
{
    return model->count < TRAJECTORIES ? model->count : TRAJECTORIES;
}

// Rows of `coordinates` coordinates of every trajectory, at most MAX_ROWS.
static int64_t count_rows(const report_model *model, int64_t coordinates)
{
    const int64_t rows = count_trajectories(model) * coordinates;
    return rows < MAX_ROWS ? rows : MAX_ROWS;
}

static double get_rows_height(const report_model *model, int64_t coordinates)
{
    if (!model->readout || model->steps <= 2) return 0;
    return 86 + 22 + (double)count_rows(model, coordinates) * TIME_ROW_HEIGHT;
}

// Draws the first coordinates of several trajectories over time, then says what is not shown.
static plumb_status draw_rows(drawing *canvas, arena *mem, const report_model *model,
                              int64_t coordinates)
{
    const int64_t rows = count_rows(model, coordinates);
    const double bottom = get_rows_height(model, coordinates);
    plumb_status st = PLUMB_OK;
    phase_panels_legend(canvas, LEFT, 2.6, PALETTE_AXIS, "truth");
    phase_panels_legend(canvas, LEFT + 100, 1.4, PALETTE_BLUE, "read off the latents by F");
    phase_panels_legend(canvas, LEFT + 316, 2, PALETTE_RED, "VPT");
    for (int64_t i = 0; i < rows && !st; i++) {
        char coordinate[48], name[80];
        phase_panels_name(coordinate, model, false, i % coordinates);
        snprintf(name, sizeof name, "%s, %lld", coordinate, (long long)(i / coordinates));
        st = phase_panels_time(canvas, mem,
                               &(time_row){model, i / coordinates, i % coordinates,
                                           56 + (double)i * TIME_ROW_HEIGHT, name});
    }
    canvas->text(canvas, FIGURE_WIDTH / 2.0, bottom - 34, 15, DRAWING_MIDDLE,
                 drawing_rgb(PALETTE_INK), phase_panels_time_label(model));
    char text[160];
    snprintf(text, sizeof text,
             "coordinate and number of the video; %lld of %lld coordinates of %lld of %lld videos",
             (long long)(rows < coordinates ? rows : coordinates), (long long)model->states,
             (long long)((rows + coordinates - 1) / coordinates), (long long)model->count);
    canvas->text(canvas, LEFT, bottom - 10, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), text);
    return st;
}

// 2B: the first position of each trajectory.
static double get_position_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    return get_rows_height(model, 1);
}

static plumb_status draw_position(drawing *canvas, arena *mem, const plumb_report *report,
                                  const report_model *model)
{
    (void)report;
    return draw_rows(canvas, mem, model, 1);
}

const figure figure_paper_2b = {
    .name = "paper-2b",
    .title = "The first position, read off the latents",
    .caption = "The first true position of four videos and what F, the map of SyMetric, reads off "
               "the latents [Higgins21, Figure 2B]. The red line is at the VPT of each video.",
    .on_request = true,
    .height = get_position_height,
    .draw = draw_position,
};

// 3D: all coordinates of each trajectory.
static double get_states_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    return get_rows_height(model, model->states);
}

static plumb_status draw_states(drawing *canvas, arena *mem, const plumb_report *report,
                                const report_model *model)
{
    (void)report;
    return draw_rows(canvas, mem, model, model->states);
}

const figure figure_paper_3d = {
    .name = "paper-3d",
    .title = "The true state, read off the latents",
    .caption = "All coordinates of the true state of four videos and what F, the map of SyMetric, "
               "reads off the latents [Higgins21, Figure 3D]. The red line is at the VPT of each.",
    .on_request = true,
    .height = get_states_height,
    .draw = draw_states,
};

// ---- 3A to 3C: phase spaces and frames ----

// Whole pixels of the figure per pixel of a frame, at least 1.
static int get_scale(const report_video *video)
{
    const double width = (double)(FIGURE_WIDTH - LABEL - 10) / FRAMES - GAP;
    const int scale = (int)(width / (double)video->width);
    return scale < 1 ? 1 : scale;
}

// Strips of frames: truth and prediction of each video.
static int64_t count_strips(const report_model *model)
{
    const int64_t items = model->frames.items;
    return !model->prediction.rgb ? 0 : items < TRAJECTORIES ? items : TRAJECTORIES;
}

static double get_strip_height(const report_model *model)
{
    return 2 * ((double)(model->frames.height * get_scale(&model->frames)) + GAP) + BETWEEN;
}

static double get_spaces_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    if (!model->latent || !model->truth) return 0;
    return phase_panels_clouds_height(model) +
           (count_strips(model) ? (double)count_strips(model) * get_strip_height(model) + 40 : 0);
}

// One video: a row of true frames above a row of predicted ones.
static plumb_status draw_strip(drawing *canvas, arena *mem, const report_model *model, int64_t item,
                               double y)
{
    const report_video *video = &model->frames;
    const int scale = get_scale(video);
    const double high = (double)(video->height * scale) + GAP,
                 step = (double)(FIGURE_WIDTH - LABEL - 10) / FRAMES;
    const int64_t shown = video->steps < FRAMES ? video->steps : FRAMES;
    uint8_t *rgb = arena_alloc(mem, video->height * video->width, 3);
    if (!rgb) return PLUMB_EMEMORY;
    for (int row = 0; row < 2; row++) {
        char label[32];
        snprintf(label, sizeof label, "%s %lld", row ? "model" : "truth", (long long)item);
        canvas->text(canvas, LABEL - 10, y + high * row + high / 2 + 3, 13, DRAWING_RIGHT,
                     drawing_rgb(PALETTE_PALE), label);
        for (int64_t i = 0; i < shown; i++) {
            const int64_t t = shown < 2 ? 0 : i * (video->steps - 1) / (shown - 1);
            report_model_copy_frame(rgb, model, row ? &model->prediction : video, item, t);
            canvas->picture(canvas, LABEL + (double)i * step, y + high * row, scale, rgb,
                            video->width, video->height);
        }
    }
    return PLUMB_OK;
}

// The numbers of the frames, below the last strip.
static void draw_frame_numbers(drawing *canvas, const report_model *model, double y)
{
    const report_video *video = &model->frames;
    const double step = (double)(FIGURE_WIDTH - LABEL - 10) / FRAMES;
    const int64_t shown = video->steps < FRAMES ? video->steps : FRAMES;
    for (int64_t i = 0; i < shown; i++) {
        char label[32];
        const int64_t t = shown < 2 ? 0 : i * (video->steps - 1) / (shown - 1);
        snprintf(label, sizeof label, "%s%lld", i ? "" : "frame ", (long long)t);
        canvas->text(canvas,
                     LABEL + (double)i * step + (double)(video->width * get_scale(video)) / 2, y,
                     13, DRAWING_MIDDLE, drawing_rgb(PALETTE_PALE), label);
    }
}

static plumb_status draw_spaces(drawing *canvas, arena *mem, const plumb_report *report,
                                const report_model *model)
{
    (void)report;
    plumb_status st = phase_panels_clouds(canvas, mem, model, 0, TRAJECTORIES);
    double y = phase_panels_clouds_height(model) + 8;
    for (int64_t i = 0; i < count_strips(model) && !st; i++, y += get_strip_height(model))
        st = draw_strip(canvas, mem, model, i, y);
    if (!st && count_strips(model)) draw_frame_numbers(canvas, model, y + 6);
    return st;
}

const figure figure_paper_3abc = {
    .name = "paper-3abc",
    .title = "True phase space, latents and frames",
    .caption = "Four videos: the true states, the informative latents, pairs as clouds and single "
               "ones as points, and frames of truth and model [Higgins21, Figure 3A to 3C].",
    .on_request = true,
    .height = get_spaces_height,
    .draw = draw_spaces,
};
