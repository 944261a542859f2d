// SPDX-License-Identifier: MIT
// Rays. The published room was drawn by MuJoCo from a scene that was never published; this is
// plumb's own, made to be the same on every machine.
//
// To be quick an object is asked only by rays that may pass its bounding sphere, those within a
// rectangle of the picture; and from inside the room a ray meets one plane of it, not five. A ray
// into a corner of the room may fall on the other side by rounding: one sample of sixteen.
#include "worlds/render/raytrace_room.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double nearest = 1e-9;
static const double ambient = 0.4, diffuse = 0.6;
// (0.3, 0.2, 0.9) normalised
static const double light[3] = {0.30942637387763413, 0.2062842492517561, 0.9282791216329026};

typedef struct ray {
    double from[3], along[3];
} ray;

typedef struct hit {
    double t, normal[3];
    const double *color;
} hit;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(double out[3], const double a[3], const double b[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void normalise(double v[3])
{
    const double length = sqrt(dot(v, v));
    for (int k = 0; k < 3; k++) v[k] /= length;
}

static void offer(hit *best, double t, double nx, double ny, double nz, const double *color)
{
    if (!(t > nearest && t < best->t)) return;
    *best = (hit){t, {nx, ny, nz}, color};
}

static void sphere(hit *best, const ray *r, const double center[3], double radius, double low,
                   double high, const double *color)
{
    double o[3];
    for (int k = 0; k < 3; k++) o[k] = r->from[k] - center[k];
    const double a = dot(r->along, r->along), b = dot(o, r->along), c = dot(o, o) - radius * radius;
    const double under = b * b - a * c;
    if (under < 0.0) return;
    const double root = sqrt(under);
    for (int side = -1; side <= 1; side += 2) {
        const double t = (-b + side * root) / a, z = o[2] + t * r->along[2];
        if (z < low || z > high) continue; // only this part of the ball is there
        offer(best, t, o[0] + t * r->along[0], o[1] + t * r->along[1], z, color);
    }
}

// The round side of something upright.
static void side_of(hit *best, const ray *r, const double center[3], double radius, double half,
                    const double *color)
{
    const double ox = r->from[0] - center[0], oy = r->from[1] - center[1];
    const double dx = r->along[0], dy = r->along[1];
    const double a = dx * dx + dy * dy, b = ox * dx + oy * dy,
                 c = ox * ox + oy * oy - radius * radius;
    const double under = b * b - a * c;
    if (under < 0.0 || a == 0.0) return;
    const double root = sqrt(under);
    for (int side = -1; side <= 1; side += 2) {
        const double t = (-b + side * root) / a;
        if (fabs(r->from[2] + t * r->along[2] - center[2]) > half) continue;
        offer(best, t, ox + t * dx, oy + t * dy, 0.0, color);
    }
}

static void lid(hit *best, const ray *r, const double center[3], double radius, double z,
                const double *color)
{
    if (r->along[2] == 0.0) return;
    const double t = (z - r->from[2]) / r->along[2];
    const double x = r->from[0] + t * r->along[0] - center[0];
    const double y = r->from[1] + t * r->along[1] - center[1];
    if (x * x + y * y <= radius * radius) offer(best, t, 0.0, 0.0, 1.0, color);
}

// In the frame of the box its six faces are planes; the ray is inside between the last entry and
// the first exit.
static void box(hit *best, const ray *r, const raytrace_object *o)
{
    const double c = o->heading[0], s = o->heading[1];
    const double px = r->from[0] - o->center[0], py = r->from[1] - o->center[1];
    const double from[3] = {c * px + s * py, -s * px + c * py, r->from[2] - o->center[2]};
    const double along[3] = {c * r->along[0] + s * r->along[1], -s * r->along[0] + c * r->along[1],
                             r->along[2]};
    double enter = -(double)INFINITY, leave = (double)INFINITY;
    int enter_axis = 0, leave_axis = 0;
    for (int k = 0; k < 3; k++) {
        if (along[k] == 0.0) {
            if (fabs(from[k]) > o->size[k]) return;
            continue;
        }
        const double t1 = (-o->size[k] - from[k]) / along[k],
                     t2 = (o->size[k] - from[k]) / along[k];
        const double first = t1 < t2 ? t1 : t2, last = t1 < t2 ? t2 : t1;
        if (first > enter) enter = first, enter_axis = k;
        if (last < leave) leave = last, leave_axis = k;
    }
    if (enter > leave) return;
    const bool outside = enter > nearest;
    const int axis = outside ? enter_axis : leave_axis;
    const double n[3] = {axis == 0, axis == 1, axis == 2};
    offer(best, outside ? enter : leave, c * n[0] - s * n[1], s * n[0] + c * n[1], n[2], o->color);
}

static void object(hit *best, const ray *r, const raytrace_object *o)
{
    const double half = o->size[2], all = (double)INFINITY;
    double end[3] = {o->center[0], o->center[1], o->center[2]};
    switch (o->kind) {
    case RAYTRACE_SHAPE_SPHERE: sphere(best, r, o->center, o->size[0], -all, all, o->color); break;
    case RAYTRACE_SHAPE_CAPSULE:
        side_of(best, r, o->center, o->size[0], half, o->color);
        end[2] = o->center[2] + half;
        sphere(best, r, end, o->size[0], 0.0, all, o->color);
        end[2] = o->center[2] - half;
        sphere(best, r, end, o->size[0], -all, 0.0, o->color);
        break;
    case RAYTRACE_SHAPE_CYLINDER:
        side_of(best, r, o->center, o->size[0], half, o->color);
        lid(best, r, o->center, o->size[0], o->center[2] + half, o->color);
        lid(best, r, o->center, o->size[0], o->center[2] - half, o->color);
        break;
    case RAYTRACE_SHAPE_BOX: box(best, r, o); break;
    }
}

// Floor and walls from anywhere.
static void floor_and_walls(hit *best, const ray *r, const raytrace_room_scene *room)
{
    if (r->along[2] != 0.0) {
        const double t = -r->from[2] / r->along[2];
        if (fabs(r->from[0] + t * r->along[0]) <= room->half &&
            fabs(r->from[1] + t * r->along[1]) <= room->half)
            offer(best, t, 0.0, 0.0, 1.0, room->floor);
    }
    for (int k = 0; k < 2; k++) {
        if (r->along[k] == 0.0) continue;
        for (int side = -1; side <= 1; side += 2) {
            const double t = (side * room->half - r->from[k]) / r->along[k];
            const double z = r->from[2] + t * r->along[2];
            if (z < 0.0 || z > room->height ||
                fabs(r->from[1 - k] + t * r->along[1 - k]) > room->half)
                continue;
            offer(best, t, k == 0, k == 1, 0.0, room->wall);
        }
    }
}

// The same from inside: a ray leaves the room by the first of three planes it meets.
static void floor_or_wall(hit *best, const ray *r, const raytrace_room_scene *room)
{
    const double *o = r->from, *d = r->along, far = (double)INFINITY;
    const double tx = d[0] != 0.0 ? (copysign(room->half, d[0]) - o[0]) / d[0] : far;
    const double ty = d[1] != 0.0 ? (copysign(room->half, d[1]) - o[1]) / d[1] : far;
    const double tz = d[2] < 0.0 ? -o[2] / d[2] : far;
    const double wall = tx < ty ? tx : ty;
    if (tz <= wall) *best = (hit){tz, {0.0, 0.0, 1.0}, room->floor};
    else if (o[2] + wall * d[2] <= room->height)
        *best = (hit){wall, {tx <= ty, tx > ty, 0.0}, room->wall};
}

static bool inside(const double x[3], const raytrace_room_scene *room)
{
    return fabs(x[0]) < room->half - 0.01 && fabs(x[1]) < room->half - 0.01 && x[2] > 0.01;
}

static double brightness(const double normal[3], const ray *r)
{
    const double facing = dot(normal, r->along) > 0.0 ? -1.0 : 1.0; // turned against the ray
    const double slant = facing * dot(normal, light);
    return slant > 0.0 ? ambient + diffuse * slant : ambient;
}

typedef struct view {
    double from[3], forward[3], right[3], up[3];
    int64_t grid; // samples along a side
    double pitch; // 1 / grid
} view;

static const double half_width = 0.57735026918962576; // tan 30 degrees: a field of 60

static view view_of(const double camera[3], int64_t size)
{
    view v = {.grid = size * RAYTRACE_SAMPLES, .pitch = 1.0 / (double)(size * RAYTRACE_SAMPLES)};
    const double z[3] = {0.0, 0.0, 1.0};
    for (int k = 0; k < 3; k++) v.from[k] = camera[k], v.forward[k] = -camera[k];
    normalise(v.forward);
    cross(v.right, v.forward, z);
    normalise(v.right);
    cross(v.up, v.right, v.forward);
    return v;
}

// How far from the middle of the picture a row or column of samples is, -1 to 1.
static double from_middle(const view *v, int64_t sample)
{
    return (double)(2 * sample + 1) * v->pitch - 1.0;
}

// Where in the grid an object can be seen: rows and columns first .. last.
typedef struct window {
    int64_t top, bottom, left, right;
} window;

// The tangents to the circle an upright sphere of radius r makes at (depth, across), as slopes.
static void tangents(int64_t *first, int64_t *last, double depth, double across, double r,
                     int64_t grid, double sign)
{
    *first = 0;
    *last = grid - 1;
    if (!(depth > 1.01 * r)) return; // too near to say
    const double span = depth * depth - r * r, root = r * sqrt(across * across + span);
    const double low = (depth * across - root) / span, high = (depth * across + root) / span;
    // slope s lies at sample ((sign s / half_width + 1) grid - 1) / 2
    const double a = (sign * low / half_width + 1.0) * 0.5 * (double)grid - 0.5;
    const double b = (sign * high / half_width + 1.0) * 0.5 * (double)grid - 0.5;
    const double from = floor(fmin(a, b)), to = ceil(fmax(a, b)), end = (double)(grid - 1);
    *first = (int64_t)fmin(fmax(from, 0.0), (double)grid);
    *last = (int64_t)fmax(fmin(to, end), -1.0);
}

static window window_of(const view *v, const raytrace_object *o)
{
    double r = 0.0, to[3];
    if (o->kind == RAYTRACE_SHAPE_SPHERE) r = o->size[0];
    else if (o->kind == RAYTRACE_SHAPE_CAPSULE) r = o->size[0] + o->size[2];
    else if (o->kind == RAYTRACE_SHAPE_CYLINDER) r = hypot(o->size[0], o->size[2]);
    else r = sqrt(dot(o->size, o->size));
    for (int k = 0; k < 3; k++) to[k] = o->center[k] - v->from[k];
    window w;
    const double depth = dot(to, v->forward);
    tangents(&w.left, &w.right, depth, dot(to, v->right), r, v->grid, 1.0);
    tangents(&w.top, &w.bottom, depth, dot(to, v->up), r, v->grid, -1.0);
    return w;
}

static void pixel(double rgb[3], const view *v, const raytrace_room_scene *room,
                  const window seen[RAYTRACE_OBJECTS], bool within, int64_t row, int64_t column)
{
    rgb[0] = rgb[1] = rgb[2] = 0.0;
    ray r = {.from = {v->from[0], v->from[1], v->from[2]}};
    for (int64_t i = row * RAYTRACE_SAMPLES; i < (row + 1) * RAYTRACE_SAMPLES; i++) {
        const double upward = -from_middle(v, i) * half_width;
        double line[3];
        for (int k = 0; k < 3; k++) line[k] = v->forward[k] + upward * v->up[k];
        for (int64_t j = column * RAYTRACE_SAMPLES; j < (column + 1) * RAYTRACE_SAMPLES; j++) {
            const double across = from_middle(v, j) * half_width;
            for (int k = 0; k < 3; k++) r.along[k] = line[k] + across * v->right[k];
            hit best = {.t = (double)INFINITY};
            if (within) floor_or_wall(&best, &r, room);
            else floor_and_walls(&best, &r, room);
            const double behind = best.t;
            for (int k = 0; k < RAYTRACE_OBJECTS; k++) {
                const window *w = &seen[k];
                if (i >= w->top && i <= w->bottom && j >= w->left && j <= w->right)
                    object(&best, &r, &room->object[k]);
            }
            if (best.t < behind) normalise(best.normal);
            const double *color = best.color ? best.color : room->sky;
            const double bright = best.color ? brightness(best.normal, &r) : 1.0;
            for (int k = 0; k < 3; k++) rgb[k] += color[k] * bright;
        }
    }
    for (int k = 0; k < 3; k++) rgb[k] /= RAYTRACE_SAMPLES * RAYTRACE_SAMPLES;
}

void raytrace_room_draw_ref(double *values, int64_t size, const raytrace_room_scene *room,
                            const double camera[3])
{
    const view v = view_of(camera, size);
    window everywhere[RAYTRACE_OBJECTS];
    for (int k = 0; k < RAYTRACE_OBJECTS; k++)
        everywhere[k] = (window){0, v.grid - 1, 0, v.grid - 1};
    for (int64_t r = 0; r < size; r++)
        for (int64_t c = 0; c < size; c++)
            pixel(values + 3 * (r * size + c), &v, room, everywhere, false, r, c);
}

void raytrace_room_draw(uint8_t *frame, int64_t size, const raytrace_room_scene *room,
                        const double camera[3])
{
    const view v = view_of(camera, size);
    window seen[RAYTRACE_OBJECTS];
    for (int k = 0; k < RAYTRACE_OBJECTS; k++) seen[k] = window_of(&v, &room->object[k]);
    const bool within = inside(camera, room);
    for (int64_t r = 0; r < size; r++)
        for (int64_t c = 0; c < size; c++) {
            double rgb[3];
            pixel(rgb, &v, room, seen, within, r, c);
            for (int k = 0; k < 3; k++) {
                const double value = 255.0 * rgb[k]; // a NaN becomes 0
                frame[3 * (r * size + c) + k] = value >= 255.0 ? 255
                                                : value > 0.0  ? (uint8_t)value
                                                               : 0;
            }
        }
}
