// SPDX-License-Identifier: MIT
// Soft discs over a background. Where rectangles of sprites overlap, a pixel is composed of all
// sprites that reach it; elsewhere a sprite is alone over the background.
#include "models/bodies/sprites.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/status.h"

// Beyond this many units of the edge a sprite covers less than 1e-5 of a pixel, and is not drawn.
static const double drawn_units = 11.5;
// For derivatives less is enough: 5e-4.
static const double summed_units = 7.6;

// Keeps the distance differentiable at the centre.
static const double soft2 = 1e-4;

plumb_status sprites_alloc(sprite_scratch *out, arena *mem, const sprite_scene *scene)
{
    *out = (sprite_scratch){0};
    for (int k = 0; k < scene->count; k++) {
        out->alpha[k] = ARENA_ALLOC(mem, double, scene->height * scene->width);
        out->slope[k] = ARENA_ALLOC(mem, double, scene->height * scene->width);
        if (!out->alpha[k] || !out->slope[k]) return PLUMB_EMEMORY;
    }
    return PLUMB_OK;
}

static double cover_of(double z)
{
    return 1.0 / (1.0 + exp(-z));
}

// ---- profiles ----

// The four splines that are not 0 at a distance, and their slopes by it; the index of the first.
// -1: beyond the last.
static int find_splines(double value[4], double slope[4], double step, double distance)
{
    const double u = distance / step;
    if (!(u < PROFILE_NODES - 3)) return -1;
    const int first = (int)u;
    const double f = u - first, g = 1.0 - f;
    value[0] = g * g * g / 6.0;
    value[1] = 2.0 / 3.0 - f * f * (1.0 - 0.5 * f);
    value[2] = 2.0 / 3.0 - g * g * (1.0 - 0.5 * g);
    value[3] = f * f * f / 6.0;
    slope[0] = -0.5 * g * g / step;
    slope[1] = f * (1.5 * f - 2.0) / step;
    slope[2] = g * (2.0 - 1.5 * g) / step;
    slope[3] = 0.5 * f * f / step;
    return first;
}

static const float *find_profile(const sprite_scene *scene, int k)
{
    return scene->profile + (k + scene->sprites[k].exchanged) * PROFILE_NODES;
}

double sprites_profile_cover(double *slope, const float *weights, double step, double distance)
{
    double value[4], by[4], sum = 0.0;
    const int first = find_splines(value, by, step, distance);
    *slope = 0.0;
    for (int i = 0; i < 4 && first >= 0; i++) {
        sum += value[i] * (double)weights[first + i];
        *slope -= by[i] * (double)weights[first + i];
    }
    return sum;
}

// ---- order ----

static bool is_in_front(const sprite_scene *scene, int i, int k)
{
    const int a = scene->sprites[i].depth, b = scene->sprites[k].depth;
    return a < b || (a == b && i < k);
}

// Indices from front to back.
static void sort_by_depth(int *order, const sprite_scene *scene)
{
    for (int n = 0; n < scene->count; n++) {
        int at = n;
        while (at > 0 && is_in_front(scene, n, order[at - 1])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = n;
    }
}

void sprites_exchange(sprite looks[2])
{
    const bool first_in_front = looks[0].depth <= looks[1].depth;
    const sprite keep = looks[0];
    looks[0] = looks[1];
    looks[1] = keep;
    looks[0].exchanged += 1;
    looks[1].exchanged -= 1;
    looks[0].depth = first_in_front ? 1 : 0;
    looks[1].depth = first_in_front ? 0 : 1;
}

// ---- rectangles ----

static int clamp_to(double value, int64_t most)
{
    return value < 0.0 ? 0 : value > (double)most ? (int)most : (int)value;
}

// The rectangle of a sprite; empty if it is outside of the picture or its place is NaN.
static void place_rectangle(sprite_scratch *s, const sprite_scene *scene, const double *xy, int k,
                            double units)
{
    const double reach = scene->profile ? (PROFILE_NODES - 3) * scene->profile_step
                                        : scene->sprites[k].radius + units / scene->edge;
    s->columns[k] = s->rows[k] = s->left[k] = s->top[k] = 0;
    if (!(fabs(xy[2 * k]) < 1e6 && fabs(xy[2 * k + 1]) < 1e6 && reach < 1e6)) return;
    s->left[k] = clamp_to(ceil(xy[2 * k] - reach), scene->width);
    s->top[k] = clamp_to(ceil(xy[2 * k + 1] - reach), scene->height);
    s->columns[k] = clamp_to(floor(xy[2 * k] + reach) + 1.0, scene->width) - s->left[k];
    s->rows[k] = clamp_to(floor(xy[2 * k + 1] + reach) + 1.0, scene->height) - s->top[k];
    if (s->columns[k] <= 0 || s->rows[k] <= 0) s->columns[k] = s->rows[k] = 0;
}

// The same by the profile, with slopes.
static void fill_profile(sprite_scratch *s, const sprite_scene *scene, const double *xy, int k)
{
    const float *weights = find_profile(scene, k);
    double *a = s->alpha[k], *slope = s->slope[k];
    for (int r = 0; r < s->rows[k]; r++) {
        const double dy = (double)(s->top[k] + r) - xy[2 * k + 1], dy2 = dy * dy + soft2;
        for (int c = 0; c < s->columns[k]; c++) {
            const double dx = (double)(s->left[k] + c) - xy[2 * k];
            *a++ =
                sprites_profile_cover(slope++, weights, scene->profile_step, sqrt(dx * dx + dy2));
        }
    }
}

// Cover of all pixels of the rectangle.
static void fill_cover(sprite_scratch *s, const sprite_scene *scene, const double *xy, int k)
{
    const double radius = scene->sprites[k].radius;
    if (scene->profile) {
        fill_profile(s, scene, xy, k);
        return;
    }
    double *a = s->alpha[k];
    for (int r = 0; r < s->rows[k]; r++) {
        const double dy = (double)(s->top[k] + r) - xy[2 * k + 1], dy2 = dy * dy + soft2;
        for (int c = 0; c < s->columns[k]; c++) {
            const double dx = (double)(s->left[k] + c) - xy[2 * k];
            *a++ = cover_of(scene->edge * (radius - sqrt(dx * dx + dy2)));
        }
    }
}

static bool rectangles_overlap(const sprite_scratch *s, int i, int k)
{
    return s->left[i] < s->left[k] + s->columns[k] && s->left[k] < s->left[i] + s->columns[i] &&
           s->top[i] < s->top[k] + s->rows[k] && s->top[k] < s->top[i] + s->rows[i];
}

// Rectangles, covers, and which sprites may share pixels.
static void prepare_frame(sprite_scratch *s, const sprite_scene *scene, const double *xy)
{
    assert(scene->count <= SPRITES_MAX);
    sort_by_depth(s->order, scene);
    for (int k = 0; k < scene->count; k++) {
        place_rectangle(s, scene, xy, k, summed_units);
        fill_cover(s, scene, xy, k);
    }
    for (int k = 0; k < scene->count; k++) {
        s->near_count[k] = 0;
        for (int n = 0; n < scene->count; n++)
            if (s->order[n] != k && rectangles_overlap(s, s->order[n], k))
                s->near[k][s->near_count[k]++] = s->order[n];
    }
}

// Cover of a pixel by sprite k, 0 outside of its rectangle.
static double cover_at(const sprite_scratch *s, int k, int row, int column)
{
    const int r = row - s->top[k], c = column - s->left[k];
    return r >= 0 && r < s->rows[k] && c >= 0 && c < s->columns[k]
               ? s->alpha[k][r * s->columns[k] + c]
               : 0.0;
}

// ---- pictures ----

void sprites_draw(float *frame, const sprite_scene *scene, const double *xy,
                  sprite_scratch *scratch)
{
    const int64_t C = scene->channels;
    for (int k = 0; k < scene->count; k++) {
        place_rectangle(scratch, scene, xy, k, drawn_units);
        fill_cover(scratch, scene, xy, k);
    }
    memcpy(frame, scene->background, (size_t)(scene->height * scene->width * C) * sizeof *frame);
    sort_by_depth(scratch->order, scene);
    for (int n = scene->count - 1; n >= 0; n--) { // back to front
        const int k = scratch->order[n];
        const double *a = scratch->alpha[k], *colour = scene->sprites[k].colour;
        for (int r = 0; r < scratch->rows[k]; r++) {
            float *pixel = frame + ((scratch->top[k] + r) * scene->width + scratch->left[k]) * C;
            for (int c = 0; c < scratch->columns[k]; c++, a++)
                for (int64_t i = 0; i < C; i++, pixel++)
                    *pixel = (float)((double)*pixel + *a * (colour[i] - (double)*pixel));
        }
    }
}

void sprites_draw_reference(double *frame, const sprite_scene *scene, const double *xy)
{
    const int64_t C = scene->channels;
    int order[SPRITES_MAX];
    sort_by_depth(order, scene);
    for (int64_t r = 0; r < scene->height; r++)
        for (int64_t c = 0; c < scene->width; c++) {
            double through = 1.0, *pixel = frame + (r * scene->width + c) * C;
            for (int64_t i = 0; i < C; i++) pixel[i] = 0.0;
            for (int n = 0; n < scene->count; n++) { // front to back
                const int k = order[n];
                const double dx = (double)c - xy[2 * k], dy = (double)r - xy[2 * k + 1];
                const double d = sqrt(dx * dx + dy * dy + soft2);
                double slope;
                const double a = scene->profile
                                     ? sprites_profile_cover(&slope, find_profile(scene, k),
                                                             scene->profile_step, d)
                                     : cover_of(scene->edge * (scene->sprites[k].radius - d));
                for (int64_t i = 0; i < C; i++)
                    pixel[i] += through * a * scene->sprites[k].colour[i];
                through *= 1.0 - a;
            }
            for (int64_t i = 0; i < C; i++)
                pixel[i] += through * (double)scene->background[(r * scene->width + c) * C + i];
        }
}

double sprites_error(const sprite_scene *scene, const double *xy, const uint8_t *frame,
                     float *picture, sprite_scratch *scratch)
{
    const int64_t size = scene->height * scene->width * scene->channels;
    double sum = 0.0;
    sprites_draw(picture, scene, xy, scratch);
    for (int64_t i = 0; i < size; i++) {
        const double e = (double)frame[i] * (1.0 / 255.0) - (double)picture[i];
        sum += e * e;
    }
    return sum / (double)size;
}

// ---- derivatives ----

// One pixel as seen from sprite k.
typedef struct sprite_pixel {
    double visible;                 // transmittance of what is in front
    double front[SPRITES_CHANNELS]; // colour of what is in front
    double under[SPRITES_CHANNELS]; // colour of what is behind
    double ux, uy;                  // from the centre to the pixel, length 1
    double depth;                   // R - d
} sprite_pixel;

// The sprites in front are composed from the first on, those behind from the last on.
static void compose_pixel(sprite_pixel *out, const sprite_scene *scene, const sprite_scratch *s,
                          int k, int row, int column)
{
    const int64_t C = scene->channels;
    const float *background = scene->background + (row * scene->width + column) * C;
    out->visible = 1.0;
    for (int64_t i = 0; i < C; i++) {
        out->front[i] = 0.0;
        out->under[i] = (double)background[i];
    }
    for (int n = 0; n < s->near_count[k] && is_in_front(scene, s->near[k][n], k); n++) {
        const int j = s->near[k][n];
        const double a = cover_at(s, j, row, column);
        for (int64_t i = 0; i < C; i++)
            out->front[i] += out->visible * a * scene->sprites[j].colour[i];
        out->visible *= 1.0 - a;
    }
    for (int n = s->near_count[k] - 1; n >= 0 && is_in_front(scene, k, s->near[k][n]); n--) {
        const int j = s->near[k][n];
        const double a = cover_at(s, j, row, column);
        for (int64_t i = 0; i < C; i++)
            out->under[i] += a * (scene->sprites[j].colour[i] - out->under[i]);
    }
}

static void measure_distance(sprite_pixel *out, const sprite_scene *scene, const double *xy, int k,
                             int row, int column)
{
    const double dx = (double)column - xy[2 * k], dy = (double)row - xy[2 * k + 1];
    const double d = sqrt(dx * dx + dy * dy + soft2);
    out->ux = dx / d;
    out->uy = dy / d;
    out->depth = scene->sprites[k].radius - d;
}

// Residual and contrast of one pixel of sprite k.
typedef struct pixel_terms {
    double product, square;            // of residual and contrast, and of the contrast itself
    double residual[SPRITES_CHANNELS]; // frame minus picture
} pixel_terms;

static void find_terms(pixel_terms *out, const sprite_pixel *at, const sprite_scene *scene, int k,
                       double a, const uint8_t *frame)
{
    const double *colour = scene->sprites[k].colour;
    out->product = out->square = 0.0;
    for (int64_t i = 0; i < scene->channels; i++) {
        const double contrast = colour[i] - at->under[i];
        const double picture = at->front[i] + at->visible * (at->under[i] + a * contrast);
        out->residual[i] = (double)frame[i] * (1.0 / 255.0) - picture;
        out->product += out->residual[i] * contrast;
        out->square += contrast * contrast;
    }
}

// The same for a sprite that is alone over the background.
static void find_terms_alone(pixel_terms *out, const sprite_scene *scene, int k, double a,
                             const float *background, const uint8_t *frame)
{
    const double *colour = scene->sprites[k].colour;
    out->product = out->square = 0.0;
    for (int64_t i = 0; i < scene->channels; i++) {
        const double under = (double)background[i], contrast = colour[i] - under;
        out->residual[i] = (double)frame[i] * (1.0 / 255.0) - (under + a * contrast);
        out->product += out->residual[i] * contrast;
        out->square += contrast * contrast;
    }
}

// Adds one pixel to the sums of a sprite. d picture / d (R - d) is slope times contrast.
static void add_place(sprite_sums *sum, const sprite_pixel *at, const pixel_terms *terms,
                      double slope)
{
    const double weight = slope * slope * terms->square, pull = slope * terms->product;
    sum->xx += weight * at->ux * at->ux;
    sum->xy += weight * at->ux * at->uy;
    sum->yy += weight * at->uy * at->uy;
    sum->x += pull * at->ux;
    sum->y += pull * at->uy;
}

static void add_look(sprite_sums *sum, const sprite_pixel *at, const pixel_terms *terms,
                     double slope, double cover, const sprite_scene *scene)
{
    const double weight = slope * slope * terms->square, pull = slope * terms->product;
    const double by_edge = at->depth / scene->edge;
    for (int64_t i = 0; i < scene->channels; i++) sum->colour[i] += cover * terms->residual[i];
    sum->cover2 += cover * cover;
    sum->radius2 += weight;
    sum->radius += pull;
    sum->edge2 += weight * by_edge * by_edge;
    sum->edge += pull * by_edge;
}

void sprites_sum(sprite_sums *sums, const sprite_scene *scene, const double *xy,
                 const uint8_t *frame, bool looks, sprite_scratch *scratch)
{
    prepare_frame(scratch, scene, xy);
    for (int k = 0; k < scene->count; k++) {
        const double *a = scratch->alpha[k];
        const bool alone = scratch->near_count[k] == 0;
        sprite_pixel at = {.visible = 1.0};
        pixel_terms terms;
        sums[k] = (sprite_sums){0};
        for (int r = 0; r < scratch->rows[k]; r++)
            for (int c = 0; c < scratch->columns[k]; c++, a++) {
                const int row = scratch->top[k] + r, column = scratch->left[k] + c;
                const int64_t pixel = (row * scene->width + column) * scene->channels;
                // Away from the edge a pixel says nothing about the place.
                const double rise =
                    scene->profile ? scratch->slope[k][a - scratch->alpha[k]] : *a * (1.0 - *a);
                if (!looks && fabs(rise) < 1e-4) continue;
                if (alone)
                    find_terms_alone(&terms, scene, k, *a, scene->background + pixel,
                                     frame + pixel);
                else {
                    compose_pixel(&at, scene, scratch, k, row, column);
                    find_terms(&terms, &at, scene, k, *a, frame + pixel);
                }
                const double slope = (scene->profile ? rise : scene->edge * rise) * at.visible;
                measure_distance(&at, scene, xy, k, row, column);
                add_place(&sums[k], &at, &terms, slope);
                if (looks) add_look(&sums[k], &at, &terms, slope, *a * at.visible, scene);
            }
    }
}

void sprites_gradient(double *gradient, const sprite_scene *scene, const double *xy,
                      const float *seed, sprite_scratch *scratch)
{
    const int64_t C = scene->channels;
    prepare_frame(scratch, scene, xy);
    for (int k = 0; k < scene->count; k++) {
        const double *a = scratch->alpha[k];
        double gx = 0.0, gy = 0.0;
        for (int r = 0; r < scratch->rows[k]; r++)
            for (int c = 0; c < scratch->columns[k]; c++, a++) {
                const int row = scratch->top[k] + r, column = scratch->left[k] + c;
                const float *weight = seed + (row * scene->width + column) * C;
                sprite_pixel at;
                double product = 0.0;
                compose_pixel(&at, scene, scratch, k, row, column);
                measure_distance(&at, scene, xy, k, row, column);
                for (int64_t i = 0; i < C; i++)
                    product += (double)weight[i] * (scene->sprites[k].colour[i] - at.under[i]);
                product *= scene->profile ? scratch->slope[k][a - scratch->alpha[k]] * at.visible
                                          : scene->edge * *a * (1.0 - *a) * at.visible;
                gx += product * at.ux;
                gy += product * at.uy;
            }
        gradient[2 * k] = gx;
        gradient[2 * k + 1] = gy;
    }
}

void sprites_add_profile(profile_sums *sums, const sprite_scene *scene, const double *xy,
                         const uint8_t *frame, sprite_scratch *scratch)
{
    prepare_frame(scratch, scene, xy);
    for (int k = 0; k < scene->count; k++) {
        const double *a = scratch->alpha[k];
        for (int r = 0; r < scratch->rows[k]; r++)
            for (int c = 0; c < scratch->columns[k]; c++, a++) {
                const int row = scratch->top[k] + r, column = scratch->left[k] + c;
                sprite_pixel at;
                pixel_terms terms;
                double value[4], slope[4];
                compose_pixel(&at, scene, scratch, k, row, column);
                measure_distance(&at, scene, xy, k, row, column);
                const int first = find_splines(value, slope, scene->profile_step,
                                               scene->sprites[k].radius - at.depth);
                if (first < 0) continue;
                find_terms(&terms, &at, scene, k, *a,
                           frame + (row * scene->width + column) * scene->channels);
                // The residual without this sprite is that of its weights plus what they draw.
                const double pull = at.visible * (terms.product + at.visible * *a * terms.square);
                const double weight = at.visible * at.visible * terms.square;
                for (int i = 0; i < 4; i++) {
                    // The first weight is the third.
                    const int p = first + i ? first + i : 2;
                    sums[k].right[p] += pull * value[i];
                    for (int j = 0; j < 4; j++)
                        sums[k].normal[p][first + j ? first + j : 2] +=
                            weight * value[i] * value[j];
                }
            }
    }
}
