// SPDX-License-Identifier: MIT
// Pictures: film strips of truth and prediction, the error of each frame, latents that are moved,
// and the loss of training.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "plot/axes.h"
#include "report/report_model.h"

enum { FRAMES = 10, LABEL = 84, GAP = 5, MOST_LATENTS = 8, LEFT = 70, FIELD = 190 };

static int scale_of(const report_video *f, double room)
{
    const int scale = (int)(room / (double)f->width);
    return scale < 1 ? 1 : scale;
}

static double strip_room(void)
{
    return (double)(FIGURE_WIDTH - LABEL - 10) / FRAMES - GAP;
}

static int64_t shown_frames(const report_video *f)
{
    return f->steps < FRAMES ? f->steps : FRAMES;
}

// ---- strips ----

static double film_height(const plumb_report *r, const report_model *s)
{
    (void)r;
    const report_video *f = &s->frames;
    if (!f->rgb) return 0;
    const double one = (double)(f->height * scale_of(f, strip_room())) + GAP;
    return 8 + one * (s->prediction.rgb ? 3 : 1) + 26;
}

static void differ(uint8_t *a, const uint8_t *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) a[i] = (uint8_t)abs(a[i] - b[i]);
}

static plumb_status film_draw(drawing *k, arena *mem, const plumb_report *r, const report_model *s)
{
    (void)r;
    static const char *const names[] = {"truth", "prediction", "difference"};
    const report_video *f = &s->frames;
    const int scale = scale_of(f, strip_room());
    const int64_t shown = shown_frames(f), bytes = f->height * f->width * 3;
    const int rows = s->prediction.rgb ? 3 : 1;
    uint8_t *a = arena_alloc(mem, bytes, 1), *b = arena_alloc(mem, bytes, 1);
    if (!a || !b) return PLUMB_EMEMORY;
    const double wrong = report_model_vpt_frame(s, 0),
                 wide = (double)(FIGURE_WIDTH - LABEL - 10) / FRAMES;
    const double one = (double)(f->height * scale) + GAP;
    for (int row = 0; row < rows; row++)
        k->text(k, LABEL - 8, 8 + one * row + one / 2 + 3, 13, DRAWING_RIGHT,
                drawing_rgb(PALETTE_PALE), names[row]);
    for (int64_t i = 0; i < shown; i++) {
        const int64_t t = shown < 2 ? 0 : i * (f->steps - 1) / (shown - 1);
        const double x = LABEL + (double)i * wide;
        char label[32];
        for (int row = 0; row < rows; row++) {
            report_model_picture(a, s, row == 1 ? &s->prediction : f, 0, t);
            if (row == 2) {
                report_model_picture(b, s, &s->prediction, 0, t);
                differ(a, b, bytes);
            }
            k->picture(k, x, 8 + one * row, scale, a, f->width, f->height);
        }
        snprintf(label, sizeof label, "%s%lld", i ? "" : "frame ", (long long)t);
        k->text(k, x + (double)(f->width * scale) / 2, 8 + one * rows + 13, 13, DRAWING_MIDDLE,
                drawing_rgb((double)t >= wrong ? PALETTE_RED : PALETTE_PALE), label);
    }
    return PLUMB_OK;
}

const figure figure_film = {
    .name = "film",
    .title = "Film strips",
    .caption =
        "A film the model has never seen, what it makes of it after watching its first frames, and "
        "the difference. Frame numbers in red are beyond its valid prediction time.",
    .height = film_height,
    .draw = film_draw,
};

// ---- the error of each frame ----

static double error_height(const plumb_report *r, const report_model *s)
{
    (void)r;
    return s->error && s->frames.steps > 2 ? FIELD + 84 : 0;
}

static plumb_status error_draw(drawing *k, arena *mem, const plumb_report *r, const report_model *s)
{
    (void)r;
    const int64_t steps = s->frames.steps, items = s->frames.items;
    double *log = ARENA_ALLOC(mem, double, items *steps + 1),
           *points = ARENA_ALLOC(mem, double, 2 * steps);
    if (!log || !points) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < items * steps; i++)
        log[i] = s->error[i] > 0 ? log10(fmin(s->error[i], 1e6)) : (double)NAN;
    double bar = json_tree_double(s->forecast, "threshold");
    log[items * steps] = log10(isnan(bar) ? 0.025 : bar);
    axes_panel p = {.x = LEFT, .y = 32, .w = FIGURE_WIDTH - LEFT - 20, .h = FIELD};
    p.across = axes_between(0, (double)(steps - 1), 8);
    p.up = axes_span_of(log, items * steps + 1, 1, 4);
    p.up.step = fmax(1, round(p.up.step));
    p.up.decades = true;
    const double trained = (double)report_model_trained(s);
    k->rectangle(k, p.x, p.y, axes_x(&p, fmin(trained, p.across.high)) - p.x, p.h,
                 drawing_rgb(PALETTE_BAND));
    axes_draw(k, &p, "frame", "error");
    for (int64_t i = 0; i < items; i++) {
        for (int64_t t = 0; t < steps; t++) {
            points[2 * t] = axes_x(&p, (double)t);
            points[2 * t + 1] = axes_y(&p, log[i * steps + t]);
        }
        k->path(k, points, steps, i ? 1 : 1.6, drawing_rgb(i ? PALETTE_AXIS : PALETTE_BLUE));
    }
    const double y = axes_y(&p, log[items * steps]);
    const double line[] = {p.x, y, p.x + p.w, y};
    k->path(k, line, 2, 1.6, drawing_rgb(PALETTE_RED));
    k->text(k, p.x + p.w - 4, y - 6, 13, DRAWING_RIGHT, drawing_rgb(PALETTE_RED),
            "wrong above this line");
    return PLUMB_OK;
}

const figure figure_error = {
    .name = "error",
    .title = "How wrong the pictures are",
    .caption = "Relative squared error of every frame, one line a film; the film of the strips is "
               "blue. The "
               "valid prediction time counts the frames after those the model was trained on "
               "(shaded) until "
               "the red line is crossed.",
    .height = error_height,
    .draw = error_draw,
};

// ---- latents that are moved ----

static int64_t moved(int64_t which[MOST_LATENTS], const report_model *s)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->traversal.items && n < MOST_LATENTS; i++)
        if (i >= s->latents || report_model_informative(s, i)) which[n++] = i;
    return n;
}

static double traversal_height(const plumb_report *r, const report_model *s)
{
    (void)r;
    int64_t which[MOST_LATENTS];
    const report_video *f = &s->traversal;
    if (!f->rgb || !moved(which, s)) return 0;
    return 3 * ((double)(f->height * scale_of(f, 84)) + GAP) + 44;
}

static plumb_status traversal_draw(drawing *k, arena *mem, const plumb_report *r,
                                   const report_model *s)
{
    (void)r;
    static const char *const values[] = {"-2", "0", "2"};
    const report_video *f = &s->traversal;
    const int scale = scale_of(f, 84);
    int64_t which[MOST_LATENTS];
    const int64_t count = moved(which, s);
    uint8_t *a = arena_alloc(mem, f->height * f->width, 3);
    if (!a) return PLUMB_EMEMORY;
    const double one = (double)(f->height * scale) + GAP, wide = (double)(f->width * scale);
    for (int64_t i = 0; i < count; i++) {
        const double x = LABEL + (double)i * (wide + GAP + 4);
        char label[32];
        snprintf(label, sizeof label, s->latents == 2 ? "q" : "q%lld", (long long)which[i]);
        k->text(k, x + wide / 2, 20, 15, DRAWING_MIDDLE, drawing_rgb(PALETTE_INK), label);
        for (int row = 0; row < 3; row++) {
            report_model_picture(a, s, f, which[i], row);
            k->picture(k, x, 32 + one * row, scale, a, f->width, f->height);
            if (!i)
                k->text(k, LABEL - 10, 32 + one * row + one / 2 + 4, 14, DRAWING_RIGHT,
                        drawing_rgb(PALETTE_PALE), values[row]);
        }
    }
    return PLUMB_OK;
}

const figure figure_traversal = {
    .name = "traversal",
    .title = "Latents moved by hand",
    .caption = "The first frame as the model draws it when one latent position is set to -2, 0 and "
               "2 standard "
               "deviations of its prior and the others stay.",
    .height = traversal_height,
    .draw = traversal_draw,
};

// ---- training ----

static double loss_height(const plumb_report *r, const report_model *s)
{
    (void)r;
    return s->log_count > 2 ? FIELD + 84 : 0;
}

static plumb_status loss_draw(drawing *k, arena *mem, const plumb_report *r, const report_model *s)
{
    (void)r;
    double *points = ARENA_ALLOC(mem, double, 2 * s->log_count);
    if (!points) return PLUMB_EMEMORY;
    axes_panel p = {.x = LEFT, .y = 32, .w = FIGURE_WIDTH - LEFT - 20, .h = FIELD};
    p.across = axes_between(0, s->log_step[s->log_count - 1], 8);
    p.up = axes_span_of(s->log_loss, s->log_count, 1, 5);
    axes_draw(k, &p, "update", "loss");
    for (int64_t i = 0; i < s->log_count; i++) {
        points[2 * i] = axes_x(&p, s->log_step[i]);
        points[2 * i + 1] = axes_y(&p, s->log_loss[i]);
    }
    k->path(k, points, s->log_count, 1.6, drawing_rgb(PALETTE_BLUE));
    return PLUMB_OK;
}

const figure figure_loss = {
    .name = "loss",
    .title = "Training",
    .caption = "What training minimised, update by update.",
    .height = loss_height,
    .draw = loss_draw,
};
