// SPDX-License-Identifier: MIT
// Figures of single clips: the ROC curve of each scorer, and whether the probabilities of the
// likelihood ratio are calibrated. All sizes are in pixels.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "plot/axes.h"
#include "report/report_model.h"

enum { LEFT = 66, SIDE = 300, MAX_CURVES = 9, BINS = 10 };

static const int colors[] = {PALETTE_BLUE,   PALETTE_ORANGE, PALETTE_GREEN,
                             PALETTE_VIOLET, PALETTE_RED,    PALETTE_PALE,
                             PALETTE_AXIS,   PALETTE_INK,    PALETTE_ORANGE};

typedef struct scored_clip {
    double score;
    bool impossible;
} scored_clip;

static int compare_scores(const void *a, const void *b)
{
    const double x = ((const scored_clip *)a)->score, y = ((const scored_clip *)b)->score;
    return (x < y) - (x > y);
}

// The clips of one scorer, highest score first. Returns their number; 0 without scores.
static int64_t sort_clips(scored_clip **out, arena *mem, const json_tree *scorer)
{
    const json_tree *scores = json_tree_find(scorer, "score");
    const int64_t tuples = json_tree_count(scores);
    scored_clip *clips = tuples > 0 ? ARENA_ALLOC(mem, scored_clip, 4 * tuples) : NULL;
    int64_t n = 0;
    if (!clips) return 0;
    for (const json_tree *tuple = scores->child; tuple; tuple = tuple->next) {
        int place = 0;
        for (const json_tree *value = tuple->child; value && place < 4; value = value->next)
            // What is no number is left out: NaN is not equal to itself.
            if (place++, isfinite(value->number))
                clips[n++] = (scored_clip){value->number, place > 2};
    }
    qsort(clips, (size_t)n, sizeof *clips, compare_scores);
    *out = clips;
    return n;
}

// 0 if the record has no scores of clips.
static double get_roc_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    const json_tree *scorers = json_tree_find(model->surprise, "scorers");
    return scorers && scorers->child && json_tree_count(json_tree_find(scorers->child, "score")) > 0
               ? SIDE + 110
               : 0;
}

// The curve of one scorer: share of impossible clips over share of possible ones above a threshold.
static plumb_status draw_curve(drawing *canvas, arena *mem, const axes_panel *panel,
                               const json_tree *scorer, int color)
{
    scored_clip *clips = NULL;
    const int64_t n = sort_clips(&clips, mem, scorer);
    if (!n) return PLUMB_OK;
    double *points = ARENA_ALLOC(mem, double, 2 * (n + 1)), possible = 0.0, impossible = 0.0;
    if (!points) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) possible += !clips[i].impossible;
    impossible = (double)n - possible;
    if (possible < 1.0 || impossible < 1.0) return PLUMB_OK;
    double found[2] = {0};
    int64_t used = 0;
    points[0] = axes_x(panel, 0), points[1] = axes_y(panel, 0), used = 1;
    for (int64_t i = 0; i < n;) {
        // Clips of the same score pass the threshold together.
        const double score = clips[i].score;
        for (; i < n && clips[i].score == score; i++) found[clips[i].impossible] += 1.0;
        points[2 * used] = axes_x(panel, found[0] / possible);
        points[2 * used++ + 1] = axes_y(panel, found[1] / impossible);
    }
    canvas->path(canvas, points, used, 1.8, drawing_rgb(color));
    return PLUMB_OK;
}

// The curve of calibration: the share of impossible clips over the posterior, by bins.
static void draw_calibration(drawing *canvas, const axes_panel *panel, const json_tree *ratio)
{
    double said[BINS] = {0}, found[BINS] = {0}, points[2 * BINS];
    char text[96];
    const int64_t n = json_tree_doubles(said, BINS, ratio, "calibration.said");
    int64_t used = 0;
    json_tree_doubles(found, BINS, ratio, "calibration.found");
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(said[i]) || !isfinite(found[i])) continue;
        points[2 * used] = axes_x(panel, said[i]);
        points[2 * used++ + 1] = axes_y(panel, found[i]);
        canvas->rectangle(canvas, points[2 * used - 2] - 3, points[2 * used - 1] - 3, 6, 6,
                          drawing_rgb(PALETTE_BLUE));
    }
    canvas->path(canvas, points, used, 1.8, drawing_rgb(PALETTE_BLUE));
    text_format(text, sizeof text, "Brier %.3f, calibration error %.3f",
                json_tree_double(ratio, "brier"), json_tree_double(ratio, "calibration_error"));
    canvas->text(canvas, panel->x + panel->w, 22, 13, DRAWING_RIGHT, drawing_rgb(PALETTE_INK),
                 text);
}

// Left the ROC curves with their areas, right the calibration of the likelihood ratio.
static plumb_status draw_roc(drawing *canvas, arena *mem, const plumb_report *report,
                             const report_model *model)
{
    (void)report;
    const json_tree *scorers = json_tree_find(model->surprise, "scorers"),
                    *ratio = json_tree_find(model->surprise, "likelihood_ratio");
    const double gap = 90;
    axes_panel panel = {.x = LEFT, .y = 50, .w = SIDE, .h = SIDE};
    panel.across = panel.up = (axes_span){.low = 0, .high = 1, .step = 0.25};
    axes_draw(canvas, &panel, "possible clips called impossible", "impossible clips found");
    axes_line(canvas, axes_x(&panel, 0), axes_y(&panel, 0), axes_x(&panel, 1), axes_y(&panel, 1),
              PALETTE_AXIS);
    int i = 0;
    for (const json_tree *scorer = scorers->child; scorer && i < MAX_CURVES;
         scorer = scorer->next, i++) {
        char text[96];
        const plumb_status st = draw_curve(canvas, mem, &panel, scorer, colors[i]);
        if (st) return st;
        text_format(text, sizeof text, "%s %.3f", scorer->key ? scorer->key : "",
                    json_tree_double(scorer, "auroc"));
        canvas->text(canvas, panel.x + panel.w - 8, panel.y + panel.h - 12 - 18 * (MAX_CURVES - i),
                     13, DRAWING_RIGHT, drawing_rgb(colors[i]), text);
    }
    if (!json_tree_has(ratio, "calibration.said")) return PLUMB_OK;
    panel.x += SIDE + gap;
    axes_draw(canvas, &panel, "P(impossible) by the likelihood ratio", "impossible clips");
    axes_line(canvas, axes_x(&panel, 0), axes_y(&panel, 0), axes_x(&panel, 1), axes_y(&panel, 1),
              PALETTE_AXIS);
    draw_calibration(canvas, &panel, ratio);
    return PLUMB_OK;
}

const figure figure_roc = {
    .name = "roc",
    .title = "Single clips",
    .caption =
        "Left: the ROC curve of single clips for each scorer, with the area below it. The line is "
        "chance. A model can decide most tuples and no single clip. Right: the share of impossible "
        "clips among those with the same posterior, which is on the line if the likelihood ratio "
        "is calibrated.",
    .height = get_roc_height,
    .draw = draw_roc,
};
