// SPDX-License-Identifier: MIT
// Ray tracer for balls and boxes. All arithmetic is in double and in a fixed order, so hidden
// objects leave no trace: two scenes that differ only in invisible objects give the same bytes. The
// probes of rooms/ rely on that.
//
// For speed, the empty floor is rendered once per camera. A part is tested only in the pixels of
// the rectangle around its corners, and shades the floor only in the rectangle of its footprint.
#include "worlds/render/raytrace_boxes.h"

#include <math.h>
#include <string.h>

#include "worlds/vec3.h"

static const double infinity = (double)INFINITY;
static const double tan_half_field = 0.41421356237309503; // of half the field, 22.5 degrees
static const double degree = 0x1.1df46a2529d39p-6;
static const double ambient = 0.25, headlight = 0.40, toplight = 0.35;
static const double shadow_offset = 1e-3; // distance of a shadow ray from the surface

// ---- the view ----

int64_t raytrace_boxes_view_size(int64_t size)
{
    const int64_t pixels = size * size;
    return pixels * (4 * 2 * (int64_t)sizeof(double) + 3 + 2 * (int64_t)sizeof(uint64_t)) +
           2 * size * (int64_t)sizeof(double);
}

void raytrace_boxes_view_init(raytrace_view *view, void *memory, int64_t size)
{
    const int64_t pixels = size * size;
    *view = (raytrace_view){.size = size};
    view->floor_distance = memory;
    view->inverse_length = view->floor_distance + 4 * pixels;
    view->offset = view->inverse_length + 4 * pixels;
    view->visible_parts = (uint64_t *)(void *)(view->offset + 2 * size);
    view->shadow_parts = view->visible_parts + pixels;
    view->empty_frame = (uint8_t *)(view->shadow_parts + pixels);
    for (int64_t i = 0; i < 2 * size; i++)
        view->offset[i] = ((double)(2 * i + 1) / (double)(2 * size) - 1.0) * tan_half_field;
    for (int64_t i = 0; i < 2 * size; i++)
        for (int64_t j = 0; j < 2 * size; j++) {
            const double x = view->offset[j], y = view->offset[i];
            view->inverse_length[2 * size * i + j] = 1.0 / sqrt(1.0 + x * x + y * y);
        }
}

// Colour index, 0 or 1, of the square at (x, y). Does not use floor(), which is slow without
// SSE 4.1.
static int find_square(const raytrace_floor *floor, double x, double y)
{
    const double shift = 1048576.0;
    const double a = x - floor->offset[0] + shift, b = y - floor->offset[1] + shift;
    if (!(a > 0.0 && a < 2.0 * shift && b > 0.0 && b < 2.0 * shift)) return 0;
    return (int)(((int64_t)a + (int64_t)b) & 1);
}

// Mean of four rays as a byte, rounded half up.
static uint8_t to_byte(double sum)
{
    const double value = sum * (255.0 / 4.0) + 0.5;
    return value >= 255.0 ? 255 : value > 0.0 ? (uint8_t)value : 0;
}

static const double haze[3] = {0.72, 0.78, 0.84}; // colour of a ray that does not hit the floor

// Colour of the floor at distance t along the ray d. The headlight falls in at the cosine
// -n.d = -d_z / |d|.
static void shade_floor(double rgb[3], const raytrace_view *view, double t, const double d[3],
                        double inverse_length, bool lit)
{
    if (!(t < infinity)) {
        memcpy(rgb, haze, sizeof haze);
        return;
    }
    const double *c = view->floor.color[find_square(&view->floor, view->position[0] + t * d[0],
                                                    view->position[1] + t * d[1])];
    const double light = ambient + headlight * (-d[2] * inverse_length) + (lit ? toplight : 0.0);
    for (int k = 0; k < 3; k++) rgb[k] = c[k] * light;
}

// Renders the floor without objects. A row of pixels is two rows of rays; `sums` holds the sums of
// the first until the second is done.
static void render_empty_frame(raytrace_view *view)
{
    const int64_t n = view->size;
    double sums[3 * RAYTRACE_BOXES_MAX_IMAGE];
    for (int64_t i = 0; i < 2 * n; i++) {
        double line[3];
        for (int k = 0; k < 3; k++) line[k] = view->forward[k] - view->offset[i] * view->up[k];
        // right[2] is 0, so the floor is at the same distance t along all rays of a row.
        const double t = line[2] < 0.0 ? -view->position[2] / line[2] : infinity;
        for (int64_t j = 0; j < 2 * n; j++) {
            double d[3], rgb[3];
            for (int k = 0; k < 3; k++) d[k] = line[k] + view->offset[j] * view->right[k];
            view->floor_distance[i * 2 * n + j] = t;
            shade_floor(rgb, view, t, d, view->inverse_length[i * 2 * n + j], true);
            double *sum = sums + 3 * (j / 2);
            for (int k = 0; k < 3; k++) sum[k] = i % 2 + j % 2 ? sum[k] + rgb[k] : rgb[k];
        }
        uint8_t *row = view->empty_frame + 3 * n * (i / 2);
        for (int64_t k = 0; k < 3 * n && i % 2; k++) row[k] = to_byte(sums[k]);
    }
}

void raytrace_boxes_view_aim(raytrace_view *view, const raytrace_camera *camera,
                             const raytrace_floor *floor)
{
    if (!memcmp(&view->camera, camera, sizeof *camera) &&
        !memcmp(&view->floor, floor, sizeof *floor))
        return;
    view->camera = *camera;
    view->floor = *floor;
    // Axes of the camera from azimuth and elevation.
    const double az = camera->azimuth * degree, el = camera->elevation * degree;
    const double ca = cos(az), sa = sin(az), ce = cos(el), se = sin(el);
    const double forward[3] = {ce * ca, ce * sa, se}, right[3] = {sa, -ca, 0.0},
                 up[3] = {-se * ca, -se * sa, ce};
    memcpy(view->forward, forward, sizeof forward);
    memcpy(view->right, right, sizeof right);
    memcpy(view->up, up, sizeof up);
    for (int k = 0; k < 3; k++) view->position[k] = camera->look[k] - camera->distance * forward[k];
    render_empty_frame(view);
}

// ---- pixels in which a part may be visible ----

typedef struct pixel_window {
    double left, right, top, bottom; // in pixels
} pixel_window;

static const pixel_window empty_window = {1e9, -1e9, 1e9, -1e9};

// Extends the window to include the projection of a point. A point next to or behind the camera
// extends it to the whole image.
static void extend_window(pixel_window *window, const raytrace_view *view, const double x[3])
{
    double to[3];
    for (int k = 0; k < 3; k++) to[k] = x[k] - view->position[k];
    const double depth = vec3_dot(to, view->forward), n = (double)view->size;
    if (depth < 0.05) {
        *window = (pixel_window){0.0, n, 0.0, n};
        return;
    }
    const double across = (vec3_dot(to, view->right) / depth / tan_half_field + 1.0) * 0.5 * n;
    const double down = (1.0 - vec3_dot(to, view->up) / depth / tan_half_field) * 0.5 * n;
    window->left = fmin(window->left, across);
    window->right = fmax(window->right, across);
    window->top = fmin(window->top, down);
    window->bottom = fmax(window->bottom, down);
}

// Corner `which` (0 to 7) of a box, or of the cube around a ball.
static void get_corner(double x[3], const raytrace_box_part *part, int which)
{
    memcpy(x, part->center, 3 * sizeof *x);
    for (int a = 0; a < 3; a++) {
        const double by = (which >> a & 1 ? 1.0 : -1.0) * part->half[part->ball ? 0 : a];
        for (int k = 0; k < 3; k++) x[k] += by * (part->ball ? (double)(k == a) : part->axis[a][k]);
    }
}

// Sets `bit` in all pixels of a window and one more on each side.
static void mark_window(uint64_t *out, int64_t size, const pixel_window *window, uint64_t bit)
{
    const double n = (double)size;
    const int64_t left = (int64_t)fmin(fmax(window->left - 1.0, 0.0), n),
                  right = (int64_t)fmin(fmax(window->right + 2.0, 0.0), n),
                  top = (int64_t)fmin(fmax(window->top - 1.0, 0.0), n),
                  bottom = (int64_t)fmin(fmax(window->bottom + 2.0, 0.0), n);
    for (int64_t r = top; r < bottom; r++)
        for (int64_t c = left; c < right; c++) out[r * size + c] |= bit;
}

// Marks the pixels of a part, and those of its shadow: its corners projected to the floor z = 0.
static void mark_part(raytrace_view *view, const raytrace_box_part *part, uint64_t bit)
{
    pixel_window body = empty_window, shadow = empty_window;
    for (int i = 0; i < 8; i++) {
        double x[3];
        get_corner(x, part, i);
        extend_window(&body, view, x);
        x[2] = 0.0;
        extend_window(&shadow, view, x);
    }
    mark_window(view->visible_parts, view->size, &body, bit);
    mark_window(view->shadow_parts, view->size, &shadow, bit);
}

// ---- rays ----

// The camera in the coordinates of a part.
typedef struct posed_part {
    const raytrace_box_part *part;
    double from[3], forward[3], right[3], up[3]; // boxes: components along the axes of the box
    double square;                               // balls: |from|^2 - radius^2
    double reach2;                               // square of the horizontal radius
} posed_part;

// Transforms the camera into the coordinates of a part, once per frame.
static posed_part pose_part(const raytrace_box_part *part, const raytrace_view *view)
{
    posed_part out = {.part = part};
    double off[3];
    for (int k = 0; k < 3; k++) off[k] = view->position[k] - part->center[k];
    for (int a = 0; a < 3; a++) {
        out.from[a] = part->ball ? off[a] : vec3_dot(part->axis[a], off);
        out.forward[a] = part->ball ? view->forward[a] : vec3_dot(part->axis[a], view->forward);
        out.right[a] = part->ball ? view->right[a] : vec3_dot(part->axis[a], view->right);
        out.up[a] = part->ball ? view->up[a] : vec3_dot(part->axis[a], view->up);
    }
    out.square = vec3_dot(out.from, out.from) - part->half[0] * part->half[0];
    out.reach2 = part->ball ? part->half[0] * part->half[0] : vec3_dot(part->half, part->half);
    return out;
}

// Distance t at which a ray enters a ball: the smaller root of |from + t d|^2 = radius^2. False if
// it misses. The camera is never inside.
static bool enter_ball(double *t, const posed_part *posed, const double d[3])
{
    const double a = vec3_dot(d, d), b = vec3_dot(posed->from, d),
                 discriminant = b * b - a * posed->square;
    if (discriminant < 0.0) return false;
    *t = (-b - sqrt(discriminant)) / a;
    return *t > 0.0;
}

// Slab method: the ray is inside the box between the last entry into and the first exit from the
// three slabs. `axis` is the slab that was entered last.
static bool enter_box(double *t, int *axis, const double from[3], const double d[3],
                      const double half[3])
{
    double enter = -infinity, leave = infinity;
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

// True if a candidate part is above x, between it and the light that shines straight down.
static bool is_shaded(const double x[3], const posed_part *parts, uint64_t candidates)
{
    for (; candidates; candidates &= candidates - 1) {
        const posed_part *posed = &parts[__builtin_ctzll(candidates)];
        const raytrace_box_part *part = posed->part;
        // Outside the vertical cylinder around the part.
        const double off[3] = {x[0] - part->center[0], x[1] - part->center[1],
                               x[2] - part->center[2]};
        const double wide = off[0] * off[0] + off[1] * off[1];
        if (wide >= posed->reach2) continue;
        if (part->ball) {
            if (sqrt(posed->reach2 - wide) > off[2]) return true;
            continue;
        }
        // Slab method for the upward ray, in the coordinates of the box.
        const double from[3] = {vec3_dot(part->axis[0], off), vec3_dot(part->axis[1], off),
                                vec3_dot(part->axis[2], off)};
        const double up[3] = {part->axis[0][2], part->axis[1][2], part->axis[2][2]};
        double enter = 0.0, leave = infinity;
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

// The nearest surface that a ray hits: a part, or the floor.
typedef struct ray_hit {
    const posed_part *part; // NULL: the floor
    int axis;               // boxes: normal of the face
    bool lit;               // floor: not in shadow
    double t, d[3];         // distance in units of |d|, and direction
    double local[3];        // direction in the coordinates of the part
} ray_hit;

// Traces ray (i, j) of the (2 size, 2 size) grid through the visible parts.
static void trace_ray(ray_hit *hit, const raytrace_view *view, const posed_part *parts,
                      uint64_t visible, uint64_t shadow, int64_t i, int64_t j)
{
    const double x = view->offset[j], y = -view->offset[i];
    *hit = (ray_hit){.t = view->floor_distance[i * 2 * view->size + j]};
    for (int k = 0; k < 3; k++) hit->d[k] = view->forward[k] + y * view->up[k] + x * view->right[k];
    for (; visible; visible &= visible - 1) {
        const posed_part *posed = &parts[__builtin_ctzll(visible)];
        double t, local[3];
        int axis = 0;
        for (int k = 0; k < 3; k++)
            local[k] = posed->forward[k] + x * posed->right[k] + y * posed->up[k];
        const bool met = posed->part->ball
                             ? enter_ball(&t, posed, local)
                             : enter_box(&t, &axis, posed->from, local, posed->part->half);
        if (!met || !(t < hit->t)) continue;
        hit->t = t;
        hit->part = posed;
        hit->axis = axis;
        memcpy(hit->local, local, sizeof local);
    }
    // The floor: is it in the shadow of a part?
    if (hit->part) return;
    const double ground[3] = {view->position[0] + hit->t * hit->d[0],
                              view->position[1] + hit->t * hit->d[1], shadow_offset};
    hit->lit = !(hit->t < infinity) || !is_shaded(ground, parts, shadow);
}

// The colour of a part at a point: one, or that of the cube it is in.
static const double *find_color(const raytrace_box_part *part, const double x[3])
{
    if (!(part->square_side > 0.0)) return part->color;
    const double shift = 4096.0,
                 off[3] = {x[0] - part->center[0], x[1] - part->center[1], x[2] - part->center[2]};
    int64_t sum = 0;
    for (int a = 0; a < 3; a++) {
        // Half a square off the centre, and slightly more, so that no face is a border.
        const double along = part->ball ? off[a] : vec3_dot(part->axis[a], off);
        const double at = along / part->square_side + shift + 0.5003;
        if (at > 0.0 && at < 2.0 * shift) sum += (int64_t)at;
    }
    return sum & 1 ? part->square_color : part->color;
}

// Colour of a part: ambient + headlight cos(angle to the ray) + top light cos(angle to z) if no
// part is above the point.
static void shade_part(double rgb[3], const raytrace_view *view, const posed_part *parts,
                       uint64_t all, const ray_hit *hit, double inverse_length)
{
    const raytrace_box_part *part = hit->part->part;
    double normal[3], x[3];
    for (int k = 0; k < 3; k++) x[k] = view->position[k] + hit->t * hit->d[k];
    if (part->ball) {
        for (int k = 0; k < 3; k++) normal[k] = (x[k] - part->center[k]) / part->half[0];
    } else {
        const double side = hit->local[hit->axis] > 0.0 ? -1.0 : 1.0;
        for (int k = 0; k < 3; k++) normal[k] = side * part->axis[hit->axis][k];
    }
    const double facing = -vec3_dot(normal, hit->d) * inverse_length;
    double light = ambient + headlight * (facing > 0.0 ? facing : 0.0);
    if (normal[2] > 0.0) {
        for (int k = 0; k < 3; k++) x[k] += shadow_offset * normal[k];
        if (!is_shaded(x, parts, all)) light += toplight * normal[2];
    }
    const double *color = find_color(part, x);
    for (int k = 0; k < 3; k++) rgb[k] = color[k] * light;
}

// Inputs that are the same for all pixels of a frame.
typedef struct frame_context {
    uint8_t *frame, *mask;
    const raytrace_view *view;
    const posed_part *parts;
    uint64_t all_parts; // bit mask
    bool skip_empty;    // the frame already contains the empty floor in full light
} frame_context;

// Renders one pixel from 2 x 2 rays. Only the parts in `visible` and `shadow` are tested.
static void render_pixel(const frame_context *context, uint64_t visible, uint64_t shadow,
                         int64_t row, int64_t column)
{
    const raytrace_view *view = context->view;
    ray_hit hits[4];
    bool empty = context->skip_empty;
    for (int s = 0; s < 4; s++) {
        trace_ray(&hits[s], view, context->parts, visible, shadow, 2 * row + s / 2,
                  2 * column + s % 2);
        empty &= !hits[s].part && hits[s].lit;
    }
    if (empty) return;
    // Mean colour of the four rays.
    double sum[3] = {0.0, 0.0, 0.0}, rgb[3];
    const int64_t pixel = row * view->size + column;
    for (int s = 0; s < 4; s++) {
        const double inverse_length =
            view->inverse_length[(2 * row + s / 2) * 2 * view->size + 2 * column + s % 2];
        if (hits[s].part)
            shade_part(rgb, view, context->parts, context->all_parts, &hits[s], inverse_length);
        else shade_floor(rgb, view, hits[s].t, hits[s].d, inverse_length, hits[s].lit);
        for (int k = 0; k < 3; k++) sum[k] += rgb[k];
    }
    context->mask[pixel] = hits[0].part ? hits[0].part->part->id : 0;
    for (int k = 0; k < 3; k++) context->frame[3 * pixel + k] = to_byte(sum[k]);
}

static uint64_t make_part_mask(int count)
{
    return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

void raytrace_boxes_draw(uint8_t *frame, uint8_t *mask, raytrace_view *view,
                         const raytrace_box_scene *scene)
{
    // Start from the empty floor.
    const int64_t pixels = view->size * view->size;
    posed_part parts[RAYTRACE_BOXES_MAX_PARTS];
    memcpy(frame, view->empty_frame, (size_t)pixels * 3);
    memset(mask, 0, (size_t)pixels);
    // Mark the pixels in which each part or its shadow may be visible.
    memset(view->visible_parts, 0, (size_t)pixels * sizeof *view->visible_parts);
    memset(view->shadow_parts, 0, (size_t)pixels * sizeof *view->shadow_parts);
    for (int i = 0; i < scene->count; i++) {
        parts[i] = pose_part(&scene->part[i], view);
        mark_part(view, &scene->part[i], (uint64_t)1 << i);
    }
    const frame_context context = {frame, mask, view, parts, make_part_mask(scene->count), true};
    for (int64_t row = 0; row < view->size; row++)
        for (int64_t column = 0; column < view->size; column++) {
            const uint64_t visible = view->visible_parts[row * view->size + column];
            const uint64_t shadow = view->shadow_parts[row * view->size + column];
            if (visible | shadow) render_pixel(&context, visible, shadow, row, column);
        }
}

void raytrace_boxes_draw_reference(uint8_t *frame, uint8_t *mask, raytrace_view *view,
                                   const raytrace_box_scene *scene)
{
    posed_part parts[RAYTRACE_BOXES_MAX_PARTS];
    for (int i = 0; i < scene->count; i++) parts[i] = pose_part(&scene->part[i], view);
    const uint64_t all = make_part_mask(scene->count);
    const frame_context context = {frame, mask, view, parts, all, false};
    for (int64_t row = 0; row < view->size; row++)
        for (int64_t column = 0; column < view->size; column++)
            render_pixel(&context, all, all, row, column);
}
