// SPDX-License-Identifier: MIT
// Phase space, of the truth and of the latents; and what the latents say of the truth over time.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "plot/axes.h"
#include "report/readout_fit.h"
#include "report/report_model.h"

enum {
    PANELS = 4,    // side by side
    PANEL = 150,   // their height and width
    LEFT = 50,     // of a panel
    POINTS = 2400, // dots a panel, about
    ROWS = 4,      // coordinates over time
    ROW = 110,     // the height of one
    LAST = 80,     // frames of the close look
    CLOSE = 190,   // its width
};

static const int tones[] = {PALETTE_BLUE, PALETTE_ORANGE, PALETTE_GREEN, PALETTE_VIOLET,
                            PALETTE_RED};
enum { TONES = sizeof tones / sizeof *tones };

// ---- phase space ----

typedef struct cloud {
    const double *v; // (count, steps, width)
    int64_t count, steps, width, across, up;
} cloud;

// The name of a coordinate; latents are numbered as the model numbers them.
static void put_name(char out[48], const report_model *s, bool latent, int64_t index)
{
    const int64_t half = (latent ? s->latents : s->states) / 2;
    const char *letter = index < half ? "q" : "p";
    if (!latent && s->world && s->world->n == half)
        snprintf(out, 48, "%s", s->world->state_names[index]);
    else if (half == 1) snprintf(out, 48, "%s", letter);
    else snprintf(out, 48, "%s%lld", letter, (long long)(index % half));
}

// One colour a trajectory, the same in every panel, so that an eye can follow it.
static plumb_status draw_cloud(drawing *k, arena *mem, axes_panel *p, const cloud *c)
{
    const int64_t all = c->count * c->steps;
    const int64_t stride = all / POINTS + 1;
    double *points = ARENA_ALLOC(mem, double, 2 * (c->steps + 1));
    if (!points) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < c->count; i++) {
        int64_t n = 0;
        for (int64_t t = i % stride; t < c->steps; t += stride, n++) {
            const double *at = c->v + (i * c->steps + t) * c->width;
            points[2 * n] = axes_x(p, at[c->across]);
            points[2 * n + 1] = c->up < 0 ? axes_y(p, (double)i) : axes_y(p, at[c->up]);
        }
        k->dots(k, points, n, 1.4, drawing_rgb(tones[i % TONES]));
    }
    return PLUMB_OK;
}

// A pair of latents, or one that says something beside one that does not.
static int64_t latent_panels(cloud *out, const report_model *s)
{
    const int64_t m = s->latents / 2;
    int64_t n = 0;
    for (int64_t i = 0; i < m && n < PANELS; i++) {
        const bool q = report_model_informative(s, i), p = report_model_informative(s, m + i);
        if (!q && !p) continue;
        out[n++] =
            (cloud){s->latent, s->count, s->steps, s->latents, q ? i : m + i, q && p ? m + i : -1};
    }
    return n;
}

// Panels of `size` from x on, under a heading.
static plumb_status draw_row(drawing *k, arena *mem, const report_model *s, double x, double y,
                             double size, const cloud *c, int64_t count, bool latent)
{
    plumb_status st = PLUMB_OK;
    k->text(k, x + 10, y - 36, 15, DRAWING_LEFT, drawing_rgb(PALETTE_PALE),
            latent ? "latents" : "truth");
    for (int64_t i = 0; i < count && !st; i++) {
        char across[48], up[48] = "film";
        axes_panel p = {.x = x + LEFT + (double)i * (size + LEFT), .y = y, .w = size, .h = size};
        const int64_t all = c[i].count * c[i].steps;
        const int ticks = size > 200 ? 5 : 3;
        p.across = axes_span_of(c[i].v + c[i].across, all, c[i].width, ticks);
        p.up = c[i].up < 0 ? axes_between(-0.5, (double)c[i].count - 0.5, 4)
                           : axes_span_of(c[i].v + c[i].up, all, c[i].width, ticks);
        put_name(across, s, latent, c[i].across);
        if (c[i].up >= 0) put_name(up, s, latent, c[i].up);
        axes_draw(k, &p, across, up);
        st = draw_cloud(k, mem, &p, &c[i]);
    }
    if (!count)
        k->text(k, x + LEFT, y + 40, 15, DRAWING_LEFT, drawing_rgb(PALETTE_INK),
                "none says anything: the posterior is the prior");
    return st;
}

// Few panels stand side by side, and are larger for it.
typedef struct spread {
    cloud truth[PANELS], latent[PANELS];
    int64_t truths, latents;
    bool beside;
    double size;
} spread;

static spread spread_of(const report_model *s)
{
    spread o = {0};
    const int64_t n = s->states / 2;
    for (; o.truths < n && o.truths < PANELS; o.truths++)
        o.truth[o.truths] =
            (cloud){s->truth, s->count, s->steps, s->states, o.truths, n + o.truths};
    o.latents = latent_panels(o.latent, s);
    const double each = o.latents ? (double)(o.truths + o.latents) : (double)o.truths + 1;
    o.beside = each <= PANELS;
    o.size = fmin(270, FIGURE_WIDTH / (o.beside ? each : PANELS) - LEFT - 4);
    return o;
}

static double phase_height(const plumb_report *r, const report_model *s)
{
    (void)r;
    if (!s->latent || !s->truth) return 0;
    const spread o = spread_of(s);
    return (o.size + 104) * (o.beside ? 1 : 2);
}

static plumb_status phase_draw(drawing *k, arena *mem, const plumb_report *r, const report_model *s)
{
    (void)r;
    const spread o = spread_of(s);
    plumb_status st = draw_row(k, mem, s, 0, 56, o.size, o.truth, o.truths, false);
    const double x = o.beside ? (double)o.truths * (o.size + LEFT) : 0;
    const double y = o.beside ? 56 : 56 + o.size + 104;
    return st ? st : draw_row(k, mem, s, x, y, o.size, o.latent, o.latents, true);
}

const figure figure_phase = {
    .name = "phase-space",
    .title = "Phase space",
    .caption =
        "Where the true states are, and where the informative latents are, one colour a film. A "
        "canonical map may turn and bend one into the other, but must keep areas in "
        "proportion. Latents whose partner says nothing are drawn as points, a line a film.",
    .height = phase_height,
    .draw = phase_draw,
};

// ---- over time ----

static int64_t shown_rows(const report_model *s)
{
    return s->states < ROWS ? s->states : ROWS;
}

static double trajectory_height(const plumb_report *r, const report_model *s)
{
    (void)r;
    return s->latent && s->truth && s->steps > 2 ? 46 + (double)shown_rows(s) * (ROW + 34) + 34 : 0;
}

// Coordinate `c` of trajectory 0, from `from` on.
static void draw_curve(drawing *k, const axes_panel *p, const double *v, const report_model *s,
                       int64_t c, double *points, double width, int color)
{
    const int64_t from = (int64_t)p->across.low;
    for (int64_t t = from; t < s->steps; t++) {
        points[2 * (t - from)] = axes_x(p, (double)t);
        points[2 * (t - from) + 1] =
            axes_y(p, fmin(fmax(v[t * s->states + c], p->up.low), p->up.high));
    }
    k->path(k, points, s->steps - from, width, drawing_rgb(color));
}

static void draw_part(drawing *k, axes_panel *p, const report_model *s, const double *said,
                      int64_t c, double *points, const char *name)
{
    const double trained = (double)report_model_trained(s), wrong = report_model_vpt_frame(s, 0);
    const axes_span truth = axes_span_of(s->truth + c, s->steps, s->states, 3);
    p->up = axes_between(truth.low, truth.high, 3);
    if (trained > p->across.low)
        k->rectangle(k, p->x, p->y, axes_x(p, fmin(trained, p->across.high)) - p->x, p->h,
                     drawing_rgb(PALETTE_BAND));
    axes_draw(k, p, NULL, name);
    draw_curve(k, p, s->truth, s, c, points, 2.6, PALETTE_AXIS);
    draw_curve(k, p, said, s, c, points, 1.1, PALETTE_BLUE);
    if (wrong >= p->across.low && wrong <= p->across.high) {
        const double x = axes_x(p, wrong) - (wrong >= p->across.high ? 1 : 0);
        const double line[] = {x, p->y, x, p->y + p->h};
        k->path(k, line, 2, 2, drawing_rgb(PALETTE_RED));
    }
}

static void legend(drawing *k, double x, double width, int color, const char *text)
{
    const double line[] = {x, 17, x + 22, 17};
    k->path(k, line, 2, width, drawing_rgb(color));
    k->text(k, x + 30, 21.5, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), text);
}

static plumb_status trajectory_draw(drawing *k, arena *mem, const plumb_report *r,
                                    const report_model *s)
{
    (void)r;
    int64_t fitted = report_model_trained(s);
    if (fitted < 2 || fitted > s->steps) fitted = s->steps;
    const double *said = readout_fit_predict(mem, s, fitted);
    double *points = ARENA_ALLOC(mem, double, 2 * s->steps);
    if (!said || !points)
        return said ? PLUMB_EMEMORY : fail(PLUMB_ENUMERIC, "the latents have no fit");
    const bool close = s->steps > 2 * LAST;
    legend(k, LEFT + 14, 2.6, PALETTE_AXIS, "truth");
    legend(k, LEFT + 114, 1.4, PALETTE_BLUE, "read off the latents");
    if (report_model_vpt_frame(s, 0) < (double)s->steps)
        legend(k, LEFT + 300, 2, PALETTE_RED, "the picture is wrong from here (VPT)");
    for (int64_t c = 0; c < shown_rows(s); c++) {
        char name[48];
        put_name(name, s, false, c);
        axes_panel p = {.x = LEFT + 14, .y = 52 + (double)c * (ROW + 34), .h = ROW};
        p.w = FIGURE_WIDTH - p.x - 16 - (close ? CLOSE + 44 : 0);
        p.across = axes_between(0, (double)(s->steps - 1), 6);
        draw_part(k, &p, s, said, c, points, name);
        if (!close) continue;
        p.x = FIGURE_WIDTH - CLOSE - 14;
        p.w = CLOSE;
        p.across = axes_between((double)(s->steps - LAST), (double)(s->steps - 1), 3);
        draw_part(k, &p, s, said, c, points, NULL);
    }
    k->text(k, FIGURE_WIDTH / 2.0, trajectory_height(r, s) - 10, 15, DRAWING_MIDDLE,
            drawing_rgb(PALETTE_INK), close ? "frame, and the last 80 of them" : "frame");
    return PLUMB_OK;
}

const figure figure_trajectory = {
    .name = "trajectory",
    .title = "What the latents say, over time",
    .caption = "One film. The true state, and what a least-squares fit on the frames the model was "
               "trained "
               "to predict (shaded) reads off its latents as it runs on. The red line is where its "
               "picture "
               "leaves the truth; without one it never does.",
    .height = trajectory_height,
    .draw = trajectory_draw,
};
