// SPDX-License-Identifier: MIT
// Axes of a plot: conversion of values to pixels; grid, ticks and labels.
#ifndef PLOT_AXES_H
#define PLOT_AXES_H

#include <stdbool.h>

#include "plot/drawing.h"
#include "plot/palette.h"

typedef struct axes_span {
    double low, high; ///< Ends of the axis.
    double step;      ///< Distance of the ticks; 0 for an axis without ticks.
    bool decades;     ///< Values are log10; labels are 0.1, 1, 10.
} axes_span;

typedef struct axes_panel {
    double x, y, w, h;    ///< The area inside the axes, in pixels.
    axes_span across, up; ///< Horizontal and vertical axis.
} axes_panel;

/// Chooses a tick distance: 1, 2 or 5 times a power of ten.
double axes_step(double span, int ticks);

/// Chooses an axis for values, with a margin. NaN and infinity are ignored.
axes_span axes_span_of(const double *values, int64_t count, int64_t stride, int ticks);
/// Makes an axis with these ends; wider if they differ by rounding only.
axes_span axes_between(double low, double high, int ticks);
/// Counts the ticks inside an axis, at most 200; tick k is at k * step, from k = *first on. 0 if
/// the step is so small against the values that ticks cannot be told apart.
int64_t axes_ticks(int64_t *first, const axes_span *span);
/// Makes an axis for an angle from -pi to pi.
axes_span axes_angle(void);
/// Makes an axis that covers both.
axes_span axes_join(axes_span a, axes_span b, int ticks);

/// Convert a value to pixels.
double axes_x(const axes_panel *panel, double v);
double axes_y(const axes_panel *panel, double v);

void axes_line(drawing *target, double x0, double y0, double x1, double y1, int color);
/// Draws grid, ticks and labels. The label `across` is below the axes, `up` above their left edge.
/// May be NULL: across, up.
void axes_draw(drawing *target, const axes_panel *panel, const char *across, const char *up);

#endif
