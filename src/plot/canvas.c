// SPDX-License-Identifier: MIT
// A drawing in pixels, written as PNG. The coverage of a pixel by a stroke depends on the distance
// of its centre from the edge: full at half a pixel inside, none at half a pixel outside.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "io/png.h"
#include "plot/drawing.h"
#include "plot/stroke_font.h"

typedef struct pixel_canvas {
    drawing base;
    int64_t width, height;
    float *rgb;
    float *mask; // coverage by the current stroke, (height, width)
} pixel_canvas;

// The part of the mask that a stroke has touched.
typedef struct pixel_area {
    int64_t x0, y0, x1, y1;
} pixel_area;

static int64_t clamp_index(double v, int64_t high)
{
    return !(v > 0) ? 0 : v > (double)high ? high : (int64_t)v; // NaN becomes 0
}

// color = cover * color + (1 - cover) * pixel.
static void blend_pixel(pixel_canvas *canvas, int64_t at, float cover, drawing_color color)
{
    float *pixel = canvas->rgb + 3 * at;
    pixel[0] += cover * (color.r - pixel[0]);
    pixel[1] += cover * (color.g - pixel[1]);
    pixel[2] += cover * (color.b - pixel[2]);
}

// Exact coverage: the area of each pixel inside the rectangle.
static void draw_rectangle(drawing *base, double x, double y, double w, double h,
                           drawing_color color)
{
    pixel_canvas *canvas = (pixel_canvas *)base;
    const int64_t x0 = clamp_index(floor(x), canvas->width),
                  x1 = clamp_index(ceil(x + w), canvas->width);
    const int64_t y0 = clamp_index(floor(y), canvas->height),
                  y1 = clamp_index(ceil(y + h), canvas->height);
    for (int64_t j = y0; j < y1; j++)
        for (int64_t i = x0; i < x1; i++) {
            const double across = fmin(x + w, (double)i + 1) - fmax(x, (double)i);
            const double down = fmin(y + h, (double)j + 1) - fmax(y, (double)j);
            if (across > 0 && down > 0)
                blend_pixel(canvas, j * canvas->width + i, (float)(across * down), color);
        }
}

// Adds a line segment to the mask. Where segments overlap the larger coverage counts, so that
// joints are not darker than the rest.
static void add_segment(pixel_canvas *canvas, pixel_area *area, double x0, double y0, double x1,
                        double y1, double width)
{
    const double r = width / 2, reach = r + 1;
    const int64_t left = clamp_index(fmin(x0, x1) - reach, canvas->width);
    const int64_t right = clamp_index(fmax(x0, x1) + reach + 1, canvas->width);
    const int64_t top = clamp_index(fmin(y0, y1) - reach, canvas->height);
    const int64_t bottom = clamp_index(fmax(y0, y1) + reach + 1, canvas->height);
    const double dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy;
    for (int64_t j = top; j < bottom; j++)
        for (int64_t i = left; i < right; i++) {
            const double px = (double)i + 0.5 - x0, py = (double)j + 0.5 - y0;
            double along = length > 0 ? (px * dx + py * dy) / length : 0.0;
            along = along < 0 ? 0 : along > 1 ? 1 : along;
            const double cover = r + 0.5 - hypot(px - along * dx, py - along * dy);
            float *mask = &canvas->mask[j * canvas->width + i];
            // A line thinner than a pixel covers at most its width.
            const float part = (float)fmin(fmin(fmax(cover, 0.0), 1.0), fmin(width, 1.0));
            if (part > *mask) *mask = part;
        }
    if (left < area->x0) area->x0 = left;
    if (right > area->x1) area->x1 = right;
    if (top < area->y0) area->y0 = top;
    if (bottom > area->y1) area->y1 = bottom;
}

// Paints the mask in one colour and clears it.
static void paint_mask(pixel_canvas *canvas, const pixel_area *area, drawing_color color)
{
    for (int64_t j = area->y0; j < area->y1; j++)
        for (int64_t i = area->x0; i < area->x1; i++) {
            float *mask = &canvas->mask[j * canvas->width + i];
            // Sixteen shades are enough for an edge and compress much better.
            const float shade = roundf(16.0f * *mask) / 16.0f;
            if (shade > 0) blend_pixel(canvas, j * canvas->width + i, shade, color);
            *mask = 0;
        }
}

// Bounds that any pixel extends; only the area inside is painted and cleared.
static pixel_area make_empty_area(const pixel_canvas *canvas)
{
    return (pixel_area){canvas->width, canvas->height, 0, 0};
}

// A polyline; segments with NaN are skipped.
static void draw_path(drawing *base, const double *points, int64_t count, double width,
                      drawing_color color)
{
    pixel_canvas *canvas = (pixel_canvas *)base;
    pixel_area area = make_empty_area(canvas);
    for (int64_t i = 0; i + 1 < count; i++) {
        const double *p = points + 2 * i;
        if (isfinite(p[0] + p[1] + p[2] + p[3]))
            add_segment(canvas, &area, p[0], p[1], p[2], p[3], width);
    }
    paint_mask(canvas, &area, color);
}

static void draw_disc(drawing *base, double x, double y, double radius, drawing_color color)
{
    pixel_canvas *canvas = (pixel_canvas *)base;
    pixel_area area = make_empty_area(canvas);
    if (!isfinite(x + y)) return;
    add_segment(canvas, &area, x, y, x, y, 2 * radius);
    paint_mask(canvas, &area, color);
}

static void draw_dots(drawing *base, const double *points, int64_t count, double radius,
                      drawing_color color)
{
    for (int64_t i = 0; i < count; i++)
        draw_disc(base, points[2 * i], points[2 * i + 1], radius, color);
}

// ---- text ----

typedef struct letter_pen {
    pixel_canvas *canvas;
    pixel_area area;
    double x, y;         // origin of the letter in pixels
    double scale, width; // pixels per unit of the font; width of the stroke
    double position[2];  // of the pen, in units of the font
} letter_pen;

// Draws a segment from the pen to a point in units of the font.
static void draw_to(letter_pen *pen, double x, double y)
{
    add_segment(pen->canvas, &pen->area, pen->x + pen->position[0] * pen->scale,
                pen->y - pen->position[1] * pen->scale, pen->x + x * pen->scale,
                pen->y - y * pen->scale, pen->width);
    pen->position[0] = x;
    pen->position[1] = y;
}

// Draws an outline of M, L and Q commands. A quadratic curve becomes six segments.
static void draw_letter(letter_pen *pen, const char *outline)
{
    enum { SEGMENTS = 6 };
    while (*outline) {
        const char kind = *outline++;
        double v[4];
        const int count = kind == 'Q' ? 4 : 2;
        for (int i = 0; i < count; i++) {
            char *end;
            v[i] = text_parse_double(outline, &end);
            outline = end;
        }
        if (kind == 'M') {
            pen->position[0] = v[0];
            pen->position[1] = v[1];
        } else if (kind == 'L') {
            draw_to(pen, v[0], v[1]);
        } else {
            const double x = pen->position[0], y = pen->position[1];
            for (int k = 1; k <= SEGMENTS; k++) {
                // Bezier: u^2 p0 + 2 u t p1 + t^2 p2.
                const double t = (double)k / SEGMENTS, u = 1 - t;
                draw_to(pen, u * u * x + 2 * u * t * v[0] + t * t * v[2],
                        u * u * y + 2 * u * t * v[1] + t * t * v[3]);
            }
        }
    }
}

// Places the letters one after the other from the anchor.
static void draw_text(drawing *base, double x, double y, double size, drawing_anchor anchor,
                      drawing_color color, const char *words)
{
    pixel_canvas *canvas = (pixel_canvas *)base;
    const double wide = stroke_font_width(words, size);
    letter_pen pen = {.canvas = canvas,
                      .area = make_empty_area(canvas),
                      .x = x,
                      .y = y,
                      .scale = STROKE_FONT_SCALE(size)};
    pen.width = fmax(0.9, 0.085 * size);
    // A stroke is never thinner than 0.9 pixels, so that small text stays readable.
    if (anchor != DRAWING_LEFT) pen.x -= anchor == DRAWING_MIDDLE ? wide / 2 : wide;
    for (; *words; words++) {
        double width;
        draw_letter(&pen, stroke_font_find(&width, *words));
        pen.x += (width + STROKE_FONT_GAP) * pen.scale;
    }
    paint_mask(canvas, &pen.area, color);
}

// ---- images and output ----

// Enlarges each pixel to a square.
static void draw_image(drawing *base, double x, double y, int scale, const uint8_t *rgb, int64_t w,
                       int64_t h)
{
    pixel_canvas *canvas = (pixel_canvas *)base;
    const int64_t left = (int64_t)lround(x), top = (int64_t)lround(y);
    for (int64_t j = 0; j < h * scale; j++)
        for (int64_t i = 0; i < w * scale; i++) {
            if (left + i < 0 || left + i >= canvas->width || top + j < 0 ||
                top + j >= canvas->height)
                continue;
            const uint8_t *from = rgb + 3 * (j / scale * w + i / scale);
            float *to = canvas->rgb + 3 * ((top + j) * canvas->width + left + i);
            for (int k = 0; k < 3; k++) to[k] = (float)from[k] / 255.0f;
        }
}

// Colours are float in 0 to 1 until here.
static plumb_status finish_png(buffer *out, drawing *base)
{
    pixel_canvas *canvas = (pixel_canvas *)base;
    const int64_t count = 3 * canvas->width * canvas->height;
    uint8_t *bytes = malloc((size_t)count + 1);
    if (!bytes) return fail(PLUMB_EMEMORY, "no memory for a picture");
    for (int64_t i = 0; i < count; i++) bytes[i] = (uint8_t)lroundf(255.0f * canvas->rgb[i]);
    const plumb_status st =
        png_write(out, bytes, (png_shape){canvas->width, canvas->height, 3, 0}, PNG_USE_DRAWING);
    free(bytes);
    return st;
}

static void free_canvas(drawing *base)
{
    pixel_canvas *canvas = (pixel_canvas *)base;
    free(canvas->rgb);
    free(canvas->mask);
    free(canvas);
}

plumb_status canvas_create(drawing **out, int64_t width, int64_t height, drawing_color paper)
{
    pixel_canvas *canvas = calloc(1, sizeof *canvas);
    if (canvas) canvas->rgb = malloc((size_t)(3 * width * height) * sizeof *canvas->rgb);
    if (canvas) canvas->mask = calloc((size_t)(width * height), sizeof *canvas->mask);
    if (!canvas || !canvas->rgb || !canvas->mask) {
        if (canvas) free_canvas(&canvas->base);
        return fail(PLUMB_EMEMORY, "no memory for a picture of %lld x %lld", (long long)width,
                    (long long)height);
    }
    canvas->base = (drawing){draw_rectangle, draw_path,  draw_disc,  draw_dots,
                             draw_text,      draw_image, finish_png, free_canvas};
    canvas->width = width;
    canvas->height = height;
    for (int64_t i = 0; i < width * height; i++)
        memcpy(canvas->rgb + 3 * i, &paper, 3 * sizeof *canvas->rgb);
    *out = &canvas->base;
    return PLUMB_OK;
}
