// SPDX-License-Identifier: MIT
// Figures of violation of expectation: accuracy by concept, surprise over time, the distribution of
// the features, and the counter-example of [Lin23]. All sizes are in pixels.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "plot/axes.h"
#include "plumb/surprise.h"
#include "report/report_model.h"

enum { LEFT = 66, PANEL_HEIGHT = 190, MAX_SCORERS = 9, BINS = 20 };

static const int colors[] = {PALETTE_BLUE,   PALETTE_ORANGE, PALETTE_GREEN,
                             PALETTE_VIOLET, PALETTE_RED,    PALETTE_PALE,
                             PALETTE_AXIS,   PALETTE_INK,    PALETTE_ORANGE};

// ---- accuracy by concept ----

// The list of concepts; NULL if the tuples have none.
static const json_tree *find_concepts(const report_model *model)
{
    const json_tree *concepts = json_tree_find(model->surprise, "concepts");
    return concepts && concepts->child ? concepts : NULL;
}

// 0 if there is no accuracy to draw.
static double get_concepts_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    const json_tree *scorers = find_concepts(model)
                                   ? json_tree_find(find_concepts(model)->child, "scorers")
                                   : json_tree_find(model->surprise, "scorers");
    return scorers && scorers->child ? PANEL_HEIGHT + 104 : 0;
}

// The bars of one concept, one per scorer, with their intervals.
static void draw_group(drawing *canvas, const axes_panel *panel, double x, double width,
                       const json_tree *scorers)
{
    const int64_t n = json_tree_count(scorers);
    const double bar = fmin(40, 0.82 * width / (double)n);
    // Bars are centred in the width of the group.
    x += (width - bar * (double)n) / 2;
    int i = 0;
    for (const json_tree *scorer = scorers->child; scorer && i < MAX_SCORERS;
         scorer = scorer->next, i++, x += bar) {
        const double accuracy = json_tree_double(scorer, "accuracy");
        double ci[2];
        if (!isfinite(accuracy)) continue;
        canvas->rectangle(canvas, x + 1, axes_y(panel, accuracy), bar - 2,
                          panel->y + panel->h - axes_y(panel, accuracy), drawing_rgb(colors[i]));
        if (json_tree_doubles(ci, 2, scorer, "accuracy_ci") == 2 && ci[1] > ci[0]) {
            const double mid = x + bar / 2,
                         whisker[] = {mid, axes_y(panel, ci[0]), mid, axes_y(panel, ci[1])};
            canvas->path(canvas, whisker, 2, 1.8, drawing_rgb(PALETTE_INK));
        }
    }
}

// The legend: a colour per scorer.
static void draw_scorer_legend(drawing *canvas, const json_tree *scorers)
{
    double x = LEFT + 10;
    int i = 0;
    for (const json_tree *scorer = scorers->child; scorer && scorer->key && i < MAX_SCORERS;
         scorer = scorer->next, i++) {
        canvas->rectangle(canvas, x, 8, 12, 12, drawing_rgb(colors[i]));
        canvas->text(canvas, x + 18, 19, 13, DRAWING_LEFT, drawing_rgb(PALETTE_INK), scorer->key);
        x += 40 + 8 * (double)strlen(scorer->key);
    }
}

// The line of chance, and its legend.
static void draw_chance(drawing *canvas, const axes_panel *panel)
{
    const double y = axes_y(panel, 0.5), right = panel->x + panel->w;
    const double chance[] = {panel->x, y, right, y}, sample[] = {right - 72, 14, right - 52, 14};
    canvas->path(canvas, chance, 2, 1.4, drawing_rgb(PALETTE_RED));
    canvas->path(canvas, sample, 2, 1.4, drawing_rgb(PALETTE_RED));
    canvas->text(canvas, right, 18.5, 13, DRAWING_RIGHT, drawing_rgb(PALETTE_INK), "chance");
}

// The name below a group: "object_persistence" in two lines.
static void draw_group_name(drawing *canvas, double x, double y, const char *name)
{
    char line[64];
    const char *rest = name + strcspn(name, "_-");
    snprintf(line, sizeof line, "%.*s", (int)(rest - name), name);
    canvas->text(canvas, x, y, 13, DRAWING_MIDDLE, drawing_rgb(PALETTE_INK), line);
    if (*rest)
        canvas->text(canvas, x, y + 17, 13, DRAWING_MIDDLE, drawing_rgb(PALETTE_INK), rest + 1);
}

// Bars of the groups of a list, the first of which is number `first`; the number after the last.
static int draw_groups(drawing *canvas, const axes_panel *panel, double width, int first,
                       const json_tree *groups)
{
    for (const json_tree *concept = groups ? groups->child : NULL; concept;
         concept = concept->next, first++) {
        const json_tree *scorers = json_tree_find(concept, "scorers");
        const char *name = json_tree_string(concept, "name");
        if (scorers && scorers->child)
            draw_group(canvas, panel, panel->x + first * width, width, scorers);
        draw_group_name(canvas, panel->x + (first + 0.5) * width, panel->y + panel->h + 20,
                        name ? name : "");
    }
    return first;
}

// Legend, bars per concept and scorer, and the line of chance. Concepts that the paper does not
// have stand on the right of a line.
static plumb_status draw_concepts(drawing *canvas, arena *mem, const plumb_report *report,
                                  const report_model *model)
{
    (void)mem, (void)report;
    const json_tree *groups = find_concepts(model), *more = model->more_concepts,
                    *scorers = json_tree_find(groups ? groups->child : model->surprise, "scorers");
    axes_panel panel = {.x = LEFT, .y = 50, .w = FIGURE_WIDTH - LEFT - 20, .h = PANEL_HEIGHT};
    panel.up = (axes_span){.low = 0, .high = 1.04, .step = 0.25};
    panel.across = (axes_span){.low = 0, .high = 1};
    axes_draw(canvas, &panel, NULL, "accuracy");
    draw_scorer_legend(canvas, scorers);
    if (groups) {
        const int64_t n = json_tree_count(groups) + (more ? json_tree_count(more) : 0);
        const double width = panel.w / (double)n;
        const int judged = draw_groups(canvas, &panel, width, 0, groups);
        draw_groups(canvas, &panel, width, judged, more);
        const double x = panel.x + judged * width, line[] = {x, panel.y, x, panel.y + panel.h};
        if (more) canvas->path(canvas, line, 2, 1.2, drawing_rgb(PALETTE_AXIS));
    } else {
        draw_group(canvas, &panel, panel.x, panel.w, scorers);
        canvas->text(canvas, panel.x + panel.w / 2, panel.y + panel.h + 20, 13, DRAWING_MIDDLE,
                     drawing_rgb(PALETTE_INK), "all tuples");
    }
    draw_chance(canvas, &panel);
    return PLUMB_OK;
}

const figure figure_concepts = {
    .name = "concepts",
    .title = "Accuracy by concept",
    .caption =
        "Share of tuples whose two impossible clips have the higher sum of scores, by concept "
        "and scorer, with 95 % bootstrap intervals over tuples. Concepts that the paper does not "
        "have "
        "stand on the right, beyond a line, and are no part of the overall value.",
    .height = get_concepts_height,
    .draw = draw_concepts,
};

// ---- one tuple over time ----

enum { CLIP_FRAMES = 10, CLIP_LABEL = 100 };

// Whole pixels of the figure per pixel of a clip, at least 1.
static int get_clip_scale(const report_video *video)
{
    const int scale = (int)(((FIGURE_WIDTH - CLIP_LABEL - 10) / CLIP_FRAMES - 4) / video->width);
    return scale < 1 ? 1 : scale;
}

// Four rows of frames, eight with predicted ones, or 0 without clips.
static double get_clips_height(const report_model *model)
{
    const int rows = model->clip_prediction.rgb ? 8 : 4;
    return model->clips.rgb
               ? rows * ((double)(model->clips.height * get_clip_scale(&model->clips)) + 4) + 14
               : 0;
}

// 0 if the surprise is given per clip and not per frame.
static double get_surprise_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    return model->frame_surprise && model->frame_surprise_count > 1
               ? PANEL_HEIGHT + 96 + get_clips_height(model)
               : 0;
}

// The order of the clips in a tuple.
static const char *const clip_names[] = {"possible 1", "possible 2", "impossible 1",
                                         "impossible 2"};
static const int clip_colors[] = {PALETTE_BLUE, PALETTE_GREEN, PALETTE_RED, PALETTE_ORANGE};

// Frames of the four clips of the tuple, from y on.
static plumb_status draw_clips(drawing *canvas, arena *mem, const report_model *model, double y)
{
    const report_video *video = &model->clips;
    const int scale = get_clip_scale(video);
    const double row_height = (double)(video->height * scale) + 4,
                 width = (FIGURE_WIDTH - CLIP_LABEL - 10) / (double)CLIP_FRAMES;
    const int64_t shown = video->steps < CLIP_FRAMES ? video->steps : CLIP_FRAMES;
    uint8_t *rgb = arena_alloc(mem, video->height * video->width, 3);
    if (!rgb) return PLUMB_EMEMORY;
    const report_video *guess = &model->clip_prediction;
    const int kinds = guess->rgb ? 2 : 1;
    const int64_t missing = guess->rgb ? video->steps - guess->steps : 0;
    for (int row = 0; row < 4 * kinds; row++) {
        const int clip = row / kinds;
        const bool predicted = row % kinds;
        canvas->text(canvas, CLIP_LABEL - 8, y + row_height * row + row_height / 2 + 3, 13,
                     DRAWING_RIGHT, drawing_rgb(clip_colors[clip]),
                     predicted ? "predicted" : clip_names[clip]);
        // Evenly spaced frames, the first and the last included.
        for (int64_t i = 0; i < shown; i++) {
            const int64_t step = shown < 2 ? 0 : i * (video->steps - 1) / (shown - 1);
            // The first frame may have no prediction.
            if (predicted && step < missing) continue;
            report_model_copy_frame(rgb, model, predicted ? guess : video, clip,
                                    predicted ? step - missing : step);
            canvas->picture(canvas, CLIP_LABEL + (double)i * width, y + row_height * row, scale,
                            rgb, video->width, video->height);
        }
    }
    return PLUMB_OK;
}

// Four curves, and the frames of the clips below them.
static plumb_status draw_surprise(drawing *canvas, arena *mem, const plumb_report *report,
                                  const report_model *model)
{
    (void)report;
    const int64_t n = model->frame_surprise_count;
    double *points = ARENA_ALLOC(mem, double, 2 * n);
    if (!points) return PLUMB_EMEMORY;
    axes_panel panel = {.x = LEFT, .y = 50, .w = FIGURE_WIDTH - LEFT - 20, .h = PANEL_HEIGHT};
    panel.across = axes_between(0, (double)(n - 1), 8);
    panel.up = axes_span_of(model->frame_surprise, 4 * n, 1, 4);
    axes_draw(canvas, &panel, "frame", "surprise");
    for (int clip = 0; clip < 4; clip++) {
        for (int64_t t = 0; t < n; t++) {
            points[2 * t] = axes_x(&panel, (double)t);
            points[2 * t + 1] = axes_y(&panel, model->frame_surprise[clip * n + t]);
        }
        canvas->path(canvas, points, n, 1.8, drawing_rgb(clip_colors[clip]));
        const double x = LEFT + 20 + 130 * clip, line[] = {x, 17, x + 20, 17};
        canvas->path(canvas, line, 2, 2.2, drawing_rgb(clip_colors[clip]));
        canvas->text(canvas, x + 28, 21.5, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE),
                     clip_names[clip]);
    }
    return model->clips.rgb ? draw_clips(canvas, mem, model, PANEL_HEIGHT + 100) : PLUMB_OK;
}

const figure figure_surprise = {
    .name = "surprise",
    .title = "Surprise over time",
    .caption =
        "Squared prediction error of each frame, for the four clips of the first tuple. The "
        "curves of clips with the same beginning separate where one becomes impossible. Below: "
        "frames of the clips and, where they are known, what the model predicted.",
    .height = get_surprise_height,
    .draw = draw_surprise,
};

// ---- uniformity of the features ----

// Panels of the concepts below that of all clips.
enum { SMALL_ACROSS = 3, SMALL_HEIGHT = 110, SMALL_ROW = SMALL_HEIGHT + 96 };

static bool has_histogram(const json_tree *from)
{
    return json_tree_has(from, "uniformity.paper.histogram");
}

// Concepts that have a histogram of their own.
static int64_t count_histograms(const report_model *model)
{
    const json_tree *concepts = find_concepts(model);
    int64_t count = 0;
    for (const json_tree *c = concepts ? concepts->child : NULL; c; c = c->next)
        count += has_histogram(c);
    return count;
}

// 0 if uniformity was not tested.
static double get_uniformity_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    if (!has_histogram(model->surprise)) return 0;
    const int64_t rows = (count_histograms(model) + SMALL_ACROSS - 1) / SMALL_ACROSS;
    return PANEL_HEIGHT + 100 + (double)rows * SMALL_ROW;
}

// A p of 0 is less than the least double.
static void format_p(char *out, size_t size, const json_tree *from, const char *key)
{
    const double p = json_tree_double(from, key);
    if (p > 0) text_format(out, size, "= %.2g", p);
    else snprintf(out, size, "< 1e-300");
}

// The histogram of r_k of one record and a flat line. `across` and `up` may be NULL.
static void draw_histogram(drawing *canvas, axes_panel panel, const json_tree *uniformity,
                           const char *across, const char *up)
{
    // At least 1, so that an empty histogram has an axis.
    double bins[BINS] = {0}, ends[2] = {0, 1}, max_bin = 1, sum = 0;
    json_tree_doubles(bins, BINS, uniformity, "paper.histogram");
    json_tree_doubles(ends, 2, uniformity, "paper.range");
    for (int i = 0; i < BINS; i++) {
        max_bin = fmax(max_bin, bins[i]);
        sum += bins[i];
    }
    panel.across = axes_between(ends[0], ends[1], panel.w > 400 ? 8 : 3);
    panel.up = axes_between(0, 1.06 * max_bin, panel.w > 400 ? 4 : 3);
    axes_draw(canvas, &panel, across, up);
    const double gap = panel.w > 400 ? 1.5 : 0.5;
    for (int i = 0; i < BINS; i++) {
        const double x = panel.x + panel.w * i / BINS, y = axes_y(&panel, bins[i]);
        canvas->rectangle(canvas, x + gap, y, panel.w / BINS - 2 * gap, panel.y + panel.h - y,
                          drawing_rgb(PALETTE_BLUE));
    }
    // A flat histogram has the same count in every bin.
    const double y = axes_y(&panel, sum / BINS), even[] = {panel.x, y, panel.x + panel.w, y};
    canvas->path(canvas, even, 2, 1.6, drawing_rgb(PALETTE_ORANGE));
}

// A panel for each concept, with its name and both p-values.
static void draw_concept_histograms(drawing *canvas, const report_model *model)
{
    const double width = (double)(FIGURE_WIDTH - 20) / SMALL_ACROSS;
    const json_tree *concepts = find_concepts(model);
    int at = 0;
    for (const json_tree *c = concepts ? concepts->child : NULL; c; c = c->next) {
        if (!has_histogram(c)) continue;
        const json_tree *uniformity = json_tree_find(c, "uniformity");
        const double x = width * (at % SMALL_ACROSS),
                     top = PANEL_HEIGHT + 100 + (double)(at / SMALL_ACROSS) * SMALL_ROW;
        const axes_panel panel = {
            .x = x + LEFT, .y = top + 44, .w = width - LEFT - 10, .h = SMALL_HEIGHT};
        char exact[40], flat[40], text[120];
        const char *name = json_tree_string(c, "name");
        draw_histogram(canvas, panel, uniformity, "r_k", NULL);
        format_p(exact, sizeof exact, uniformity, "p");
        format_p(flat, sizeof flat, uniformity, "paper.p");
        snprintf(text, sizeof text, "sphere p %s, flat p %s", exact, flat);
        canvas->text(canvas, panel.x, top + 12, 13, DRAWING_LEFT, drawing_rgb(PALETTE_INK),
                     name ? name : "");
        canvas->text(canvas, panel.x, top + 30, 12, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), text);
        at++;
    }
}

// The histogram of all clips with the p-values of both tests, and one of each concept.
static plumb_status draw_uniformity(drawing *canvas, arena *mem, const plumb_report *report,
                                    const report_model *model)
{
    (void)mem, (void)report;
    const json_tree *uniformity = json_tree_find(model->surprise, "uniformity");
    const axes_panel panel = {.x = LEFT, .y = 50, .w = FIGURE_WIDTH - LEFT - 20, .h = PANEL_HEIGHT};
    char exact[40], flat[40], text[160];
    draw_histogram(canvas, panel, uniformity, "distance r_k to the k-th nearest impossible clip",
                   "clips");
    format_p(exact, sizeof exact, uniformity, "p");
    format_p(flat, sizeof flat, uniformity, "paper.p");
    snprintf(text, sizeof text, "evenly spread on the sphere? exact test p %s; flat as drawn? p %s",
             exact, flat);
    canvas->text(canvas, panel.x + panel.w, 22, 14, DRAWING_RIGHT, drawing_rgb(PALETTE_INK), text);
    draw_concept_histograms(canvas, model);
    return PLUMB_OK;
}

const figure figure_uniformity = {
    .name = "uniformity",
    .title = "Are the features spread evenly?",
    .caption =
        "If they were, surprise alone would decide as well as the likelihood ratio. The line "
        "is a flat histogram, which [Lin23] tests for; the exact test uses the distribution "
        "that features spread evenly over the sphere have. Below: each concept by itself, with "
        "the distances to its own impossible clips.",
    .height = get_uniformity_height,
    .draw = draw_uniformity,
};

// ---- the counter-example ----

// The example needs no data, so it can always be drawn.
static double get_example_height(const plumb_report *report, const report_model *unused)
{
    (void)unused;
    (void)report;
    return 2 * (PANEL_HEIGHT + 100);
}

// Density of a Gaussian with mean 0.
static double gaussian_density(double x, double deviation)
{
    return exp(-0.5 * x * x / (deviation * deviation)) / (deviation * sqrt(2 * M_PI));
}

// The Gaussian annulus: how far samples of N(0, I) are from 0, for some dimensions. Their densities
// of |x| have maxima near sqrt(d); the point of least surprise, 0, is where no sample is.
static void draw_annulus(drawing *canvas, double top)
{
    enum { N = 401, CURVES = 5 };
    static const int64_t dims[CURVES] = {1, 2, 8, 32, 128};
    double points[2 * N];
    char text[96];
    axes_panel panel = {.x = LEFT, .y = top + 50, .w = FIGURE_WIDTH - LEFT - 20, .h = PANEL_HEIGHT};
    panel.across = axes_between(0, 16, 8);
    panel.up = axes_between(0, 0.9, 4);
    axes_draw(canvas, &panel, "norm of a sample of N(0, I) in d dimensions", "density");
    for (int c = 0; c < CURVES; c++) {
        const double d = (double)dims[c], radius = sqrt(d);
        // log of x^(d-1) e^(-x^2/2) 2^(1-d/2) / Gamma(d/2)
        const double constant = (1 - 0.5 * d) * log(2.0) - lgamma(0.5 * d);
        for (int i = 0; i < N; i++) {
            const double x = 1e-9 + 16.0 * i / (N - 1);
            points[2 * i] = axes_x(&panel, x);
            points[2 * i + 1] = axes_y(&panel, exp(constant + (d - 1) * log(x) - 0.5 * x * x));
        }
        canvas->path(canvas, points, N, 2, drawing_rgb(colors[c]));
        snprintf(text, sizeof text, "d = %lld", (long long)dims[c]);
        canvas->text(canvas, axes_x(&panel, radius) + 12, panel.y + (c ? 60 : 24), 13, DRAWING_LEFT,
                     drawing_rgb(colors[c]), text);
    }
    const plumb_surprise_annulus annulus = plumb_surprise_annulus_compute(128);
    text_format(text, sizeof text,
                "d = 128: within 1 of sqrt(d) %.3f; surprise %.1f there, %.1f at 0",
                annulus.within_1, annulus.surprise[1], annulus.surprise[0]);
    canvas->text(canvas, panel.x + panel.w, top + 22, 14, DRAWING_RIGHT, drawing_rgb(PALETTE_INK),
                 text);
}

// Both densities on a logarithmic axis, with surprise and posterior at x = 0 and x = 1.
static plumb_status draw_example(drawing *canvas, arena *mem, const plumb_report *report,
                                 const report_model *unused)
{
    (void)mem, (void)unused, (void)report;
    enum { N = 401 };
    const double narrow = sqrt(0.001);
    const plumb_surprise_counterexample example = plumb_surprise_counterexample_compute(narrow);
    double points[2 * N];
    axes_panel panel = {.x = LEFT, .y = 50, .w = FIGURE_WIDTH - LEFT - 20, .h = PANEL_HEIGHT};
    panel.across = axes_between(-2, 2, 8);
    panel.up = axes_between(-3, 1.4, 4);
    panel.up.step = 1;
    panel.up.decades = true;
    axes_draw(canvas, &panel, "x", "density");
    for (int which = 0; which < 2; which++) {
        for (int i = 0; i < N; i++) {
            const double x = -2 + 4.0 * i / (N - 1),
                         y = log10(gaussian_density(x, which ? narrow : 1));
            points[2 * i] = axes_x(&panel, x);
            // NaN interrupts the curve below the axis.
            points[2 * i + 1] = y > panel.up.low ? axes_y(&panel, y) : (double)NAN;
        }
        canvas->path(canvas, points, N, 2, drawing_rgb(which ? PALETTE_RED : PALETTE_BLUE));
    }
    char text[96];
    const char *const names[] = {"x = 0", "x = 1"};
    // What both scores say about x = 0 and x = 1.
    for (int i = 0; i < 2; i++) {
        const double x = axes_x(&panel, i), line[] = {x, panel.y, x, panel.y + panel.h};
        canvas->path(canvas, line, 2, 1.2, drawing_rgb(PALETTE_AXIS));
        // Below the wide curve, and at 0 beside the narrow one.
        const double left = x + (i ? 8 : 30);
        canvas->text(canvas, left, panel.y + 126, 14, DRAWING_LEFT, drawing_rgb(PALETTE_INK),
                     names[i]);
        text_format(text, sizeof text, "surprise %.3g", example.surprise[i]);
        canvas->text(canvas, left, panel.y + 146, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE),
                     text);
        if (example.posterior[i] < 1e-9) snprintf(text, sizeof text, "P(impossible) < 1e-9");
        else text_format(text, sizeof text, "P(impossible) %.3g", example.posterior[i]);
        canvas->text(canvas, left, panel.y + 164, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE),
                     text);
    }
    canvas->text(canvas, panel.x + panel.w, 22, 14, DRAWING_RIGHT, drawing_rgb(PALETTE_RED),
                 "impossible: N(0, 0.001)");
    canvas->text(canvas, panel.x + panel.w - 200, 22, 14, DRAWING_RIGHT, drawing_rgb(PALETTE_BLUE),
                 "possible: N(0, 1)");
    draw_annulus(canvas, PANEL_HEIGHT + 100);
    return PLUMB_OK;
}

const figure figure_example = {
    .name = "example",
    .title = "Why surprise alone misleads",
    .caption =
        "Possible values have a wide distribution, impossible ones are close to 0. x = 1 has the "
        "higher surprise, but x = 0 is more likely to be impossible. So plumb uses both "
        "likelihoods. Below: samples of a Gaussian in d dimensions lie near the sphere of radius "
        "sqrt(d); the point of least surprise, 0, is unlike all of them.",
    .all = true,
    .height = get_example_height,
    .draw = draw_example,
};
