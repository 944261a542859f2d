// SPDX-License-Identifier: MIT
// Ray tracer of the camera worlds. The data of [Higgins21] were rendered by MuJoCo from a scene
// that is not public. This scene is a substitute that is bit-identical on every machine.
//
// For speed, an object is tested only by the rays in the rectangle around its bounding sphere. From
// inside the arena a ray is tested against one plane, not five. A ray into a corner of the arena
// may then hit the other wall by rounding, which affects one sample of sixteen.
#include "worlds/render/raytrace_arena.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "worlds/vec3.h"

static const double min_distance = 1e-9; // hits nearer than this are the start of the ray
static const double ambient = 0.4, diffuse = 0.6;
// (0.3, 0.2, 0.9) normalised
static const double light[3] = {0.30942637387763413, 0.2062842492517561, 0.9282791216329026};

// Points from + t direction, t > 0. The direction is not normalised.
typedef struct scene_ray {
    double from[3], direction[3];
} scene_ray;

typedef struct ray_hit {
    double t, normal[3];
    const double *color;
} ray_hit;

// Replaces `best` by this hit if it is nearer.
static void keep_nearest(ray_hit *best, double t, double nx, double ny, double nz,
                         const double *color)
{
    if (!(t > min_distance && t < best->t)) return;
    *best = (ray_hit){t, {nx, ny, nz}, color};
}

// Both roots of a t^2 + 2 b t + c = 0, |from + t d - center|^2 = radius^2. Only heights low to high
// above the centre count, for the ends of a capsule.
static void hit_sphere(ray_hit *best, const scene_ray *ray, const double center[3], double radius,
                       double low, double high, const double *color)
{
    double o[3];
    for (int k = 0; k < 3; k++) o[k] = ray->from[k] - center[k];
    const double a = vec3_dot(ray->direction, ray->direction), b = vec3_dot(o, ray->direction),
                 c = vec3_dot(o, o) - radius * radius;
    const double discriminant = b * b - a * c;
    if (discriminant < 0.0) return;
    const double root = sqrt(discriminant);
    for (int side = -1; side <= 1; side += 2) {
        const double t = (-b + side * root) / a, z = o[2] + t * ray->direction[2];
        if (z < low || z > high) continue;
        keep_nearest(best, t, o[0] + t * ray->direction[0], o[1] + t * ray->direction[1], z, color);
    }
}

// The side of an upright cylinder of height 2 half: the same equation in x and y.
static void hit_cylinder_side(ray_hit *best, const scene_ray *ray, const double center[3],
                              double radius, double half, const double *color)
{
    const double ox = ray->from[0] - center[0], oy = ray->from[1] - center[1];
    const double dx = ray->direction[0], dy = ray->direction[1];
    const double a = dx * dx + dy * dy, b = ox * dx + oy * dy,
                 c = ox * ox + oy * oy - radius * radius;
    const double discriminant = b * b - a * c;
    if (discriminant < 0.0 || a == 0.0) return;
    const double root = sqrt(discriminant);
    for (int side = -1; side <= 1; side += 2) {
        const double t = (-b + side * root) / a;
        if (fabs(ray->from[2] + t * ray->direction[2] - center[2]) > half) continue;
        keep_nearest(best, t, ox + t * dx, oy + t * dy, 0.0, color);
    }
}

// The flat end of a cylinder at height z.
static void hit_cylinder_lid(ray_hit *best, const scene_ray *ray, const double center[3],
                             double radius, double z, const double *color)
{
    if (ray->direction[2] == 0.0) return;
    const double t = (z - ray->from[2]) / ray->direction[2];
    const double x = ray->from[0] + t * ray->direction[0] - center[0];
    const double y = ray->from[1] + t * ray->direction[1] - center[1];
    if (x * x + y * y <= radius * radius) keep_nearest(best, t, 0.0, 0.0, 1.0, color);
}

// Slab method in the coordinates of the box: the ray is inside between the last entry and the first
// exit.
static void hit_box(ray_hit *best, const scene_ray *ray, const raytrace_object *object)
{
    const double c = object->heading[0], s = object->heading[1];
    const double px = ray->from[0] - object->center[0], py = ray->from[1] - object->center[1];
    const double from[3] = {c * px + s * py, -s * px + c * py, ray->from[2] - object->center[2]};
    const double along[3] = {c * ray->direction[0] + s * ray->direction[1],
                             -s * ray->direction[0] + c * ray->direction[1], ray->direction[2]};
    double enter = -(double)INFINITY, leave = (double)INFINITY;
    int enter_axis = 0, leave_axis = 0;
    for (int k = 0; k < 3; k++) {
        if (along[k] == 0.0) {
            if (fabs(from[k]) > object->size[k]) return;
            continue;
        }
        const double t1 = (-object->size[k] - from[k]) / along[k],
                     t2 = (object->size[k] - from[k]) / along[k];
        const double first = t1 < t2 ? t1 : t2, last = t1 < t2 ? t2 : t1;
        if (first > enter) enter = first, enter_axis = k;
        if (last < leave) leave = last, leave_axis = k;
    }
    if (enter > leave) return;
    const bool outside = enter > min_distance;
    const int axis = outside ? enter_axis : leave_axis;
    const double n[3] = {axis == 0, axis == 1, axis == 2};
    keep_nearest(best, outside ? enter : leave, c * n[0] - s * n[1], s * n[0] + c * n[1], n[2],
                 object->color);
}

// Tests the surfaces that an object consists of.
static void hit_object(ray_hit *best, const scene_ray *ray, const raytrace_object *object)
{
    const double half = object->size[2], all = (double)INFINITY;
    double end[3] = {object->center[0], object->center[1], object->center[2]};
    switch (object->kind) {
    case RAYTRACE_SHAPE_SPHERE:
        hit_sphere(best, ray, object->center, object->size[0], -all, all, object->color);
        break;
    case RAYTRACE_SHAPE_CAPSULE:
        hit_cylinder_side(best, ray, object->center, object->size[0], half, object->color);
        end[2] = object->center[2] + half;
        hit_sphere(best, ray, end, object->size[0], 0.0, all, object->color);
        end[2] = object->center[2] - half;
        hit_sphere(best, ray, end, object->size[0], -all, 0.0, object->color);
        break;
    case RAYTRACE_SHAPE_CYLINDER:
        hit_cylinder_side(best, ray, object->center, object->size[0], half, object->color);
        hit_cylinder_lid(best, ray, object->center, object->size[0], object->center[2] + half,
                         object->color);
        hit_cylinder_lid(best, ray, object->center, object->size[0], object->center[2] - half,
                         object->color);
        break;
    case RAYTRACE_SHAPE_BOX: hit_box(best, ray, object); break;
    }
}

// Floor and walls, for a camera anywhere.
static void hit_floor_and_walls(ray_hit *best, const scene_ray *ray, const raytrace_arena *arena)
{
    if (ray->direction[2] != 0.0) {
        const double t = -ray->from[2] / ray->direction[2];
        if (fabs(ray->from[0] + t * ray->direction[0]) <= arena->half &&
            fabs(ray->from[1] + t * ray->direction[1]) <= arena->half)
            keep_nearest(best, t, 0.0, 0.0, 1.0, arena->floor);
    }
    for (int k = 0; k < 2; k++) {
        if (ray->direction[k] == 0.0) continue;
        for (int side = -1; side <= 1; side += 2) {
            const double t = (side * arena->half - ray->from[k]) / ray->direction[k];
            const double z = ray->from[2] + t * ray->direction[2];
            if (z < 0.0 || z > arena->height ||
                fabs(ray->from[1 - k] + t * ray->direction[1 - k]) > arena->half)
                continue;
            keep_nearest(best, t, k == 0, k == 1, 0.0, arena->wall);
        }
    }
}

// The same from inside the arena: the ray leaves through the nearest of three planes.
static void hit_from_inside(ray_hit *best, const scene_ray *ray, const raytrace_arena *arena)
{
    const double *o = ray->from, *d = ray->direction, far = (double)INFINITY;
    const double tx = d[0] != 0.0 ? (copysign(arena->half, d[0]) - o[0]) / d[0] : far;
    const double ty = d[1] != 0.0 ? (copysign(arena->half, d[1]) - o[1]) / d[1] : far;
    const double tz = d[2] < 0.0 ? -o[2] / d[2] : far;
    const double wall = tx < ty ? tx : ty;
    if (tz <= wall) *best = (ray_hit){tz, {0.0, 0.0, 1.0}, arena->floor};
    else if (o[2] + wall * d[2] <= arena->height)
        *best = (ray_hit){wall, {tx <= ty, tx > ty, 0.0}, arena->wall};
}

// True if the camera is inside the arena, away from its walls and floor.
static bool is_inside(const double x[3], const raytrace_arena *arena)
{
    return fabs(x[0]) < arena->half - 0.01 && fabs(x[1]) < arena->half - 0.01 && x[2] > 0.01;
}

// Lambert's law: ambient + diffuse cos(angle between normal and light).
static double compute_brightness(const double normal[3], const scene_ray *ray)
{
    const double facing =
        vec3_dot(normal, ray->direction) > 0.0 ? -1.0 : 1.0; // normal towards the camera
    const double slant = facing * vec3_dot(normal, light);
    return slant > 0.0 ? ambient + diffuse * slant : ambient;
}

typedef struct arena_view {
    double from[3], forward[3], right[3], up[3];
    int64_t grid; // samples along a side of the image
    double pitch; // 1 / grid
} arena_view;

static const double half_width = 0.57735026918962576; // tan 30 degrees: field of view 60 degrees

// Axes of a camera that looks at the origin, with z up.
static arena_view make_view(const double camera[3], int64_t size)
{
    arena_view view = {.grid = size * RAYTRACE_SAMPLES,
                       .pitch = 1.0 / (double)(size * RAYTRACE_SAMPLES)};
    const double z[3] = {0.0, 0.0, 1.0};
    for (int k = 0; k < 3; k++) view.from[k] = camera[k], view.forward[k] = -camera[k];
    vec3_normalise(view.forward);
    vec3_cross(view.right, view.forward, z);
    vec3_normalise(view.right);
    vec3_cross(view.up, view.right, view.forward);
    return view;
}

// Distance of a row or column of samples from the middle of the image, -1 to 1.
static double get_sample_offset(const arena_view *view, int64_t sample)
{
    return (double)(2 * sample + 1) * view->pitch - 1.0;
}

// Samples in which an object may be visible; both ends are included.
typedef struct sample_window {
    int64_t top, bottom, left, right;
} sample_window;

// Range of samples that a sphere covers along one axis: the two tangents from the camera to the
// circle of `radius` at (depth, across).
static void find_tangents(int64_t *first, int64_t *last, double depth, double across, double radius,
                          int64_t grid, double sign)
{
    *first = 0;
    *last = grid - 1;
    if (!(depth > 1.01 * radius)) return; // too near: all samples
    const double span = depth * depth - radius * radius,
                 root = radius * sqrt(across * across + span);
    const double low = (depth * across - root) / span, high = (depth * across + root) / span;
    // A slope s is at sample ((sign s / half_width + 1) grid - 1) / 2.
    const double a = (sign * low / half_width + 1.0) * 0.5 * (double)grid - 0.5;
    const double b = (sign * high / half_width + 1.0) * 0.5 * (double)grid - 0.5;
    const double from = floor(fmin(a, b)), to = ceil(fmax(a, b)), end = (double)(grid - 1);
    *first = (int64_t)fmin(fmax(from, 0.0), (double)grid);
    *last = (int64_t)fmax(fmin(to, end), -1.0);
}

// Window of the bounding sphere of an object.
static sample_window find_window(const arena_view *view, const raytrace_object *object)
{
    double radius = 0.0, to[3];
    if (object->kind == RAYTRACE_SHAPE_SPHERE) radius = object->size[0];
    else if (object->kind == RAYTRACE_SHAPE_CAPSULE) radius = object->size[0] + object->size[2];
    else if (object->kind == RAYTRACE_SHAPE_CYLINDER)
        radius = hypot(object->size[0], object->size[2]);
    else radius = sqrt(vec3_dot(object->size, object->size));
    for (int k = 0; k < 3; k++) to[k] = object->center[k] - view->from[k];
    sample_window window;
    const double depth = vec3_dot(to, view->forward);
    find_tangents(&window.left, &window.right, depth, vec3_dot(to, view->right), radius, view->grid,
                  1.0);
    find_tangents(&window.top, &window.bottom, depth, vec3_dot(to, view->up), radius, view->grid,
                  -1.0);
    return window;
}

// Mean colour of 4 x 4 rays.
static void render_pixel(double rgb[3], const arena_view *view, const raytrace_arena *arena,
                         const sample_window windows[RAYTRACE_OBJECTS], bool from_inside,
                         int64_t row, int64_t column)
{
    rgb[0] = rgb[1] = rgb[2] = 0.0;
    scene_ray ray = {.from = {view->from[0], view->from[1], view->from[2]}};
    for (int64_t i = row * RAYTRACE_SAMPLES; i < (row + 1) * RAYTRACE_SAMPLES; i++) {
        const double upward = -get_sample_offset(view, i) * half_width;
        double line[3];
        for (int k = 0; k < 3; k++) line[k] = view->forward[k] + upward * view->up[k];
        for (int64_t j = column * RAYTRACE_SAMPLES; j < (column + 1) * RAYTRACE_SAMPLES; j++) {
            const double across = get_sample_offset(view, j) * half_width;
            for (int k = 0; k < 3; k++) ray.direction[k] = line[k] + across * view->right[k];
            ray_hit best = {.t = (double)INFINITY};
            if (from_inside) hit_from_inside(&best, &ray, arena);
            else hit_floor_and_walls(&best, &ray, arena);
            const double behind = best.t;
            for (int k = 0; k < RAYTRACE_OBJECTS; k++) {
                const sample_window *window = &windows[k];
                if (i >= window->top && i <= window->bottom && j >= window->left &&
                    j <= window->right)
                    hit_object(&best, &ray, &arena->object[k]);
            }
            if (best.t < behind) vec3_normalise(best.normal);
            const double *color = best.color ? best.color : arena->sky;
            const double bright = best.color ? compute_brightness(best.normal, &ray) : 1.0;
            for (int k = 0; k < 3; k++) rgb[k] += color[k] * bright;
        }
    }
    for (int k = 0; k < 3; k++) rgb[k] /= RAYTRACE_SAMPLES * RAYTRACE_SAMPLES;
}

void raytrace_arena_draw_reference(double *values, int64_t size, const raytrace_arena *arena,
                                   const double camera[3])
{
    const arena_view view = make_view(camera, size);
    sample_window everywhere[RAYTRACE_OBJECTS];
    for (int k = 0; k < RAYTRACE_OBJECTS; k++)
        everywhere[k] = (sample_window){0, view.grid - 1, 0, view.grid - 1};
    for (int64_t r = 0; r < size; r++)
        for (int64_t c = 0; c < size; c++)
            render_pixel(values + 3 * (r * size + c), &view, arena, everywhere, false, r, c);
}

void raytrace_arena_draw(uint8_t *frame, int64_t size, const raytrace_arena *arena,
                         const double camera[3])
{
    const arena_view view = make_view(camera, size);
    sample_window windows[RAYTRACE_OBJECTS];
    for (int k = 0; k < RAYTRACE_OBJECTS; k++) windows[k] = find_window(&view, &arena->object[k]);
    const bool from_inside = is_inside(camera, arena);
    for (int64_t r = 0; r < size; r++)
        for (int64_t c = 0; c < size; c++) {
            double rgb[3];
            render_pixel(rgb, &view, arena, windows, from_inside, r, c);
            for (int k = 0; k < 3; k++) {
                const double value = 255.0 * rgb[k]; // a NaN becomes 0
                frame[3 * (r * size + c) + k] = value >= 255.0 ? 255
                                                : value > 0.0  ? (uint8_t)value
                                                               : 0;
            }
        }
}
