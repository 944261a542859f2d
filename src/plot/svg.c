// SPDX-License-Identifier: MIT
// A sketch as SVG: one file, no script, pictures inside it as PNG.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/png.h"
#include "plot/drawing.h"
#include "plot/palette.h"

typedef struct svg {
    drawing base;
    buffer text;
    plumb_status st;
    bool inside; // a page
} svg;

// fill="#2a7fb8", or inside a page class="fBLUE", which its style gives a colour.
static const char *paint(char out[32], const drawing *s, const char *what, drawing_color c)
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
    for (size_t i = 0; ((const svg *)s)->inside && i < sizeof palette / sizeof *palette; i++)
        if ((int)rgb == palette[i].rgb) {
            snprintf(out, 32, "class=\"%c%s\"", *what, palette[i].name);
            return out;
        }
    snprintf(out, 32, "%s=\"#%06x\"", what, rgb);
    return out;
}

static void rectangle(drawing *s, double x, double y, double w, double h, drawing_color color)
{
    char c[32];
    buffer_printf(&((svg *)s)->text,
                  "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" %s/>\n", x, y, w, h,
                  paint(c, s, "fill", color));
}

static void path(drawing *s, const double *points, int64_t count, double width, drawing_color color)
{
    buffer *b = &((svg *)s)->text;
    char c[32];
    bool down = false;
    buffer_printf(b,
                  "<path fill=\"none\" %s stroke-width=\"%.4g\" stroke-linecap=\"round\" "
                  "stroke-linejoin=\"round\" d=\"",
                  paint(c, s, "stroke", color), width);
    for (int64_t i = 0; i < count; i++) {
        const double x = points[2 * i], y = points[2 * i + 1];
        if (isfinite(x + y)) buffer_printf(b, "%c%.6g %.6g", down ? 'L' : 'M', x, y);
        down = isfinite(x + y);
    }
    buffer_printf(b, "\"/>\n");
}

static void disc(drawing *s, double x, double y, double radius, drawing_color color)
{
    char c[32];
    buffer_printf(&((svg *)s)->text, "<circle cx=\"%.6g\" cy=\"%.6g\" r=\"%.4g\" %s/>\n", x, y,
                  radius, paint(c, s, "fill", color));
}

// One path of strokes without length, whose round ends are the dots: a tenth of the bytes.
static void dots(drawing *s, const double *points, int64_t count, double radius,
                 drawing_color color)
{
    buffer *b = &((svg *)s)->text;
    char c[32];
    buffer_printf(b, "<path fill=\"none\" %s stroke-width=\"%.4g\" stroke-linecap=\"round\" d=\"",
                  paint(c, s, "stroke", color), 2 * radius);
    for (int64_t i = 0; i < count; i++)
        if (isfinite(points[2 * i] + points[2 * i + 1]))
            buffer_printf(b, "M%.1f %.1fh0", points[2 * i], points[2 * i + 1]);
    buffer_printf(b, "\"/>\n");
}

static void put_words(buffer *b, const char *words)
{
    for (; *words; words++) {
        if (*words == '<') buffer_printf(b, "&lt;");
        else if (*words == '>') buffer_printf(b, "&gt;");
        else if (*words == '&') buffer_printf(b, "&amp;");
        else if ((unsigned char)*words >= 0x20 && (unsigned char)*words < 0x7f)
            buffer_put(b, words, 1);
        else buffer_printf(b, "?"); // a name out of a file may hold anything
    }
}

static void text(drawing *s, double x, double y, double size, drawing_anchor anchor,
                 drawing_color color, const char *words)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    buffer *b = &((svg *)s)->text;
    char c[32];
    buffer_printf(b,
                  "<text x=\"%.6g\" y=\"%.6g\" font-size=\"%.4g\" text-anchor=\"%s\" "
                  "%s>",
                  x, y, size, anchors[anchor], paint(c, s, "fill", color));
    put_words(b, words);
    buffer_printf(b, "</text>\n");
}

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

static void picture(drawing *s, double x, double y, int scale, const uint8_t *rgb, int64_t w,
                    int64_t h)
{
    svg *v = (svg *)s;
    buffer png = {0};
    if (!v->st) v->st = png_write(&png, rgb, (png_shape){w, h, 3}, PNG_USE_DRAWING);
    buffer_printf(&v->text,
                  "<image x=\"%.6g\" y=\"%.6g\" width=\"%lld\" height=\"%lld\" "
                  "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
                  x, y, (long long)(w * scale), (long long)(h * scale));
    if (!v->st) svg_base64(&v->text, png.data, png.size);
    buffer_printf(&v->text, "\"/>\n");
    buffer_clear(&png);
}

static plumb_status finish(buffer *out, drawing *s)
{
    svg *v = (svg *)s;
    buffer_printf(&v->text, "</svg>\n");
    if (v->st) return v->st;
    buffer_put(out, v->text.data, v->text.size);
    return v->text.failed || out->failed ? fail(PLUMB_EMEMORY, "no memory for a picture")
                                         : PLUMB_OK;
}

static void svg_free(drawing *s)
{
    buffer_clear(&((svg *)s)->text);
    free(s);
}

static plumb_status create(svg **out, int64_t width, int64_t height)
{
    svg *v = calloc(1, sizeof *v);
    if (!v) return fail(PLUMB_EMEMORY, "no memory for a picture");
    v->base = (drawing){rectangle, path, disc, dots, text, picture, finish, svg_free};
    buffer_printf(&v->text,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\" "
                  "viewBox=\"0 0 %lld %lld\" font-family=\"Helvetica, Arial, sans-serif\" ",
                  (long long)width, (long long)height, (long long)width, (long long)height);
    *out = v;
    return PLUMB_OK;
}

plumb_status svg_create(drawing **out, int64_t width, int64_t height, drawing_color paper)
{
    svg *v = NULL;
    const plumb_status st = create(&v, width, height);
    if (st) return st;
    buffer_printf(&v->text, "font-weight=\"300\">\n");
    *out = &v->base;
    rectangle(*out, 0, 0, (double)width, (double)height, paper);
    return PLUMB_OK;
}

plumb_status svg_create_inline(drawing **out, int64_t width, int64_t height, const char *title)
{
    svg *v = NULL;
    const plumb_status st = create(&v, width, height);
    if (st) return st;
    v->inside = true;
    buffer_printf(&v->text, "role=\"img\">\n<title>");
    put_words(&v->text, title);
    buffer_printf(&v->text, "</title>\n");
    *out = &v->base;
    return PLUMB_OK;
}
