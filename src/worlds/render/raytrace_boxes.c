// SPDX-License-Identifier: MIT
// Rays by plain arithmetic in double precision and in a fixed order, so that what is hidden leaves
// no trace: two scenes that differ only in things nobody sees have the same bytes. The probes of
// rooms/ stand on that.
//
// To be quick, the bare floor is drawn once a camera; a part is asked only by the pixels within the
// rectangle its corners span, and shades the floor only within that of its footprint.
#include "worlds/render/raytrace_boxes.h"

#include <math.h>
#include <string.h>

static const double far = (double)INFINITY;
static const double tangent = 0.41421356237309503; // of half the field, 22.5 degrees
static const double degree = 0x1.1df46a2529d39p-6;
static const double ambient = 0.25, head = 0.40, above = 0.35;
static const double lift = 1e-3; // of a shadow ray off the surface

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// ---- the view ----

int64_t raytrace_boxes_view_size(int64_t size)
{
    const int64_t pixels = size * size;
    return pixels * (4 * 2 * (int64_t)sizeof(double) + 3 + 2 * (int64_t)sizeof(uint64_t)) +
           2 * size * (int64_t)sizeof(double);
}

void raytrace_boxes_view_init(raytrace_view *v, void *memory, int64_t size)
{
    const int64_t pixels = size * size;
    *v = (raytrace_view){.size = size};
    v->ground = memory;
    v->slant = v->ground + 4 * pixels;
    v->offset = v->slant + 4 * pixels;
    v->seen = (uint64_t *)(void *)(v->offset + 2 * size);
    v->shade = v->seen + pixels;
    v->bare = (uint8_t *)(v->shade + pixels);
    for (int64_t i = 0; i < 2 * size; i++)
        v->offset[i] = ((double)(2 * i + 1) / (double)(2 * size) - 1.0) * tangent;
    for (int64_t i = 0; i < 2 * size; i++)
        for (int64_t j = 0; j < 2 * size; j++) {
            const double x = v->offset[j], y = v->offset[i];
            v->slant[2 * size * i + j] = 1.0 / sqrt(1.0 + x * x + y * y);
        }
}

// Is the square at (x, y) one of the second colour? Without floor(), which is slow where the
// processor's own is not to be had.
static int square(const raytrace_floor *f, double x, double y)
{
    const double shift = 1048576.0;
    const double a = x - f->offset[0] + shift, b = y - f->offset[1] + shift;
    if (!(a > 0.0 && a < 2.0 * shift && b > 0.0 && b < 2.0 * shift)) return 0;
    return (int)(((int64_t)a + (int64_t)b) & 1);
}

static uint8_t to_byte(double sum)
{
    const double value = sum * (255.0 / 4.0) + 0.5;
    return value >= 255.0 ? 255 : value > 0.0 ? (uint8_t)value : 0;
}

static const double haze[3] = {0.72, 0.78, 0.84}; // where a ray meets no floor

// The colour of the floor along a ray. -n.d of the head light is -d_z / |d|.
static void floor_color(double rgb[3], const raytrace_view *v, double t, const double d[3],
                        double slant, bool lit)
{
    if (!(t < far)) {
        memcpy(rgb, haze, sizeof haze);
        return;
    }
    const double *c = v->floor.color[square(&v->floor, v->eye[0] + t * d[0], v->eye[1] + t * d[1])];
    const double light = ambient + head * (-d[2] * slant) + (lit ? above : 0.0);
    for (int k = 0; k < 3; k++) rgb[k] = c[k] * light;
}

// Row by row of rays, so that sums of a pixel wait in `sums` for their second half.
static void draw_bare(raytrace_view *v)
{
    const int64_t n = v->size;
    double sums[3 * RAYTRACE_BOXES_MAX_IMAGE];
    for (int64_t i = 0; i < 2 * n; i++) {
        double line[3];
        for (int k = 0; k < 3; k++) line[k] = v->forward[k] - v->offset[i] * v->up[k];
        // right[2] is 0: the floor is equally far along all rays of a row.
        const double t = line[2] < 0.0 ? -v->eye[2] / line[2] : far;
        for (int64_t j = 0; j < 2 * n; j++) {
            double d[3], rgb[3];
            for (int k = 0; k < 3; k++) d[k] = line[k] + v->offset[j] * v->right[k];
            v->ground[i * 2 * n + j] = t;
            floor_color(rgb, v, t, d, v->slant[i * 2 * n + j], true);
            double *sum = sums + 3 * (j / 2);
            for (int k = 0; k < 3; k++) sum[k] = i % 2 + j % 2 ? sum[k] + rgb[k] : rgb[k];
        }
        uint8_t *row = v->bare + 3 * n * (i / 2);
        for (int64_t k = 0; k < 3 * n && i % 2; k++) row[k] = to_byte(sums[k]);
    }
}

void raytrace_boxes_view_aim(raytrace_view *v, const raytrace_camera *camera,
                             const raytrace_floor *floor)
{
    if (!memcmp(&v->camera, camera, sizeof *camera) && !memcmp(&v->floor, floor, sizeof *floor))
        return;
    v->camera = *camera;
    v->floor = *floor;
    const double az = camera->azimuth * degree, el = camera->elevation * degree;
    const double ca = cos(az), sa = sin(az), ce = cos(el), se = sin(el);
    const double forward[3] = {ce * ca, ce * sa, se}, right[3] = {sa, -ca, 0.0},
                 up[3] = {-se * ca, -se * sa, ce};
    memcpy(v->forward, forward, sizeof forward);
    memcpy(v->right, right, sizeof right);
    memcpy(v->up, up, sizeof up);
    for (int k = 0; k < 3; k++) v->eye[k] = camera->look[k] - camera->distance * forward[k];
    draw_bare(v);
}

// ---- where a part can be seen ----

typedef struct window {
    double left, right, top, bottom; // in pixels
} window;

static const window nowhere = {1e9, -1e9, 1e9, -1e9};

// Takes a point into the window; one beside or behind the camera opens it wide.
static void window_take(window *w, const raytrace_view *v, const double x[3])
{
    double to[3];
    for (int k = 0; k < 3; k++) to[k] = x[k] - v->eye[k];
    const double depth = dot(to, v->forward), n = (double)v->size;
    if (depth < 0.05) {
        *w = (window){0.0, n, 0.0, n};
        return;
    }
    const double across = (dot(to, v->right) / depth / tangent + 1.0) * 0.5 * n;
    const double down = (1.0 - dot(to, v->up) / depth / tangent) * 0.5 * n;
    w->left = fmin(w->left, across);
    w->right = fmax(w->right, across);
    w->top = fmin(w->top, down);
    w->bottom = fmax(w->bottom, down);
}

// A corner of the part, or of the cube around a ball; with z = 0 its shadow.
static void corner(double x[3], const raytrace_box_part *p, int which)
{
    memcpy(x, p->center, 3 * sizeof *x);
    for (int a = 0; a < 3; a++) {
        const double by = (which >> a & 1 ? 1.0 : -1.0) * p->half[p->ball ? 0 : a];
        for (int k = 0; k < 3; k++) x[k] += by * (p->ball ? (double)(k == a) : p->axis[a][k]);
    }
}

// Bit `bit` in all pixels of a window, and one around it.
static void window_mark(uint64_t *out, int64_t size, const window *w, uint64_t bit)
{
    const double n = (double)size;
    const int64_t left = (int64_t)fmin(fmax(w->left - 1.0, 0.0), n),
                  right = (int64_t)fmin(fmax(w->right + 2.0, 0.0), n),
                  top = (int64_t)fmin(fmax(w->top - 1.0, 0.0), n),
                  bottom = (int64_t)fmin(fmax(w->bottom + 2.0, 0.0), n);
    for (int64_t r = top; r < bottom; r++)
        for (int64_t c = left; c < right; c++) out[r * size + c] |= bit;
}

static void mark_part(raytrace_view *v, const raytrace_box_part *p, uint64_t bit)
{
    window body = nowhere, shadow = nowhere;
    for (int i = 0; i < 8; i++) {
        double x[3];
        corner(x, p, i);
        window_take(&body, v, x);
        x[2] = 0.0;
        window_take(&shadow, v, x);
    }
    window_mark(v->seen, v->size, &body, bit);
    window_mark(v->shade, v->size, &shadow, bit);
}

// ---- rays ----

// A part in its own frame, as the camera has it.
typedef struct posed {
    const raytrace_box_part *part;
    double from[3], forward[3], right[3], up[3]; // boxes: along the axes of the box
    double square;                               // balls: |from|^2 - r^2
    double reach;                                // horizontal radius squared
} posed;

static posed pose(const raytrace_box_part *p, const raytrace_view *v)
{
    posed out = {.part = p};
    double off[3];
    for (int k = 0; k < 3; k++) off[k] = v->eye[k] - p->center[k];
    for (int a = 0; a < 3; a++) {
        out.from[a] = p->ball ? off[a] : dot(p->axis[a], off);
        out.forward[a] = p->ball ? v->forward[a] : dot(p->axis[a], v->forward);
        out.right[a] = p->ball ? v->right[a] : dot(p->axis[a], v->right);
        out.up[a] = p->ball ? v->up[a] : dot(p->axis[a], v->up);
    }
    out.square = dot(out.from, out.from) - p->half[0] * p->half[0];
    out.reach = p->ball ? p->half[0] * p->half[0] : dot(p->half, p->half);
    return out;
}

// Where a ray enters; false if it misses. Cameras are never inside.
static bool enter_ball(double *t, const posed *p, const double d[3])
{
    const double a = dot(d, d), b = dot(p->from, d), under = b * b - a * p->square;
    if (under < 0.0) return false;
    *t = (-b - sqrt(under)) / a;
    return *t > 0.0;
}

static bool enter_box(double *t, int *axis, const double from[3], const double d[3],
                      const double half[3])
{
    double enter = -far, leave = far;
    for (int k = 0; k < 3; k++) {
        if (d[k] == 0.0) {
            if (fabs(from[k]) > half[k]) return false;
            continue;
        }
        const double by = 1.0 / d[k], middle = -from[k] * by, wide = fabs(half[k] * by);
        const double first = middle - wide, last = middle + wide;
        if (first > enter) enter = first, *axis = k;
        if (last < leave) leave = last;
        if (enter > leave) return false;
    }
    *t = enter;
    return enter > 0.0;
}

// Does anything stand above x?
static bool shaded(const double x[3], const posed *parts, uint64_t asked)
{
    for (; asked; asked &= asked - 1) {
        const posed *p = &parts[__builtin_ctzll(asked)];
        const raytrace_box_part *part = p->part;
        const double off[3] = {x[0] - part->center[0], x[1] - part->center[1],
                               x[2] - part->center[2]};
        const double wide = off[0] * off[0] + off[1] * off[1];
        if (wide >= p->reach) continue;
        if (part->ball) {
            if (sqrt(p->reach - wide) > off[2]) return true;
            continue;
        }
        const double from[3] = {dot(part->axis[0], off), dot(part->axis[1], off),
                                dot(part->axis[2], off)};
        const double up[3] = {part->axis[0][2], part->axis[1][2], part->axis[2][2]};
        double enter = 0.0, leave = far;
        for (int k = 0; k < 3; k++) {
            if (up[k] == 0.0) {
                if (fabs(from[k]) > part->half[k]) leave = -1.0;
                continue;
            }
            const double by = 1.0 / up[k], middle = -from[k] * by, half = fabs(part->half[k] * by);
            if (middle - half > enter) enter = middle - half;
            if (middle + half < leave) leave = middle + half;
        }
        if (enter < leave) return true;
    }
    return false;
}

// What one ray meets: a part, or the floor.
typedef struct meeting {
    const posed *best; // NULL: the floor
    int axis;
    bool lit; // the floor is
    double t, d[3], local[3];
} meeting;

static void meet(meeting *m, const raytrace_view *v, const posed *parts, uint64_t seen,
                 uint64_t shade, int64_t i, int64_t j)
{
    const double x = v->offset[j], y = -v->offset[i];
    *m = (meeting){.t = v->ground[i * 2 * v->size + j]};
    for (int k = 0; k < 3; k++) m->d[k] = v->forward[k] + y * v->up[k] + x * v->right[k];
    for (; seen; seen &= seen - 1) {
        const posed *p = &parts[__builtin_ctzll(seen)];
        double t, local[3];
        int axis = 0;
        for (int k = 0; k < 3; k++) local[k] = p->forward[k] + x * p->right[k] + y * p->up[k];
        const bool met = p->part->ball ? enter_ball(&t, p, local)
                                       : enter_box(&t, &axis, p->from, local, p->part->half);
        if (!met || !(t < m->t)) continue;
        m->t = t;
        m->best = p;
        m->axis = axis;
        memcpy(m->local, local, sizeof local);
    }
    if (m->best) return;
    const double ground[3] = {v->eye[0] + m->t * m->d[0], v->eye[1] + m->t * m->d[1], lift};
    m->lit = !(m->t < far) || !shaded(ground, parts, shade);
}

static void part_color(double rgb[3], const raytrace_view *v, const posed *parts, uint64_t all,
                       const meeting *m, double slant)
{
    const raytrace_box_part *part = m->best->part;
    double normal[3], x[3];
    for (int k = 0; k < 3; k++) x[k] = v->eye[k] + m->t * m->d[k];
    if (part->ball) {
        for (int k = 0; k < 3; k++) normal[k] = (x[k] - part->center[k]) / part->half[0];
    } else {
        const double side = m->local[m->axis] > 0.0 ? -1.0 : 1.0;
        for (int k = 0; k < 3; k++) normal[k] = side * part->axis[m->axis][k];
    }
    const double facing = -dot(normal, m->d) * slant;
    double light = ambient + head * (facing > 0.0 ? facing : 0.0);
    if (normal[2] > 0.0) {
        for (int k = 0; k < 3; k++) x[k] += lift * normal[k];
        if (!shaded(x, parts, all)) light += above * normal[2];
    }
    for (int k = 0; k < 3; k++) rgb[k] = part->color[k] * light;
}

// `quick`: where all is bare floor in full light the picture already has it.
static void pixel(uint8_t *frame, uint8_t *mask, const raytrace_view *v, const posed *parts,
                  uint64_t all, uint64_t seen, uint64_t shade, int64_t r, int64_t c, bool quick)
{
    meeting m[4];
    bool bare = quick;
    for (int s = 0; s < 4; s++) {
        meet(&m[s], v, parts, seen, shade, 2 * r + s / 2, 2 * c + s % 2);
        bare &= !m[s].best && m[s].lit;
    }
    if (bare) return;
    double sum[3] = {0.0, 0.0, 0.0}, rgb[3];
    const int64_t at = r * v->size + c;
    for (int s = 0; s < 4; s++) {
        const double slant = v->slant[(2 * r + s / 2) * 2 * v->size + 2 * c + s % 2];
        if (m[s].best) part_color(rgb, v, parts, all, &m[s], slant);
        else floor_color(rgb, v, m[s].t, m[s].d, slant, m[s].lit);
        for (int k = 0; k < 3; k++) sum[k] += rgb[k];
    }
    mask[at] = m[0].best ? m[0].best->part->id : 0;
    for (int k = 0; k < 3; k++) frame[3 * at + k] = to_byte(sum[k]);
}

static uint64_t everything(int count)
{
    return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

void raytrace_boxes_draw(uint8_t *frame, uint8_t *mask, raytrace_view *v,
                         const raytrace_box_scene *scene)
{
    const int64_t pixels = v->size * v->size;
    posed parts[RAYTRACE_BOXES_PARTS];
    memcpy(frame, v->bare, (size_t)pixels * 3);
    memset(mask, 0, (size_t)pixels);
    memset(v->seen, 0, (size_t)pixels * sizeof *v->seen);
    memset(v->shade, 0, (size_t)pixels * sizeof *v->shade);
    for (int i = 0; i < scene->count; i++) {
        parts[i] = pose(&scene->part[i], v);
        mark_part(v, &scene->part[i], (uint64_t)1 << i);
    }
    const uint64_t all = everything(scene->count);
    for (int64_t r = 0; r < v->size; r++)
        for (int64_t c = 0; c < v->size; c++) {
            const uint64_t seen = v->seen[r * v->size + c], shade = v->shade[r * v->size + c];
            if (seen | shade) pixel(frame, mask, v, parts, all, seen, shade, r, c, true);
        }
}

void raytrace_boxes_draw_ref(uint8_t *frame, uint8_t *mask, raytrace_view *v,
                             const raytrace_box_scene *scene)
{
    posed parts[RAYTRACE_BOXES_PARTS];
    for (int i = 0; i < scene->count; i++) parts[i] = pose(&scene->part[i], v);
    const uint64_t all = everything(scene->count);
    for (int64_t r = 0; r < v->size; r++)
        for (int64_t c = 0; c < v->size; c++)
            pixel(frame, mask, v, parts, all, all, all, r, c, false);
}
