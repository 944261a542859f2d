// SPDX-License-Identifier: MIT
// A drawing as SVG: one file without scripts; images are embedded as PNG.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/png.h"
#include "plot/drawing.h"
#include "plot/palette.h"

typedef struct svg_drawing {
    drawing base;
    buffer text;
    plumb_status st;
    bool is_inline; // part of an HTML page
} svg_drawing;

// Formats fill="#2a7fb8", or in a page class="fBLUE", whose colour is in the style of the page.
static const char *format_paint(char out[32], const drawing *base, const char *what,
                                drawing_color c)
{
    static const struct {
        const char *name;
        int rgb;
    } palette[] = {
#define PALETTE_ROW(name, light, dark) {#name, light},
        PALETTE(PALETTE_ROW)
#undef PALETTE_ROW
    };
    const unsigned rgb = ((unsigned)lroundf(255.0f * c.r) & 255) << 16 |
                         ((unsigned)lroundf(255.0f * c.g) & 255) << 8 |
                         ((unsigned)lroundf(255.0f * c.b) & 255);
    for (size_t i = 0;
         ((const svg_drawing *)base)->is_inline && i < sizeof palette / sizeof *palette; i++)
        if ((int)rgb == palette[i].rgb) {
            snprintf(out, 32, "class=\"%c%s\"", *what, palette[i].name);
            return out;
        }
    snprintf(out, 32, "%s=\"#%06x\"", what, rgb);
    return out;
}

// x, y, w, h in pixels, from the upper left corner.
static void draw_rectangle(drawing *base, double x, double y, double w, double h,
                           drawing_color color)
{
    char paint[32];
    buffer_printf(&((svg_drawing *)base)->text,
                  "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" %s/>\n", x, y, w, h,
                  format_paint(paint, base, "fill", color));
}

// NaN interrupts the line.
static void draw_path(drawing *base, const double *points, int64_t count, double width,
                      drawing_color color)
{
    buffer *out = &((svg_drawing *)base)->text;
    char paint[32];
    bool down = false;
    buffer_printf(out,
                  "<path fill=\"none\" %s stroke-width=\"%.4g\" stroke-linecap=\"round\" "
                  "stroke-linejoin=\"round\" d=\"",
                  format_paint(paint, base, "stroke", color), width);
    for (int64_t i = 0; i < count; i++) {
        const double x = points[2 * i], y = points[2 * i + 1];
        if (isfinite(x + y)) buffer_printf(out, "%c%.6g %.6g", down ? 'L' : 'M', x, y);
        down = isfinite(x + y);
    }
    buffer_printf(out, "\"/>\n");
}

static void draw_disc(drawing *base, double x, double y, double radius, drawing_color color)
{
    char paint[32];
    buffer_printf(&((svg_drawing *)base)->text, "<circle cx=\"%.6g\" cy=\"%.6g\" r=\"%.4g\" %s/>\n",
                  x, y, radius, format_paint(paint, base, "fill", color));
}

// One path of strokes of length zero, whose round ends are the dots: a tenth of the bytes.
static void draw_dots(drawing *base, const double *points, int64_t count, double radius,
                      drawing_color color)
{
    buffer *out = &((svg_drawing *)base)->text;
    char paint[32];
    buffer_printf(out, "<path fill=\"none\" %s stroke-width=\"%.4g\" stroke-linecap=\"round\" d=\"",
                  format_paint(paint, base, "stroke", color), 2 * radius);
    for (int64_t i = 0; i < count; i++)
        if (isfinite(points[2 * i] + points[2 * i + 1]))
            buffer_printf(out, "M%.1f %.1fh0", points[2 * i], points[2 * i + 1]);
    buffer_printf(out, "\"/>\n");
}

// Appends text with the special characters of XML escaped.
static void put_escaped(buffer *out, const char *words)
{
    for (; *words; words++) {
        if (*words == '<') buffer_printf(out, "&lt;");
        else if (*words == '>') buffer_printf(out, "&gt;");
        else if (*words == '&') buffer_printf(out, "&amp;");
        else if ((unsigned char)*words >= 0x20 && (unsigned char)*words < 0x7f)
            buffer_put(out, words, 1);
        else buffer_printf(out, "?"); // names from files may contain anything
    }
}

// y is the baseline of the text; `anchor` says which part of it is at x.
static void draw_text(drawing *base, double x, double y, double size, drawing_anchor anchor,
                      drawing_color color, const char *words)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    buffer *out = &((svg_drawing *)base)->text;
    char paint[32];
    buffer_printf(out,
                  "<text x=\"%.6g\" y=\"%.6g\" font-size=\"%.4g\" text-anchor=\"%s\" "
                  "%s>",
                  x, y, size, anchors[anchor], format_paint(paint, base, "fill", color));
    put_escaped(out, words);
    buffer_printf(out, "</text>\n");
}

// Three bytes become four letters; the last group is filled up with '='.
void svg_base64(buffer *out, const unsigned char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned bits = (unsigned)data[i] << 16 |
                              (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                              (left > 2 ? (unsigned)data[i + 2] : 0);
        const char four[4] = {digits[bits >> 18 & 63], digits[bits >> 12 & 63],
                              left > 1 ? digits[bits >> 6 & 63] : '=',
                              left > 2 ? digits[bits & 63] : '='};
        buffer_put(out, four, 4);
    }
}

// Embeds the image as a PNG data URL.
static void draw_image(drawing *base, double x, double y, int scale, const uint8_t *rgb, int64_t w,
                       int64_t h)
{
    svg_drawing *svg = (svg_drawing *)base;
    buffer png = {0};
    if (!svg->st) svg->st = png_write(&png, rgb, (png_shape){w, h, 3, 0}, PNG_USE_DRAWING);
    buffer_printf(&svg->text,
                  "<image x=\"%.6g\" y=\"%.6g\" width=\"%lld\" height=\"%lld\" "
                  "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
                  x, y, (long long)(w * scale), (long long)(h * scale));
    if (!svg->st) svg_base64(&svg->text, png.data, png.size);
    buffer_printf(&svg->text, "\"/>\n");
    buffer_clear(&png);
}

// An error of an earlier image is reported here.
static plumb_status finish_svg(buffer *out, drawing *base)
{
    svg_drawing *svg = (svg_drawing *)base;
    buffer_printf(&svg->text, "</svg>\n");
    if (svg->st) return svg->st;
    buffer_put(out, svg->text.data, svg->text.size);
    return svg->text.failed || out->failed ? fail(PLUMB_EMEMORY, "no memory for a picture")
                                           : PLUMB_OK;
}

// Frees a drawing, finished or not.
static void free_svg(drawing *base)
{
    buffer_clear(&((svg_drawing *)base)->text);
    free(base);
}

// Writes the opening tag, without its last attributes.
static plumb_status create_svg(svg_drawing **out, int64_t width, int64_t height)
{
    svg_drawing *svg = calloc(1, sizeof *svg);
    if (!svg) return fail(PLUMB_EMEMORY, "no memory for a picture");
    svg->base = (drawing){draw_rectangle, draw_path,  draw_disc,  draw_dots,
                          draw_text,      draw_image, finish_svg, free_svg};
    buffer_printf(&svg->text,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\" "
                  "viewBox=\"0 0 %lld %lld\" font-family=\"Helvetica, Arial, sans-serif\" ",
                  (long long)width, (long long)height, (long long)width, (long long)height);
    *out = svg;
    return PLUMB_OK;
}

// A picture of its own file: a background of the colour `paper`.
plumb_status svg_create(drawing **out, int64_t width, int64_t height, drawing_color paper)
{
    svg_drawing *svg = NULL;
    const plumb_status st = create_svg(&svg, width, height);
    if (st) return st;
    buffer_printf(&svg->text, "font-weight=\"300\">\n");
    *out = &svg->base;
    draw_rectangle(*out, 0, 0, (double)width, (double)height, paper);
    return PLUMB_OK;
}

// For HTML pages: colours are classes of the page's style sheet, and the title is for screen
// readers.
plumb_status svg_create_inline(drawing **out, int64_t width, int64_t height, const char *title)
{
    svg_drawing *svg = NULL;
    const plumb_status st = create_svg(&svg, width, height);
    if (st) return st;
    svg->is_inline = true;
    buffer_printf(&svg->text, "role=\"img\">\n<title>");
    put_escaped(&svg->text, title);
    buffer_printf(&svg->text, "</title>\n");
    *out = &svg->base;
    return PLUMB_OK;
}
