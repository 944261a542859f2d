// SPDX-License-Identifier: MIT
// Interface for drawing figures, implemented in pixels (canvas.c) and as SVG (svg.c). Lengths are
// in pixels, x to the right and y down.
#ifndef PLOT_DRAWING_H
#define PLOT_DRAWING_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

typedef struct drawing_color {
    float r, g, b; ///< 0 to 1.
} drawing_color;

typedef enum drawing_anchor { DRAWING_LEFT, DRAWING_MIDDLE, DRAWING_RIGHT } drawing_anchor;

typedef struct drawing drawing;
struct drawing {
    void (*rectangle)(drawing *self, double x, double y, double w, double h, drawing_color color);
    /// Draws a line through `count` points (x, y), with round ends.
    void (*path)(drawing *self, const double *points, int64_t count, double width,
                 drawing_color color);
    void (*disc)(drawing *self, double x, double y, double radius, drawing_color color);
    /// Draws `count` discs of one size and colour at points (x, y).
    void (*dots)(drawing *self, const double *points, int64_t count, double radius,
                 drawing_color color);
    /// Draws one line of text; y is its base line, `size` the height of a line.
    void (*text)(drawing *self, double x, double y, double size, drawing_anchor anchor,
                 drawing_color color, const char *text);
    /// Draws an RGB image (h, w, 3), each pixel as a square of `scale` pixels.
    void (*picture)(drawing *self, double x, double y, int scale, const uint8_t *rgb, int64_t w,
                    int64_t h);
    /// Appends the file to `out`.
    plumb_status (*finish)(buffer *out, drawing *self);
    void (*free)(drawing *self);
};

plumb_status canvas_create(drawing **out, int64_t width, int64_t height, drawing_color paper);
plumb_status svg_create(drawing **out, int64_t width, int64_t height, drawing_color paper);
/// The same as part of an HTML page: palette colours come from the page, and there is no
/// background.
plumb_status svg_create_inline(drawing **out, int64_t width, int64_t height, const char *title);

/// Appends `size` bytes as base64.
void svg_base64(buffer *out, const unsigned char *data, size_t size);

static inline drawing_color drawing_rgb(int hex)
{
    return (drawing_color){(float)(hex >> 16 & 255) / 255.0f, (float)(hex >> 8 & 255) / 255.0f,
                           (float)(hex & 255) / 255.0f};
}

#endif
