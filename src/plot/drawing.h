// SPDX-License-Identifier: MIT
// What a figure is drawn with: a few strokes that pixels (canvas.c) and SVG (svg.c) both know.
// Lengths are pixels, x to the right and y down.
#ifndef PLOT_DRAWING_H
#define PLOT_DRAWING_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

typedef struct sketch_color {
    float r, g, b; ///< 0 to 1
} sketch_color;

typedef enum sketch_anchor { SKETCH_LEFT, SKETCH_MIDDLE, SKETCH_RIGHT } sketch_anchor;

typedef struct sketch sketch;
struct sketch {
    void (*rectangle)(sketch *s, double x, double y, double w, double h, sketch_color color);
    /// A line through `count` points, x and y in turn, with round ends.
    void (*path)(sketch *s, const double *points, int64_t count, double width, sketch_color color);
    void (*disc)(sketch *s, double x, double y, double radius, sketch_color color);
    /// Many discs of one size and colour, x and y in turn.
    void (*dots)(sketch *s, const double *points, int64_t count, double radius, sketch_color color);
    /// One line of text; y is its base line, `size` the height of a line.
    void (*text)(sketch *s, double x, double y, double size, sketch_anchor anchor,
                 sketch_color color, const char *text);
    /// RGB pixels, each as a square of `scale` pixels.
    void (*picture)(sketch *s, double x, double y, int scale, const uint8_t *rgb, int64_t w,
                    int64_t h);
    /// The file's bytes.
    plumb_status (*finish)(buffer *out, sketch *s);
    void (*free)(sketch *s);
};

plumb_status canvas_create(sketch **out, int64_t width, int64_t height, sketch_color paper);
plumb_status svg_create(sketch **out, int64_t width, int64_t height, sketch_color paper);
/// The same for the inside of a page: colours of the palette are the page's, and there is no paper.
plumb_status svg_create_inside(sketch **out, int64_t width, int64_t height, const char *title);

/// `size` bytes as base64.
void svg_base64(buffer *out, const unsigned char *data, size_t size);

static inline sketch_color sketch_rgb(int hex)
{
    return (sketch_color){(float)(hex >> 16 & 255) / 255.0f, (float)(hex >> 8 & 255) / 255.0f,
                          (float)(hex & 255) / 255.0f};
}

#endif
