// SPDX-License-Identifier: MIT
// A field with axes: where a number falls on it, and its grid, ticks and labels.
#ifndef PLOT_AXES_H
#define PLOT_AXES_H

#include <stdbool.h>

#include "plot/drawing.h"
#include "plot/palette.h"

typedef struct axes_span {
    double low, high, step; ///< step between ticks; 0 for an axis without
    bool decades;           ///< numbers are log10: labels are 0.1, 1, 10
} axes_span;

typedef struct axes_panel {
    double x, y, w, h; ///< of the field itself
    axes_span across, up;
} axes_panel;

/// 1, 2 or 5 times a power of ten.
double axes_step(double span, int ticks);

/// A little more than the numbers need; those that are not finite do not count.
axes_span axes_span_of(const double *v, int64_t count, int64_t stride, int ticks);
/// These ends.
axes_span axes_between(double low, double high, int ticks);
/// One turn of an angle.
axes_span axes_angle(void);
/// Both together.
axes_span axes_join(axes_span a, axes_span b, int ticks);

double axes_x(const axes_panel *p, double v);
double axes_y(const axes_panel *p, double v);

void axes_line(drawing *s, double x0, double y0, double x1, double y1, int color);
/// `across` stands below the field, `up` over its left edge; either may be NULL.
void axes_draw(drawing *s, const axes_panel *p, const char *across, const char *up);

#endif
