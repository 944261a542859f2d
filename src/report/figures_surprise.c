// SPDX-License-Identifier: MIT
// Violation of expectation: accuracy by concept, surprise over time, the spread of features, and
// the counter-example [Lin23].
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "plot/axes.h"
#include "plumb/surprise.h"
#include "report/report_model.h"

enum { LEFT = 66, FIELD = 190, SCORERS = 8, BINS = 20 };

static const int tones[] = {PALETTE_BLUE, PALETTE_ORANGE, PALETTE_GREEN, PALETTE_VIOLET,
                            PALETTE_RED,  PALETTE_PALE,   PALETTE_AXIS,  PALETTE_INK};

// ---- by concept ----

// Concepts, or all tuples together where there are none.
static const json_tree *groups_of(const report_model *s)
{
    const json_tree *t = json_tree_find(s->surprise, "concepts");
    return t && t->child ? t : NULL;
}

static double concepts_height(const plumb_report *r, const report_model *s)
{
    (void)r;
    const json_tree *t = groups_of(s) ? json_tree_find(groups_of(s)->child, "scorers")
                                      : json_tree_find(s->surprise, "scorers");
    return t && t->child ? FIELD + 104 : 0;
}

static void draw_group(drawing *k, const axes_panel *p, double x, double wide,
                       const json_tree *scorers)
{
    const int64_t n = json_tree_count(scorers);
    const double bar = fmin(40, 0.82 * wide / (double)n);
    x += (wide - bar * (double)n) / 2;
    int i = 0;
    for (const json_tree *c = scorers->child; c && i < SCORERS; c = c->next, i++, x += bar) {
        const double v = json_tree_double(c, "accuracy");
        double ci[2];
        if (!isfinite(v)) continue;
        k->rectangle(k, x + 1, axes_y(p, v), bar - 2, p->y + p->h - axes_y(p, v),
                     drawing_rgb(tones[i]));
        if (json_tree_doubles(ci, 2, c, "accuracy_ci") == 2 && ci[1] > ci[0]) {
            const double mid = x + bar / 2,
                         whisker[] = {mid, axes_y(p, ci[0]), mid, axes_y(p, ci[1])};
            k->path(k, whisker, 2, 1.8, drawing_rgb(PALETTE_INK));
        }
    }
}

static plumb_status concepts_draw(drawing *k, arena *mem, const plumb_report *r,
                                  const report_model *s)
{
    (void)mem, (void)r;
    const json_tree *groups = groups_of(s);
    const json_tree *first = json_tree_find(groups ? groups->child : s->surprise, "scorers");
    axes_panel p = {.x = LEFT, .y = 50, .w = FIGURE_WIDTH - LEFT - 20, .h = FIELD};
    p.up = (axes_span){.low = 0, .high = 1.04, .step = 0.25};
    p.across = (axes_span){.low = 0, .high = 1};
    axes_draw(k, &p, NULL, "accuracy");
    double x = LEFT + 10;
    int i = 0;
    for (const json_tree *c = first->child; c && c->key && i < SCORERS; c = c->next, i++) {
        k->rectangle(k, x, 8, 12, 12, drawing_rgb(tones[i]));
        k->text(k, x + 18, 19, 13, DRAWING_LEFT, drawing_rgb(PALETTE_INK), c->key);
        x += 40 + 8 * (double)strlen(c->key);
    }
    const int64_t n = groups ? json_tree_count(groups) : 1;
    const double wide = p.w / (double)n;
    i = 0;
    for (const json_tree *g = groups ? groups->child : s->surprise; g;
         g = groups ? g->next : NULL, i++) {
        const json_tree *scorers = json_tree_find(g, "scorers");
        const char *name = groups ? json_tree_string(g, "name") : "all tuples";
        if (scorers && scorers->child) draw_group(k, &p, p.x + i * wide, wide, scorers);
        k->text(k, p.x + (i + 0.5) * wide, p.y + p.h + 20, 13, DRAWING_MIDDLE,
                drawing_rgb(PALETTE_INK), name ? name : "");
    }
    const double y = axes_y(&p, 0.5), chance[] = {p.x, y, p.x + p.w, y};
    k->path(k, chance, 2, 1.4, drawing_rgb(PALETTE_RED));
    const double sample[] = {p.x + p.w - 72, 14, p.x + p.w - 52, 14};
    k->path(k, sample, 2, 1.4, drawing_rgb(PALETTE_RED));
    k->text(k, p.x + p.w, 18.5, 13, DRAWING_RIGHT, drawing_rgb(PALETTE_INK), "chance");
    return PLUMB_OK;
}

const figure figure_concepts = {
    .name = "concepts",
    .title = "Accuracy by concept",
    .caption = "In how many tuples the two impossible clips together are the more surprising ones, "
               "by concept "
               "and scorer, with 95 % bootstrap intervals over tuples.",
    .height = concepts_height,
    .draw = concepts_draw,
};

// ---- one tuple over time ----

enum { CLIP_FRAMES = 10, CLIP_LABEL = 100 };

static int clip_scale(const report_video *f)
{
    const int scale = (int)(((FIGURE_WIDTH - CLIP_LABEL - 10) / CLIP_FRAMES - 4) / f->width);
    return scale < 1 ? 1 : scale;
}

static double clips_height(const report_model *s)
{
    return s->clips.rgb ? 4 * ((double)(s->clips.height * clip_scale(&s->clips)) + 4) + 14 : 0;
}

static double surprise_height(const plumb_report *r, const report_model *s)
{
    (void)r;
    return s->moments && s->moment_count > 1 ? FIELD + 96 + clips_height(s) : 0;
}

static const char *const clip_names[] = {"possible 1", "possible 2", "impossible 1",
                                         "impossible 2"};
static const int clip_tones[] = {PALETTE_BLUE, PALETTE_GREEN, PALETTE_RED, PALETTE_ORANGE};

static plumb_status draw_clips(drawing *k, arena *mem, const report_model *s, double y)
{
    const report_video *f = &s->clips;
    const int scale = clip_scale(f);
    const double one = (double)(f->height * scale) + 4,
                 wide = (FIGURE_WIDTH - CLIP_LABEL - 10) / (double)CLIP_FRAMES;
    const int64_t shown = f->steps < CLIP_FRAMES ? f->steps : CLIP_FRAMES;
    uint8_t *a = arena_alloc(mem, f->height * f->width, 3);
    if (!a) return PLUMB_EMEMORY;
    for (int c = 0; c < 4; c++) {
        k->text(k, CLIP_LABEL - 8, y + one * c + one / 2 + 3, 13, DRAWING_RIGHT,
                drawing_rgb(clip_tones[c]), clip_names[c]);
        for (int64_t i = 0; i < shown; i++) {
            report_model_picture(a, s, f, c, shown < 2 ? 0 : i * (f->steps - 1) / (shown - 1));
            k->picture(k, CLIP_LABEL + (double)i * wide, y + one * c, scale, a, f->width,
                       f->height);
        }
    }
    return PLUMB_OK;
}

static plumb_status surprise_draw(drawing *k, arena *mem, const plumb_report *r,
                                  const report_model *s)
{
    (void)r;
    const int64_t n = s->moment_count;
    double *points = ARENA_ALLOC(mem, double, 2 * n);
    if (!points) return PLUMB_EMEMORY;
    axes_panel p = {.x = LEFT, .y = 50, .w = FIGURE_WIDTH - LEFT - 20, .h = FIELD};
    p.across = axes_between(0, (double)(n - 1), 8);
    p.up = axes_span_of(s->moments, 4 * n, 1, 4);
    axes_draw(k, &p, "frame", "surprise");
    for (int c = 0; c < 4; c++) {
        for (int64_t t = 0; t < n; t++) {
            points[2 * t] = axes_x(&p, (double)t);
            points[2 * t + 1] = axes_y(&p, s->moments[c * n + t]);
        }
        k->path(k, points, n, 1.8, drawing_rgb(clip_tones[c]));
        const double x = LEFT + 20 + 130 * c, line[] = {x, 17, x + 20, 17};
        k->path(k, line, 2, 2.2, drawing_rgb(clip_tones[c]));
        k->text(k, x + 28, 21.5, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), clip_names[c]);
    }
    return s->clips.rgb ? draw_clips(k, mem, s, FIELD + 100) : PLUMB_OK;
}

const figure figure_surprise = {
    .name = "surprise",
    .title = "Surprise over time",
    .caption = "Squared prediction error, frame by frame, of the four clips of the first tuple. "
               "Clips with the "
               "same opening part where one of them becomes impossible.",
    .height = surprise_height,
    .draw = surprise_draw,
};

// ---- are features spread evenly? ----

static double uniformity_height(const plumb_report *r, const report_model *s)
{
    (void)r;
    return json_tree_has(s->surprise, "uniformity.paper.histogram") ? FIELD + 100 : 0;
}

static plumb_status uniformity_draw(drawing *k, arena *mem, const plumb_report *r,
                                    const report_model *s)
{
    (void)mem, (void)r;
    const json_tree *u = json_tree_find(s->surprise, "uniformity");
    double bins[BINS] = {0}, ends[2] = {0, 1}, most = 1, sum = 0;
    char text[160];
    json_tree_doubles(bins, BINS, u, "paper.histogram");
    json_tree_doubles(ends, 2, u, "paper.range");
    for (int i = 0; i < BINS; i++) {
        most = fmax(most, bins[i]);
        sum += bins[i];
    }
    axes_panel p = {.x = LEFT, .y = 50, .w = FIGURE_WIDTH - LEFT - 20, .h = FIELD};
    p.across = axes_between(ends[0], ends[1], 8);
    p.up = axes_between(0, 1.06 * most, 4);
    axes_draw(k, &p, "distance r_k to the k-th nearest impossible clip", "clips");
    for (int i = 0; i < BINS; i++) {
        const double x = p.x + p.w * i / BINS, y = axes_y(&p, bins[i]);
        k->rectangle(k, x + 1.5, y, p.w / BINS - 3, p.y + p.h - y, drawing_rgb(PALETTE_BLUE));
    }
    const double y = axes_y(&p, sum / BINS), even[] = {p.x, y, p.x + p.w, y};
    k->path(k, even, 2, 1.6, drawing_rgb(PALETTE_ORANGE));
    text_format(text, sizeof text,
                "evenly spread on the sphere? exact test p = %.3g; flat as drawn? p = %.3g",
                json_tree_double(u, "p"), json_tree_double(u, "paper.p"));
    k->text(k, p.x + p.w, 22, 14, DRAWING_RIGHT, drawing_rgb(PALETTE_INK), text);
    return PLUMB_OK;
}

const figure figure_uniformity = {
    .name = "uniformity",
    .title = "Are the features spread evenly?",
    .caption = "If they were, surprise alone would decide as well as the likelihood ratio. The "
               "line is a flat "
               "histogram, which the paper tests for; the exact test asks for the distribution "
               "that evenly "
               "spread features really have.",
    .height = uniformity_height,
    .draw = uniformity_draw,
};

// ---- the counter-example ----

static double example_height(const plumb_report *r, const report_model *none)
{
    (void)none;
    (void)r;
    return FIELD + 100;
}

static double density(double x, double deviation)
{
    return exp(-0.5 * x * x / (deviation * deviation)) / (deviation * sqrt(2 * M_PI));
}

static plumb_status example_draw(drawing *k, arena *mem, const plumb_report *r,
                                 const report_model *none)
{
    (void)mem, (void)none, (void)r;
    enum { N = 401 };
    const double narrow = sqrt(0.001);
    const plumb_surprise_counterexample e = plumb_surprise_counterexample_compute(narrow);
    double points[2 * N];
    axes_panel p = {.x = LEFT, .y = 50, .w = FIGURE_WIDTH - LEFT - 20, .h = FIELD};
    p.across = axes_between(-2, 2, 8);
    p.up = axes_between(-3, 1.4, 4);
    p.up.step = 1;
    p.up.decades = true;
    axes_draw(k, &p, "x", "density");
    for (int which = 0; which < 2; which++) {
        for (int i = 0; i < N; i++) {
            const double x = -2 + 4.0 * i / (N - 1), y = log10(density(x, which ? narrow : 1));
            points[2 * i] = axes_x(&p, x);
            points[2 * i + 1] = y > p.up.low ? axes_y(&p, y) : (double)NAN;
        }
        k->path(k, points, N, 2, drawing_rgb(which ? PALETTE_RED : PALETTE_BLUE));
    }
    char text[96];
    const char *const names[] = {"x = 0", "x = 1"};
    for (int i = 0; i < 2; i++) {
        const double x = axes_x(&p, i), line[] = {x, p.y, x, p.y + p.h};
        k->path(k, line, 2, 1.2, drawing_rgb(PALETTE_AXIS));
        k->text(k, x + 8, p.y + 92, 14, DRAWING_LEFT, drawing_rgb(PALETTE_INK), names[i]);
        text_format(text, sizeof text, "surprise %.3g", e.surprise[i]);
        k->text(k, x + 8, p.y + 112, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), text);
        if (e.posterior[i] < 1e-9) snprintf(text, sizeof text, "P(impossible) < 1e-9");
        else text_format(text, sizeof text, "P(impossible) %.3g", e.posterior[i]);
        k->text(k, x + 8, p.y + 130, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), text);
    }
    k->text(k, p.x + p.w, 22, 14, DRAWING_RIGHT, drawing_rgb(PALETTE_RED),
            "impossible: N(0, 0.001)");
    k->text(k, p.x + p.w - 200, 22, 14, DRAWING_RIGHT, drawing_rgb(PALETTE_BLUE),
            "possible: N(0, 1)");
    return PLUMB_OK;
}

const figure figure_example = {
    .name = "example",
    .title = "Why surprise alone misleads",
    .caption =
        "Possible numbers are spread widely, impossible ones close to 0. Surprise calls x = 1 the "
        "stranger of the two; but it is x = 0 that is most likely impossible. So plumb weighs both "
        "likelihoods.",
    .all = true,
    .height = example_height,
    .draw = example_draw,
};
