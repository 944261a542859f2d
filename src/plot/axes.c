// SPDX-License-Identifier: MIT
// Axes of a plot: range, ticks, grid and labels.
#define _GNU_SOURCE
#include "plot/axes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

// The multiple 1, 2 or 5 of a power of ten nearest to span / ticks.
double axes_step(double span, int ticks)
{
    const double rough = span / ticks;
    const double power = pow(10.0, floor(log10(rough))), part = rough / power;
    return (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10) * power;
}

axes_span axes_span_of(const double *values, int64_t count, int64_t stride, int ticks)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        const double x = values[i * stride];
        if (!(fabs(x) < 1e300)) continue; // skips NaN, and values whose difference overflows
        if (x < low) low = x;
        if (x > high) high = x;
    }
    if (!(low <= high)) low = high = 0.0;
    // A constant is drawn in the middle, instead of its rounding noise over the whole height.
    const double size = fmax(fabs(low), fabs(high));
    if (high - low <= 1e-6 * size || high - low <= 1e-12) {
        const double margin = size > 1e-12 ? 0.25 * size : 1.0;
        low -= margin;
        high += margin;
    }
    const double pad = 0.06 * (high - low);
    return axes_between(low - pad, high + pad, ticks);
}

axes_span axes_between(double low, double high, int ticks)
{
    if (!(high > low)) high = low + 1;
    // Values that differ by rounding only: widen the range, or a step would be below their
    // rounding.
    const double size = fmax(fabs(low), fabs(high));
    if (high - low <= 1e-9 * size) {
        low -= 0.25 * size;
        high += 0.25 * size;
    }
    return (axes_span){.low = low, .high = high, .step = axes_step(high - low, ticks)};
}

int64_t axes_ticks(int64_t *first, const axes_span *span)
{
    enum { MAX_TICKS = 200 };
    const double low = ceil(span->low / span->step), high = floor(span->high / span->step);
    *first = 0;
    // Beyond 2^52 neighbouring multiples of the step are the same number.
    if (!(span->step > 0.0) || !(fabs(low) < 4503599627370496.0) || !(high >= low)) return 0;
    *first = (int64_t)low;
    return high - low < MAX_TICKS ? (int64_t)(high - low) + 1 : 0;
}

axes_span axes_angle(void)
{
    return (axes_span){.low = -1.05 * M_PI, .high = 1.05 * M_PI, .step = 1.0};
}

axes_span axes_join(axes_span a, axes_span b, int ticks)
{
    return axes_between(fmin(a.low, b.low), fmax(a.high, b.high), ticks);
}

double axes_x(const axes_panel *panel, double v)
{
    return panel->x + panel->w * (v - panel->across.low) / (panel->across.high - panel->across.low);
}

double axes_y(const axes_panel *panel, double v)
{
    return panel->y + panel->h * (panel->up.high - v) / (panel->up.high - panel->up.low);
}

void axes_line(drawing *target, double x0, double y0, double x1, double y1, int color)
{
    const double points[] = {x0, y0, x1, y1};
    target->path(target, points, 2, 1.0, drawing_rgb(color));
}

// Formats a tick label; values near zero become 0.
static const char *format_label(char out[32], double v, const axes_span *span)
{
    if (fabs(v) < 1e-9 * span->step) v = 0.0;
    text_format(out, 32, "%.6g", span->decades ? pow(10.0, v) : v);
    return out;
}

void axes_draw(drawing *target, const axes_panel *panel, const char *across, const char *up)
{
    char label[32];
    const double size = 13;
    // Grid lines and tick labels along x, then along y.
    int64_t first, count = axes_ticks(&first, &panel->across);
    for (int64_t k = first; k < first + count; k++) {
        const double v = (double)k * panel->across.step, x = floor(axes_x(panel, v)) + 0.5;
        axes_line(target, x, panel->y, x, panel->y + panel->h, PALETTE_GRID);
        target->text(target, x, panel->y + panel->h + 18, size, DRAWING_MIDDLE,
                     drawing_rgb(PALETTE_PALE), format_label(label, v, &panel->across));
    }
    count = axes_ticks(&first, &panel->up);
    for (int64_t k = first; k < first + count; k++) {
        const double v = (double)k * panel->up.step, y = floor(axes_y(panel, v)) + 0.5;
        axes_line(target, panel->x, y, panel->x + panel->w, y, PALETTE_GRID);
        target->text(target, panel->x - 8, y + 4.5, size, DRAWING_RIGHT, drawing_rgb(PALETTE_PALE),
                     format_label(label, v, &panel->up));
    }
    // Axis lines and axis labels.
    axes_line(target, panel->x + 0.5, panel->y, panel->x + 0.5, panel->y + panel->h, PALETTE_AXIS);
    axes_line(target, panel->x, panel->y + panel->h - 0.5, panel->x + panel->w,
              panel->y + panel->h - 0.5, PALETTE_AXIS);
    if (across)
        target->text(target, panel->x + panel->w / 2, panel->y + panel->h + 38, 15, DRAWING_MIDDLE,
                     drawing_rgb(PALETTE_INK), across);
    if (!up) return;
    // A short label is right-aligned above the tick labels; a long one starts there.
    if (strlen(up) < 5)
        target->text(target, panel->x - 8, panel->y - 10, 15, DRAWING_RIGHT,
                     drawing_rgb(PALETTE_INK), up);
    else
        target->text(target, panel->x - 44, panel->y - 12, 15, DRAWING_LEFT,
                     drawing_rgb(PALETTE_INK), up);
}
