// SPDX-License-Identifier: MIT
// A sketch in pixels. A stroke covers a pixel by how near its middle is: half a pixel inside the
// edge is all of it, half a pixel outside nothing.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/png.h"
#include "plot/drawing.h"
#include "plot/stroke_font.h"

typedef struct canvas {
    drawing base;
    int64_t width, height;
    float *rgb;
    float *mask; // of the stroke that is being drawn
} canvas;

// What part of the mask a stroke has touched.
typedef struct area {
    int64_t x0, y0, x1, y1;
} area;

static int64_t clamp(double v, int64_t high)
{
    return !(v > 0) ? 0 : v > (double)high ? high : (int64_t)v; // NaN is 0
}

static void blend(canvas *c, int64_t at, float cover, drawing_color color)
{
    float *p = c->rgb + 3 * at;
    p[0] += cover * (color.r - p[0]);
    p[1] += cover * (color.g - p[1]);
    p[2] += cover * (color.b - p[2]);
}

static void rectangle(drawing *s, double x, double y, double w, double h, drawing_color color)
{
    canvas *c = (canvas *)s;
    const int64_t x0 = clamp(floor(x), c->width), x1 = clamp(ceil(x + w), c->width);
    const int64_t y0 = clamp(floor(y), c->height), y1 = clamp(ceil(y + h), c->height);
    for (int64_t j = y0; j < y1; j++)
        for (int64_t i = x0; i < x1; i++) {
            const double across = fmin(x + w, (double)i + 1) - fmax(x, (double)i);
            const double down = fmin(y + h, (double)j + 1) - fmax(y, (double)j);
            if (across > 0 && down > 0) blend(c, j * c->width + i, (float)(across * down), color);
        }
}

// Adds a straight piece to the mask. Where pieces overlap the larger cover counts, so that joints
// are no darker than the rest.
static void press(canvas *c, area *a, double x0, double y0, double x1, double y1, double width)
{
    const double r = width / 2, reach = r + 1;
    const int64_t left = clamp(fmin(x0, x1) - reach, c->width);
    const int64_t right = clamp(fmax(x0, x1) + reach + 1, c->width);
    const int64_t top = clamp(fmin(y0, y1) - reach, c->height);
    const int64_t bottom = clamp(fmax(y0, y1) + reach + 1, c->height);
    const double dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy;
    for (int64_t j = top; j < bottom; j++)
        for (int64_t i = left; i < right; i++) {
            const double px = (double)i + 0.5 - x0, py = (double)j + 0.5 - y0;
            double along = length > 0 ? (px * dx + py * dy) / length : 0.0;
            along = along < 0 ? 0 : along > 1 ? 1 : along;
            const double cover = r + 0.5 - hypot(px - along * dx, py - along * dy);
            float *m = &c->mask[j * c->width + i];
            // A line thinner than a pixel covers no more than its width.
            const float part = (float)fmin(fmin(fmax(cover, 0.0), 1.0), fmin(width, 1.0));
            if (part > *m) *m = part;
        }
    if (left < a->x0) a->x0 = left;
    if (right > a->x1) a->x1 = right;
    if (top < a->y0) a->y0 = top;
    if (bottom > a->y1) a->y1 = bottom;
}

static void print(canvas *c, const area *a, drawing_color color)
{
    for (int64_t j = a->y0; j < a->y1; j++)
        for (int64_t i = a->x0; i < a->x1; i++) {
            float *m = &c->mask[j * c->width + i];
            // Sixteen shades are enough for an edge, and pack far better than all.
            const float shade = roundf(16.0f * *m) / 16.0f;
            if (shade > 0) blend(c, j * c->width + i, shade, color);
            *m = 0;
        }
}

static area nowhere(const canvas *c)
{
    return (area){c->width, c->height, 0, 0};
}

static void path(drawing *s, const double *points, int64_t count, double width, drawing_color color)
{
    canvas *c = (canvas *)s;
    area a = nowhere(c);
    for (int64_t i = 0; i + 1 < count; i++) {
        const double *p = points + 2 * i;
        if (isfinite(p[0] + p[1] + p[2] + p[3])) press(c, &a, p[0], p[1], p[2], p[3], width);
    }
    print(c, &a, color);
}

static void disc(drawing *s, double x, double y, double radius, drawing_color color)
{
    canvas *c = (canvas *)s;
    area a = nowhere(c);
    if (!isfinite(x + y)) return;
    press(c, &a, x, y, x, y, 2 * radius);
    print(c, &a, color);
}

static void dots(drawing *s, const double *points, int64_t count, double radius,
                 drawing_color color)
{
    for (int64_t i = 0; i < count; i++) disc(s, points[2 * i], points[2 * i + 1], radius, color);
}

// ---- text ----

typedef struct pen {
    canvas *c;
    area a;
    double x, y, unit, width; // where the letter stands
    double at[2];             // where the pen is, in units
} pen;

static void draw_to(pen *p, double x, double y)
{
    press(p->c, &p->a, p->x + p->at[0] * p->unit, p->y - p->at[1] * p->unit, p->x + x * p->unit,
          p->y - y * p->unit, p->width);
    p->at[0] = x;
    p->at[1] = y;
}

static void draw_letter(pen *p, const char *outline)
{
    enum { PIECES = 6 };
    while (*outline) {
        const char kind = *outline++;
        double v[4];
        const int count = kind == 'Q' ? 4 : 2;
        for (int i = 0; i < count; i++) {
            char *end;
            v[i] = strtod(outline, &end);
            outline = end;
        }
        if (kind == 'M') {
            p->at[0] = v[0];
            p->at[1] = v[1];
        } else if (kind == 'L') {
            draw_to(p, v[0], v[1]);
        } else {
            const double x = p->at[0], y = p->at[1];
            for (int k = 1; k <= PIECES; k++) {
                const double t = (double)k / PIECES, u = 1 - t;
                draw_to(p, u * u * x + 2 * u * t * v[0] + t * t * v[2],
                        u * u * y + 2 * u * t * v[1] + t * t * v[3]);
            }
        }
    }
}

static void text(drawing *s, double x, double y, double size, drawing_anchor anchor,
                 drawing_color color, const char *words)
{
    canvas *c = (canvas *)s;
    const double wide = stroke_font_width(words, size);
    pen p = {.c = c, .a = nowhere(c), .x = x, .y = y, .unit = STROKE_FONT_UNIT(size)};
    p.width = fmax(0.9, 0.085 * size);
    if (anchor != DRAWING_LEFT) p.x -= anchor == DRAWING_MIDDLE ? wide / 2 : wide;
    for (; *words; words++) {
        double width;
        draw_letter(&p, stroke_font_find(&width, *words));
        p.x += (width + STROKE_FONT_GAP) * p.unit;
    }
    print(c, &p.a, color);
}

// ---- the rest ----

static void picture(drawing *s, double x, double y, int scale, const uint8_t *rgb, int64_t w,
                    int64_t h)
{
    canvas *c = (canvas *)s;
    const int64_t left = (int64_t)lround(x), top = (int64_t)lround(y);
    for (int64_t j = 0; j < h * scale; j++)
        for (int64_t i = 0; i < w * scale; i++) {
            if (left + i < 0 || left + i >= c->width || top + j < 0 || top + j >= c->height)
                continue;
            const uint8_t *from = rgb + 3 * (j / scale * w + i / scale);
            float *to = c->rgb + 3 * ((top + j) * c->width + left + i);
            for (int k = 0; k < 3; k++) to[k] = (float)from[k] / 255.0f;
        }
}

static plumb_status finish(buffer *out, drawing *s)
{
    canvas *c = (canvas *)s;
    const int64_t count = 3 * c->width * c->height;
    uint8_t *bytes = malloc((size_t)count + 1);
    if (!bytes) return fail(PLUMB_EMEMORY, "no memory for a picture");
    for (int64_t i = 0; i < count; i++) bytes[i] = (uint8_t)lroundf(255.0f * c->rgb[i]);
    const plumb_status st =
        png_write(out, bytes, (png_shape){c->width, c->height, 3}, PNG_USE_DRAWING);
    free(bytes);
    return st;
}

static void canvas_free(drawing *s)
{
    canvas *c = (canvas *)s;
    free(c->rgb);
    free(c->mask);
    free(c);
}

plumb_status canvas_create(drawing **out, int64_t width, int64_t height, drawing_color paper)
{
    canvas *c = calloc(1, sizeof *c);
    if (c) c->rgb = malloc((size_t)(3 * width * height) * sizeof *c->rgb);
    if (c) c->mask = calloc((size_t)(width * height), sizeof *c->mask);
    if (!c || !c->rgb || !c->mask) {
        if (c) canvas_free(&c->base);
        return fail(PLUMB_EMEMORY, "no memory for a picture of %lld x %lld", (long long)width,
                    (long long)height);
    }
    c->base = (drawing){rectangle, path, disc, dots, text, picture, finish, canvas_free};
    c->width = width;
    c->height = height;
    for (int64_t i = 0; i < width * height; i++) memcpy(c->rgb + 3 * i, &paper, 3 * sizeof *c->rgb);
    *out = &c->base;
    return PLUMB_OK;
}
