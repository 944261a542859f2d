// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "plot/axes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double axes_step(double span, int ticks)
{
    const double rough = span / ticks;
    const double power = pow(10.0, floor(log10(rough))), part = rough / power;
    return (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10) * power;
}

axes_span axes_span_of(const double *v, int64_t count, int64_t stride, int ticks)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        const double x = v[i * stride];
        if (!(fabs(x) < 1e300)) continue; // nor any so large that a difference is not a number
        if (x < low) low = x;
        if (x > high) high = x;
    }
    if (!(low <= high)) low = high = 0.0;
    // What does not move is shown in the middle, not as the noise of its last digit.
    const double size = fmax(fabs(low), fabs(high));
    if (high - low <= 1e-6 * size || high - low <= 1e-12) {
        const double room = size > 1e-12 ? 0.25 * size : 1.0;
        low -= room;
        high += room;
    }
    const double pad = 0.06 * (high - low);
    return axes_between(low - pad, high + pad, ticks);
}

axes_span axes_between(double low, double high, int ticks)
{
    if (!(high > low)) high = low + 1;
    return (axes_span){.low = low, .high = high, .step = axes_step(high - low, ticks)};
}

axes_span axes_angle(void)
{
    return (axes_span){.low = -1.05 * M_PI, .high = 1.05 * M_PI, .step = 1.0};
}

axes_span axes_join(axes_span a, axes_span b, int ticks)
{
    return axes_between(fmin(a.low, b.low), fmax(a.high, b.high), ticks);
}

double axes_x(const axes_panel *p, double v)
{
    return p->x + p->w * (v - p->across.low) / (p->across.high - p->across.low);
}

double axes_y(const axes_panel *p, double v)
{
    return p->y + p->h * (p->up.high - v) / (p->up.high - p->up.low);
}

void axes_line(drawing *s, double x0, double y0, double x1, double y1, int color)
{
    const double points[] = {x0, y0, x1, y1};
    s->path(s, points, 2, 1.0, drawing_rgb(color));
}

static const char *label_of(char out[32], double v, const axes_span *a)
{
    if (fabs(v) < 1e-9 * a->step) v = 0.0;
    snprintf(out, 32, "%.6g", a->decades ? pow(10.0, v) : v);
    return out;
}

void axes_draw(drawing *s, const axes_panel *p, const char *across, const char *up)
{
    char label[32];
    const double size = 13;
    for (double k = ceil(p->across.low / p->across.step);
         p->across.step > 0 && k * p->across.step <= p->across.high; k++) {
        const double v = k * p->across.step, x = floor(axes_x(p, v)) + 0.5;
        axes_line(s, x, p->y, x, p->y + p->h, PALETTE_GRID);
        s->text(s, x, p->y + p->h + 18, size, DRAWING_MIDDLE, drawing_rgb(PALETTE_PALE),
                label_of(label, v, &p->across));
    }
    for (double k = ceil(p->up.low / p->up.step); p->up.step > 0 && k * p->up.step <= p->up.high;
         k++) {
        const double v = k * p->up.step, y = floor(axes_y(p, v)) + 0.5;
        axes_line(s, p->x, y, p->x + p->w, y, PALETTE_GRID);
        s->text(s, p->x - 8, y + 4.5, size, DRAWING_RIGHT, drawing_rgb(PALETTE_PALE),
                label_of(label, v, &p->up));
    }
    axes_line(s, p->x + 0.5, p->y, p->x + 0.5, p->y + p->h, PALETTE_AXIS);
    axes_line(s, p->x, p->y + p->h - 0.5, p->x + p->w, p->y + p->h - 0.5, PALETTE_AXIS);
    if (across)
        s->text(s, p->x + p->w / 2, p->y + p->h + 38, 15, DRAWING_MIDDLE, drawing_rgb(PALETTE_INK),
                across);
    if (!up) return;
    // A letter stands over the numbers, a word begins over them.
    if (strlen(up) < 5)
        s->text(s, p->x - 8, p->y - 10, 15, DRAWING_RIGHT, drawing_rgb(PALETTE_INK), up);
    else s->text(s, p->x - 44, p->y - 12, 15, DRAWING_LEFT, drawing_rgb(PALETTE_INK), up);
}
