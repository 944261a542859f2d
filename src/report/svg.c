// SPDX-License-Identifier: MIT
// A sketch as SVG: one file, no script, pictures inside it as PNG.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/png.h"
#include "report/sketch.h"

typedef struct svg {
    sketch base;
    buffer text;
    plumb_status st;
} svg;

static const char *hex(char out[8], sketch_color c)
{
    snprintf(out, 8, "#%02x%02x%02x", (unsigned)lroundf(255.0f * c.r) & 255,
             (unsigned)lroundf(255.0f * c.g) & 255, (unsigned)lroundf(255.0f * c.b) & 255);
    return out;
}

static void rectangle(sketch *s, double x, double y, double w, double h, sketch_color color)
{
    char c[8];
    buffer_print(&((svg *)s)->text,
                 "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"%s\"/>\n", x, y,
                 w, h, hex(c, color));
}

static void path(sketch *s, const double *points, int64_t count, double width, sketch_color color)
{
    buffer *b = &((svg *)s)->text;
    char c[8];
    bool down = false;
    buffer_print(b,
                 "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.4g\" stroke-linecap=\"round\" "
                 "stroke-linejoin=\"round\" d=\"",
                 hex(c, color), width);
    for (int64_t i = 0; i < count; i++) {
        const double x = points[2 * i], y = points[2 * i + 1];
        if (isfinite(x + y)) buffer_print(b, "%c%.6g %.6g", down ? 'L' : 'M', x, y);
        down = isfinite(x + y);
    }
    buffer_print(b, "\"/>\n");
}

static void disc(sketch *s, double x, double y, double radius, sketch_color color)
{
    char c[8];
    buffer_print(&((svg *)s)->text, "<circle cx=\"%.6g\" cy=\"%.6g\" r=\"%.4g\" fill=\"%s\"/>\n", x,
                 y, radius, hex(c, color));
}

static void text(sketch *s, double x, double y, double size, sketch_anchor anchor,
                 sketch_color color, const char *words)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    buffer *b = &((svg *)s)->text;
    char c[8];
    buffer_print(b,
                 "<text x=\"%.6g\" y=\"%.6g\" font-size=\"%.4g\" text-anchor=\"%s\" "
                 "fill=\"%s\">",
                 x, y, size, anchors[anchor], hex(c, color));
    for (; *words; words++) {
        if (*words == '<') buffer_print(b, "&lt;");
        else if (*words == '>') buffer_print(b, "&gt;");
        else if (*words == '&') buffer_print(b, "&amp;");
        else if ((unsigned char)*words >= 0x20 && (unsigned char)*words < 0x7f)
            buffer_put(b, words, 1);
        else buffer_print(b, "?"); // a name out of a file may hold anything
    }
    buffer_print(b, "</text>\n");
}

static void base64(buffer *out, const unsigned char *data, size_t size)
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

static void picture(sketch *s, double x, double y, int scale, const uint8_t *rgb, int64_t w,
                    int64_t h)
{
    svg *v = (svg *)s;
    buffer png = {0};
    if (!v->st) v->st = png_write(&png, rgb, (png_shape){w, h, 3}, PNG_USE_DRAWING);
    buffer_print(&v->text,
                 "<image x=\"%.6g\" y=\"%.6g\" width=\"%lld\" height=\"%lld\" "
                 "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
                 x, y, (long long)(w * scale), (long long)(h * scale));
    if (!v->st) base64(&v->text, png.data, png.size);
    buffer_print(&v->text, "\"/>\n");
    buffer_clear(&png);
}

static plumb_status finish(buffer *out, sketch *s)
{
    svg *v = (svg *)s;
    buffer_print(&v->text, "</svg>\n");
    if (v->st) return v->st;
    buffer_put(out, v->text.data, v->text.size);
    return v->text.broken || out->broken ? fail(PLUMB_EMEMORY, "no memory for a picture")
                                         : PLUMB_OK;
}

static void svg_free(sketch *s)
{
    buffer_clear(&((svg *)s)->text);
    free(s);
}

plumb_status svg_create(sketch **out, int64_t width, int64_t height, sketch_color paper)
{
    svg *v = calloc(1, sizeof *v);
    if (!v) return fail(PLUMB_EMEMORY, "no memory for a picture");
    v->base = (sketch){rectangle, path, disc, text, picture, finish, svg_free};
    buffer_print(&v->text,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\" "
                 "viewBox=\"0 0 %lld %lld\" font-family=\"Helvetica, Arial, sans-serif\" "
                 "font-weight=\"300\">\n",
                 (long long)width, (long long)height, (long long)width, (long long)height);
    *out = &v->base;
    rectangle(*out, 0, 0, (double)width, (double)height, paper);
    return PLUMB_OK;
}
