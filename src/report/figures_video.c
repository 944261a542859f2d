// SPDX-License-Identifier: MIT
// Figures of one model that show frames or curves: frames of truth and prediction, the error of
// each frame, frames decoded with one latent changed, and the training loss. All sizes are in
// pixels.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "plot/axes.h"
#include "report/phase_panels.h"

enum { FRAMES = 10, LABEL = 84, GAP = 5, MAX_LATENTS = 32, LEFT = 70, PANEL_HEIGHT = 190 };

// Whole pixels of the figure per pixel of a frame, at least 1.
static int get_scale(const report_video *video, double width)
{
    const int scale = (int)(width / (double)video->width);
    return scale < 1 ? 1 : scale;
}

// The width that is available for one of FRAMES frames side by side.
static double get_frame_width(void)
{
    return (double)(FIGURE_WIDTH - LABEL - 10) / FRAMES - GAP;
}

static int64_t count_shown_frames(const report_video *video)
{
    return video->steps < FRAMES ? video->steps : FRAMES;
}

// ---- frames of truth and prediction ----

// 0 without frames. With a prediction there are three rows.
static double get_frames_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    const report_video *video = &model->frames;
    if (!video->rgb) return 0;
    const double row_height = (double)(video->height * get_scale(video, get_frame_width())) + GAP;
    return 8 + row_height * (model->prediction.rgb ? 3 : 1) + 26;
}

// a becomes |a - b|.
static void subtract_frames(uint8_t *a, const uint8_t *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) a[i] = (uint8_t)abs(a[i] - b[i]);
}

// Rows of truth, prediction and difference, with frame numbers.
static plumb_status draw_frames(drawing *canvas, arena *mem, const plumb_report *report,
                                const report_model *model)
{
    (void)report;
    static const char *const names[] = {"truth", "prediction", "difference"};
    const report_video *video = &model->frames;
    const int scale = get_scale(video, get_frame_width());
    const int64_t shown = count_shown_frames(video), bytes = video->height * video->width * 3;
    const int rows = model->prediction.rgb ? 3 : 1;
    uint8_t *a = arena_alloc(mem, bytes, 1), *b = arena_alloc(mem, bytes, 1);
    if (!a || !b) return PLUMB_EMEMORY;
    // From frame `wrong` on, the frame numbers are red.
    const double wrong = report_model_vpt_frame(model, 0),
                 step = (double)(FIGURE_WIDTH - LABEL - 10) / FRAMES;
    const double row_height = (double)(video->height * scale) + GAP;
    for (int row = 0; row < rows; row++)
        canvas->text(canvas, LABEL - 8, 8 + row_height * row + row_height / 2 + 3, 13,
                     DRAWING_RIGHT, drawing_rgb(PALETTE_PALE), names[row]);
    for (int64_t i = 0; i < shown; i++) {
        const int64_t t = shown < 2 ? 0 : i * (video->steps - 1) / (shown - 1);
        const double x = LABEL + (double)i * step;
        char label[32];
        // Truth, prediction, and the absolute difference.
        for (int row = 0; row < rows; row++) {
            report_model_copy_frame(a, model, row == 1 ? &model->prediction : video, 0, t);
            if (row == 2) {
                report_model_copy_frame(b, model, &model->prediction, 0, t);
                subtract_frames(a, b, bytes);
            }
            canvas->picture(canvas, x, 8 + row_height * row, scale, a, video->width, video->height);
        }
        snprintf(label, sizeof label, "%s%lld", i ? "" : "frame ", (long long)t);
        canvas->text(canvas, x + (double)(video->width * scale) / 2, 8 + row_height * rows + 13, 13,
                     DRAWING_MIDDLE, drawing_rgb((double)t >= wrong ? PALETTE_RED : PALETTE_PALE),
                     label);
    }
    return PLUMB_OK;
}

const figure figure_frames = {
    .name = "film",
    .title = "Truth and prediction",
    .caption =
        "A video that the model has never seen, its prediction from the first frames, and the "
        "difference. Frame numbers in red are beyond the valid prediction time.",
    .height = get_frames_height,
    .draw = draw_frames,
};

// ---- the error of each frame ----

// 0 without a prediction.
static double get_error_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    return model->error && model->frames.steps > 2 ? PANEL_HEIGHT + 84 : 0;
}

// Errors on a logarithmic axis, with the trained frames shaded and the threshold as a line.
static plumb_status draw_error(drawing *canvas, arena *mem, const plumb_report *report,
                               const report_model *model)
{
    (void)report;
    const int64_t steps = model->frames.steps, items = model->frames.items;
    double *log = ARENA_ALLOC(mem, double, items *steps + 1),
           *points = ARENA_ALLOC(mem, double, 2 * steps);
    if (!log || !points) return PLUMB_EMEMORY;
    // The logarithm of 0 is left out. Errors are limited: a divergence must not set the axis.
    for (int64_t i = 0; i < items * steps; i++)
        log[i] = model->error[i] > 0 ? log10(fmin(model->error[i], 1e6)) : (double)NAN;
    // Errors on a logarithmic scale; the last entry is the threshold.
    double threshold = json_tree_double(model->forecast, "threshold");
    log[items * steps] = log10(isnan(threshold) ? 0.025 : threshold);
    axes_panel panel = {.x = LEFT, .y = 32, .w = FIGURE_WIDTH - LEFT - 20, .h = PANEL_HEIGHT};
    panel.across = axes_between(0, (double)(steps - 1), 8);
    panel.up = axes_span_of(log, items * steps + 1, 1, 4);
    panel.up.step = fmax(1, round(panel.up.step));
    panel.up.decades = true;
    const double trained = (double)report_model_trained_frames(model);
    canvas->rectangle(canvas, panel.x, panel.y,
                      axes_x(&panel, fmin(trained, panel.across.high)) - panel.x, panel.h,
                      drawing_rgb(PALETTE_BAND));
    axes_draw(canvas, &panel, "frame", "error");
    // One curve per video; the first is the one shown above.
    for (int64_t i = 0; i < items; i++) {
        for (int64_t t = 0; t < steps; t++) {
            points[2 * t] = axes_x(&panel, (double)t);
            points[2 * t + 1] = axes_y(&panel, log[i * steps + t]);
        }
        canvas->path(canvas, points, steps, i ? 1 : 1.6,
                     drawing_rgb(i ? PALETTE_AXIS : PALETTE_BLUE));
    }
    // The threshold.
    const double y = axes_y(&panel, log[items * steps]);
    const double line[] = {panel.x, y, panel.x + panel.w, y};
    canvas->path(canvas, line, 2, 1.6, drawing_rgb(PALETTE_RED));
    canvas->text(canvas, panel.x + panel.w - 4, y - 6, 13, DRAWING_RIGHT, drawing_rgb(PALETTE_RED),
                 "wrong above this line");
    return PLUMB_OK;
}

const figure figure_error = {
    .name = "error",
    .title = "Error of the predicted frames",
    .caption =
        "Relative squared error of every frame, one line per video; the video shown above is "
        "blue. The valid prediction time is the number of frames after those the model was "
        "trained on (shaded) until the red line is crossed.",
    .height = get_error_height,
    .draw = draw_error,
};

// ---- frames with one latent changed ----

// Informative latents, or all if the latents are unknown. `which` has the first MAX_LATENTS of
// them.
static int64_t list_latents(int64_t which[MAX_LATENTS], const report_model *model)
{
    int64_t n = 0;
    for (int64_t i = 0; i < model->traversal.items; i++)
        if (i >= model->latents || report_model_is_informative(model, i)) {
            if (n < MAX_LATENTS) which[n] = i;
            n++;
        }
    return n;
}

// Columns of frames in lines of as many as fit.
typedef struct traversal_layout {
    int64_t latents, shown, columns;
    int scale;
    double frame, step, line; // height of a frame, width of a column, height of a line
} traversal_layout;

static traversal_layout arrange_traversal(int64_t which[MAX_LATENTS], const report_model *model)
{
    const report_video *video = &model->traversal;
    traversal_layout layout = {.latents = list_latents(which, model),
                               .scale = get_scale(video, 84)};
    layout.shown = layout.latents < MAX_LATENTS ? layout.latents : MAX_LATENTS;
    layout.step = (double)(video->width * layout.scale) + GAP + 4;
    layout.frame = (double)(video->height * layout.scale) + GAP;
    layout.line = 3 * layout.frame + 34;
    layout.columns = (int64_t)((FIGURE_WIDTH - LABEL) / layout.step);
    if (layout.columns < 1) layout.columns = 1;
    return layout;
}

// 0 if the model was not decoded with changed latents.
static double get_traversal_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    int64_t which[MAX_LATENTS];
    if (!model->traversal.rgb) return 0;
    const traversal_layout layout = arrange_traversal(which, model);
    if (!layout.shown) return 0;
    const int64_t lines = (layout.shown + layout.columns - 1) / layout.columns;
    return (double)lines * layout.line + 10 + (layout.shown < layout.latents ? 22 : 0);
}

// One column per latent, one row per value.
static plumb_status draw_traversal(drawing *canvas, arena *mem, const plumb_report *report,
                                   const report_model *model)
{
    static const char *const values[] = {"-2", "0", "2"};
    const report_video *video = &model->traversal;
    int64_t which[MAX_LATENTS];
    const traversal_layout layout = arrange_traversal(which, model);
    uint8_t *a = arena_alloc(mem, video->height * video->width, 3);
    char label[48];
    if (!a) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < layout.shown; i++) {
        const double x = LABEL + (double)(i % layout.columns) * layout.step,
                     y = (double)(i / layout.columns) * layout.line;
        if (which[i] < model->latents || which[i] < model->named)
            phase_panels_name(label, model, true, which[i]);
        else snprintf(label, sizeof label, "q%lld", (long long)which[i]);
        canvas->text(canvas, x + (layout.step - GAP - 4) / 2, y + 20, 15, DRAWING_MIDDLE,
                     drawing_rgb(PALETTE_INK), label);
        for (int row = 0; row < 3; row++) {
            const double top = y + 32 + layout.frame * row;
            report_model_copy_frame(a, model, video, which[i], row);
            canvas->picture(canvas, x, top, layout.scale, a, video->width, video->height);
            if (i % layout.columns == 0)
                canvas->text(canvas, LABEL - 10, top + layout.frame / 2 + 4, 14, DRAWING_RIGHT,
                             drawing_rgb(PALETTE_PALE), values[row]);
        }
    }
    if (layout.shown < layout.latents) {
        snprintf(label, sizeof label, "%lld more latents are not shown",
                 (long long)(layout.latents - layout.shown));
        canvas->text(canvas, LABEL, get_traversal_height(report, model) - 8, 14, DRAWING_LEFT,
                     drawing_rgb(PALETTE_INK), label);
    }
    return PLUMB_OK;
}

const figure figure_traversal = {
    .name = "traversal",
    .title = "Latent traversal",
    .caption = "The first frame, decoded with one latent position set to -2, 0 and 2 standard "
               "deviations of its prior and the others unchanged.",
    .height = get_traversal_height,
    .draw = draw_traversal,
};

// ---- training ----

// 0 without a training log.
static double get_loss_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    return model->log_count > 2 ? PANEL_HEIGHT + 84 : 0;
}

// The loss over training steps.
static plumb_status draw_loss(drawing *canvas, arena *mem, const plumb_report *report,
                              const report_model *model)
{
    (void)report;
    double *points = ARENA_ALLOC(mem, double, 2 * model->log_count);
    if (!points) return PLUMB_EMEMORY;
    axes_panel panel = {.x = LEFT, .y = 32, .w = FIGURE_WIDTH - LEFT - 20, .h = PANEL_HEIGHT};
    panel.across = axes_between(0, model->log_step[model->log_count - 1], 8);
    panel.up = axes_span_of(model->log_loss, model->log_count, 1, 5);
    axes_draw(canvas, &panel, "update", "loss");
    for (int64_t i = 0; i < model->log_count; i++) {
        points[2 * i] = axes_x(&panel, model->log_step[i]);
        points[2 * i + 1] = axes_y(&panel, model->log_loss[i]);
    }
    canvas->path(canvas, points, model->log_count, 1.6, drawing_rgb(PALETTE_BLUE));
    return PLUMB_OK;
}

const figure figure_loss = {
    .name = "loss",
    .title = "Training",
    .caption = "The loss at every logged step of training.",
    .height = get_loss_height,
    .draw = draw_loss,
};
