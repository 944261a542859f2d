// SPDX-License-Identifier: MIT
// The published renderer [Botev21], byte for byte, some twenty times faster than it is written.
//
// Away from its edge a particle is all there or not there at all, so a row visits only the columns
// within reach. There the exponential is a polynomial to the power 256, good to 1e-7 of a
// particle, which the compiler turns into vector code. What this may cost in 255 v is bounded, and
// a pixel nearer to an integer than that bound is drawn again by the judge: the bytes are the
// judge's, whatever the instruction set.
#include "worlds/render/particles.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"

static const double background[3] = {0.321, 0.349, 0.368};

enum { WIDEST = 1024 };

particles particles_make(int64_t size, int count, double low, double high, double sharpness)
{
    particles p = {
        .size = size, .count = count, .low = low, .side = high - low, .sharpness = sharpness};
    // Left out, all particles together move 255 v by less than 0.001. The background is 0.005 from
    // the nearest integer (0.349 * 255 = 88.995), so an empty pixel keeps its bytes.
    const double left_out = 1e-3 / (255.0 * count);
    p.reach = -log(left_out) / sharpness;
    p.doubt = 255.0 * ((count - 1) * left_out + 1e-7 * count);
    return p;
}

void particles_color(double rgb[3], int64_t index, int64_t count)
{
    const double hue = 6.0 * (double)index / (double)count;
    static const double offset[3] = {5.0, 3.0, 1.0};
    for (int c = 0; c < 3; c++) { // hue to RGB at full saturation and value
        const double k = fmod(offset[c] + hue, 6.0);
        rgb[c] = 1.0 - fmax(0.0, fmin(fmin(k, 4.0 - k), 1.0));
    }
}

static inline double to_canvas(const particles *p, double x, int axis)
{
    return (x + p->shift[axis] - p->low) / p->side;
}

void particles_pixel_ref(double rgb[3], const particles *p, const double *xy, int64_t row,
                         int64_t column)
{
    const double x = (double)column / (double)(p->size - 1);
    const double y = (double)row / (double)(p->size - 1);
    double through = 1.0;
    rgb[0] = rgb[1] = rgb[2] = 0.0;
    for (int k = 0; k < p->count; k++) { // front to back
        const double dx = x - to_canvas(p, xy[2 * k], 0), dy = y - to_canvas(p, xy[2 * k + 1], 1);
        const double d = sqrt(dx * dx + dy * dy);
        const double s = 1.0 / (1.0 + exp(p->sharpness * (d - p->radius[k])));
        for (int c = 0; c < 3; c++) rgb[c] += p->color[k][c] * s * through;
        through *= 1.0 - s;
    }
    for (int c = 0; c < 3; c++) rgb[c] += background[c] * through;
}

static void pixel_bytes(uint8_t *out, const particles *p, const double *xy, int64_t row,
                        int64_t column)
{
    double rgb[3];
    particles_pixel_ref(rgb, p, xy, row, column);
    for (int c = 0; c < 3; c++) {
        const double v = 255.0 * rgb[c]; // a NaN becomes 0
        out[c] = v >= 255.0 ? 255 : v > 0.0 ? (uint8_t)v : 0;
    }
}

void particles_draw_ref(uint8_t *frame, const particles *p, const double *xy)
{
    for (int64_t r = 0; r < p->size; r++)
        for (int64_t c = 0; c < p->size; c++)
            pixel_bytes(frame + (r * p->size + c) * 3, p, xy, r, c);
}

// A row under way: what has been drawn, how much light still goes through; then the bytes, and
// where they are in doubt. Loops go in fours, a little past the end.
typedef struct row {
    double color[3][WIDEST + 4], through[WIDEST + 4];
    int32_t byte[3][WIDEST + 4], doubtful[WIDEST + 4];
} row;

// One particle in one row.
typedef struct stretch {
    int32_t first, count; // columns; the count is a multiple of 4
    double x, dy2;        // the centre, and its distance in height squared
    double radius, sharpness, pitch;
    const double *color;
} stretch;

// Puts a particle behind what is in front of it.
static inline __attribute__((always_inline)) void cover(row *restrict w, const stretch *restrict k)
{
    const double red = k->color[0], green = k->color[1], blue = k->color[2];
    const double x = k->x - k->first * k->pitch, pitch = k->pitch, dy2 = k->dy2;
    const double radius = k->radius, sharpness = k->sharpness * 0x1p-8;
    double *restrict r = w->color[0] + k->first, *restrict g = w->color[1] + k->first;
    double *restrict b = w->color[2] + k->first, *restrict through = w->through + k->first;
    const int32_t count = k->count & ~3;
    for (int32_t c = 0; c < count; c++) {
        const double dx = c * pitch - x;
        // exp(z) = exp(z / 256)^256, and three terms of the series are enough: what they lack moves
        // the coverage by z^4 / (24 * 256^3) * s (1 - s), 1.2e-8 at most (z = 4).
        double e = sharpness * (sqrt(dx * dx + dy2) - radius);
        e = 1.0 + e * (1.0 + e * (1.0 / 2 + e * (1.0 / 6)));
        e *= e, e *= e, e *= e, e *= e, e *= e, e *= e, e *= e, e *= e;
        const double part = through[c] / (1.0 + e);
        r[c] += red * part;
        g[c] += green * part;
        b[c] += blue * part;
        through[c] -= part;
    }
}

// Bytes of `count` columns (a multiple of 4) from `first` on; not zero if any is in doubt: if a
// little more or less would be another byte.
static inline __attribute__((always_inline)) int32_t round_down(row *restrict w, int32_t first,
                                                                int32_t count, double doubt)
{
    int32_t any = 0;
    int32_t *restrict doubtful = w->doubtful + first;
    const double *restrict through = w->through + first;
    count &= ~3;
    for (int32_t c = 0; c < count; c++) doubtful[c] = 0;
    for (int k = 0; k < 3; k++) {
        const double *restrict color = w->color[k] + first, behind = background[k];
        int32_t *restrict byte = w->byte[k] + first;
        for (int32_t c = 0; c < count; c++) {
            const double v = 255.0 * (color[c] + behind * through[c]);
            const int32_t low = (int32_t)(v - doubt), high = (int32_t)(v + doubt);
            byte[c] = low;
            doubtful[c] |= low ^ high;
            any |= low ^ high;
        }
    }
    return any;
}

typedef struct kernels {
    void (*cover)(row *restrict, const stretch *restrict);
    int32_t (*round_down)(row *restrict, int32_t, int32_t, double);
} kernels;

#define KERNELS(set, target)                                                          \
    target static void cover_##set(row *restrict w, const stretch *restrict k)        \
    {                                                                                 \
        cover(w, k);                                                                  \
    }                                                                                 \
    target static int32_t round_down_##set(row *restrict w, int32_t first, int32_t n, \
                                           double doubt)                              \
    {                                                                                 \
        return round_down(w, first, n, doubt);                                        \
    }                                                                                 \
    static const kernels set = {cover_##set, round_down_##set};

KERNELS(portable, )
#if defined(__x86_64__)
KERNELS(avx2, __attribute__((target("avx2"))))
#endif

static const cpu_variant variants[] = {CPU_AVX2(avx2) CPU_PORTABLE(portable)};
CPU_DISPATCH(kernels, variants, portable);

int particles_select(const char *set)
{
    return choose_kernels(set);
}

// A row, as far as particles reach; the rest is background already.
static void draw_row(uint8_t *restrict out, row *restrict w, const particles *p, const double *xy,
                     const double (*place)[2], int64_t r)
{
    const double top = (double)(p->size - 1), pitch = 1.0 / top;
    const int32_t size = (int32_t)p->size;
    stretch part[PARTICLES_MAX];
    int parts = 0;
    int32_t first = size, end = 0;
    for (int k = 0; k < p->count; k++) {
        const double dy = (double)r * pitch - place[k][1], reach = p->radius[k] + p->reach;
        const double chord2 = reach * reach - dy * dy;
        // Far away or nowhere: not on the canvas.
        if (!(chord2 >= 0.0 && fabs(place[k][0]) < 1e6)) continue;
        const double half = sqrt(chord2);
        const double left = ceil(fmax((place[k][0] - half) * top, 0.0));
        const double right = floor(fmin((place[k][0] + half) * top, top));
        if (left > right) continue;
        const int32_t from = (int32_t)left & ~3, to = ((int32_t)right | 3) + 1;
        part[parts++] = (stretch){from,         to - from,    place[k][0], dy * dy,
                                  p->radius[k], p->sharpness, pitch,       p->color[k]};
        if (from < first) first = from;
        if (to > end) end = to;
    }
    if (!parts) return;
    for (int k = 0; k < 3; k++)
        memset(w->color[k] + first, 0, (size_t)(end - first) * sizeof(double));
    for (int32_t c = first; c < end; c++) w->through[c] = 1.0;
    for (int k = 0; k < parts; k++) chosen->cover(w, &part[k]);

    const int32_t any = chosen->round_down(w, first, end - first, p->doubt);
    if (end > size) end = size;
    for (int32_t c = first; c < end; c++)
        for (int k = 0; k < 3; k++) out[3 * c + k] = (uint8_t)w->byte[k][c];
    for (int32_t c = first; any && c < end; c++)
        if (w->doubtful[c]) pixel_bytes(out + 3 * c, p, xy, r, c);
}

void particles_draw(uint8_t *frame, const particles *p, const double *xy)
{
    const int64_t size = p->size;
    double place[PARTICLES_MAX][2];
    for (int k = 0; k < p->count; k++) {
        place[k][0] = to_canvas(p, xy[2 * k], 0);
        place[k][1] = to_canvas(p, xy[2 * k + 1], 1);
        if (p->sharpness * p->radius[k] > 500.0) { // the series does not reach that far inside
            particles_draw_ref(frame, p, xy);
            return;
        }
    }
    for (int64_t c = 0; c < size; c++)
        for (int k = 0; k < 3; k++) frame[3 * c + k] = (uint8_t)(255.0 * background[k]);
    for (int64_t r = 1; r < size; r++) memcpy(frame + 3 * size * r, frame, (size_t)(3 * size));
    row w;
    for (int64_t r = 0; r < size; r++)
        draw_row(frame + 3 * size * r, &w, p, xy, (const double(*)[2])place, r);
}
