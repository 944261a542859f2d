// SPDX-License-Identifier: MIT
// What a figure is drawn with: a few strokes that pixels (canvas.c) and SVG (svg.c) both know.
// Lengths are pixels, x to the right and y down.
#ifndef PLOT_DRAWING_H
#define PLOT_DRAWING_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

typedef struct drawing_color {
    float r, g, b; ///< 0 to 1
} drawing_color;

typedef enum drawing_anchor { DRAWING_LEFT, DRAWING_MIDDLE, DRAWING_RIGHT } drawing_anchor;

typedef struct drawing drawing;
struct drawing {
    void (*rectangle)(drawing *s, double x, double y, double w, double h, drawing_color color);
    /// A line through `count` points, x and y in turn, with round ends.
    void (*path)(drawing *s, const double *points, int64_t count, double width,
                 drawing_color color);
    void (*disc)(drawing *s, double x, double y, double radius, drawing_color color);
    /// Many discs of one size and colour, x and y in turn.
    void (*dots)(drawing *s, const double *points, int64_t count, double radius,
                 drawing_color color);
    /// One line of text; y is its base line, `size` the height of a line.
    void (*text)(drawing *s, double x, double y, double size, drawing_anchor anchor,
                 drawing_color color, const char *text);
    /// RGB pixels, each as a square of `scale` pixels.
    void (*picture)(drawing *s, double x, double y, int scale, const uint8_t *rgb, int64_t w,
                    int64_t h);
    /// The file's bytes.
    plumb_status (*finish)(buffer *out, drawing *s);
    void (*free)(drawing *s);
};

plumb_status canvas_create(drawing **out, int64_t width, int64_t height, drawing_color paper);
plumb_status svg_create(drawing **out, int64_t width, int64_t height, drawing_color paper);
/// The same for the inside of a page: colours of the palette are the page's, and there is no paper.
plumb_status svg_create_inline(drawing **out, int64_t width, int64_t height, const char *title);

/// `size` bytes as base64.
void svg_base64(buffer *out, const unsigned char *data, size_t size);

static inline drawing_color drawing_rgb(int hex)
{
    return (drawing_color){(float)(hex >> 16 & 255) / 255.0f, (float)(hex >> 8 & 255) / 255.0f,
                           (float)(hex & 255) / 255.0f};
}

#endif
