// SPDX-License-Identifier: MIT
// The figure of one trajectory: a strip of frames, below it the path through phase space, which
// gets darker with time, and if there is room the coordinates over time. Thin lines mark the times
// of the frames on the strip. All sizes are in pixels.
#define _GNU_SOURCE
#include "plumb/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/argument.h"
#include "base/array.h"
#include "base/options_struct.h"
#include "base/output_file.h"
#include "base/status.h"
#include "base/text.h"
#include "plot/axes.h"
#include "plot/drawing.h"
#include "plumb/world.h"
#include "report/options.h"
#include "report/tuple_figure.h"

enum {
    MARGIN = 30,
    GAP = 6,         // between frames
    FRAME = 96,      // about the width of a frame
    STRIP_TOP = 58,  // below the title
    CAPTION = 22,    // below a frame
    PANEL = 270,     // height and width of a portrait
    LEFT = 58,       // of a panel, for the numbers of the axis
    BOTTOM = 46,     // below a panel
    SPACE = 46,      // between the strip and the panels
    MIN_WIDTH = 640, // of the figure
};

// ---- data of an item ----

// All that the figure shows, read before anything is drawn.
typedef struct item_scene {
    arena mem;
    const plumb_world_info *world; // or NULL
    char name[64];                 // of the world, if the file has one
    int64_t item, steps;
    int64_t first; // index of the first item of the file in its world
    double *time;  // (steps)

    const uint8_t *rgb; // (shown, height, width, 3), upright
    int64_t shown, height, width;
    int64_t *which; // (shown) the steps on the strip
    int scale;      // pixels of the figure per pixel of a frame

    double *phase; // (steps, 2n)
    int64_t n;
    const char *const *names; // or NULL
    bool *turns;              // (n) positions that are angles and leave (-pi, pi]
} item_scene;

// Reads an array of the item as doubles, into the memory of the scene.
static plumb_status read_reals(double **out, plumb_array *shape, item_scene *scene,
                               plumb_dataset *dataset, const char *name)
{
    plumb_status st = plumb_dataset_read_field(shape, dataset, scene->item, name);
    if (st) return st;
    const int64_t count = plumb_array_count(shape);
    double *copy = ARENA_ALLOC(&scene->mem, double, count);
    if (!copy) return PLUMB_EMEMORY;
    plumb_array_to_double(copy, shape, 0, count);
    *out = copy;
    return PLUMB_OK;
}

// Only trajectory worlds have state names and a phase space.
static void find_world(item_scene *scene, plumb_dataset *dataset)
{
    const plumb_world *world;
    if (*plumb_dataset_world_name(scene->name, dataset) && !plumb_world_find(&world, scene->name) &&
        plumb_world_get_info(world)->kind == PLUMB_WORLD_TRAJECTORY)
        scene->world = plumb_world_get_info(world);
}

// Finds angles that leave (-pi, pi]. They are shown within one turn.
static plumb_status find_turning_angles(item_scene *scene)
{
    scene->turns = ARENA_ALLOC(&scene->mem, bool, scene->n);
    if (!scene->turns) return PLUMB_EMEMORY;
    for (int64_t i = 0; scene->names && scene->world->angles && i < scene->n; i++)
        for (int64_t t = 0; t < scene->steps && scene->world->angles[i]; t++)
            scene->turns[i] |= fabs(scene->phase[2 * scene->n * t + i]) > M_PI;
    return PLUMB_OK;
}

// Reads the canonical coordinates, or else the state.
static plumb_status read_phase(item_scene *scene, plumb_dataset *dataset)
{
    static const char *const fields[] = {"canonical", "state"};
    for (int i = 0; i < 2; i++) {
        plumb_array shape;
        if (!plumb_dataset_has_field(dataset, fields[i])) continue;
        const plumb_status st = read_reals(&scene->phase, &shape, scene, dataset, fields[i]);
        if (st) return st;
        if (shape.ndim != 2 || shape.shape[0] < 1 || shape.shape[1] < 2 || shape.shape[1] % 2)
            return fail(PLUMB_ESHAPE, "\"%s\" of an item must be (steps, 2n)", fields[i]);
        // q first, then p.
        scene->n = shape.shape[1] / 2;
        if (scene->steps < 1 || shape.shape[0] < scene->steps) scene->steps = shape.shape[0];
        if (scene->world && i == 0 && scene->world->canonical_n == scene->n) {
            scene->names = scene->world->canonical_names;
            return find_turning_angles(scene);
        }
        // Angles are known only for canonical coordinates, so here all entries become false.
        const plumb_status found = find_turning_angles(scene);
        if (scene->world && i == 1 && scene->world->n == scene->n)
            scene->names = scene->world->state_names;
        return found;
    }
    return PLUMB_OK;
}

// Reads the times of the file, or computes them from dt, or else counts frames.
static plumb_status read_time(item_scene *scene, plumb_dataset *dataset)
{
    plumb_array shape;
    if (plumb_dataset_has_field(dataset, "time")) {
        const plumb_status st = read_reals(&scene->time, &shape, scene, dataset, "time");
        if (st) return st;
        if (shape.ndim == 1 && shape.shape[0] >= scene->steps) return PLUMB_OK;
    }
    double *found = NULL;
    double dt = scene->world ? scene->world->dt : 1.0;
    if (plumb_dataset_has_field(dataset, "dt") &&
        !read_reals(&found, &shape, scene, dataset, "dt") && plumb_array_count(&shape) == 1)
        dt = found[0];
    // Times of frames: t dt.
    double *made = ARENA_ALLOC(&scene->mem, double, scene->steps);
    if (!made) return PLUMB_EMEMORY;
    for (int64_t t = 0; t < scene->steps; t++) made[t] = (double)t * dt;
    scene->time = made;
    return PLUMB_OK;
}

// True if row 0 of a frame is the top: by the file, else by its world, else true.
static bool is_upright(item_scene *scene, plumb_dataset *dataset)
{
    plumb_array shape;
    double *value;
    if (plumb_dataset_has_field(dataset, "upright") &&
        !read_reals(&value, &shape, scene, dataset, "upright") && plumb_array_count(&shape) >= 1)
        return value[0] != 0.0;
    return !scene->world || scene->world->upright;
}

// Copies the chosen frames as RGB, row 0 at the top.
static plumb_status copy_frames(item_scene *scene, const plumb_array *video, bool upright)
{
    const int64_t channels = video->shape[3], row = scene->width * channels;
    uint8_t *rgb = arena_alloc(&scene->mem, scene->shown * scene->height * scene->width, 3);
    if (!rgb) return PLUMB_EMEMORY;
    scene->rgb = rgb;
    for (int64_t k = 0; k < scene->shown; k++)
        for (int64_t y = 0; y < scene->height; y++) {
            const int64_t from = upright ? y : scene->height - 1 - y;
            const uint8_t *in =
                (const uint8_t *)video->data + (scene->which[k] * scene->height + from) * row;
            for (int64_t x = 0; x < scene->width; x++, in += channels)
                // Gray frames are repeated in all three channels.
                for (int c = 0; c < 3; c++) *rgb++ = in[channels < 3 ? 0 : c];
        }
    return PLUMB_OK;
}

// Chooses `wanted` frames, evenly spaced from the first to the last, and reads them.
static plumb_status read_frames(item_scene *scene, plumb_dataset *dataset, int64_t wanted)
{
    plumb_array video;
    if (!plumb_dataset_has_field(dataset, "frames")) return PLUMB_OK;
    const bool upright = is_upright(scene, dataset);
    const plumb_status st = plumb_dataset_read_field(&video, dataset, scene->item, "frames");
    if (st) return st;
    if (video.dtype != PLUMB_UINT8 || video.ndim != 4 || plumb_array_count(&video) < 1 ||
        video.shape[1] > 4096 || video.shape[2] > 4096)
        return fail(PLUMB_ESHAPE, "\"frames\" of an item must be bytes (steps, height, width, "
                                  "channels), frames of at most 4096 x 4096");
    if (scene->steps < 1 || video.shape[0] < scene->steps) scene->steps = video.shape[0];
    scene->height = video.shape[1];
    scene->width = video.shape[2];
    scene->shown = wanted < scene->steps ? wanted : scene->steps;
    scene->which = ARENA_ALLOC(&scene->mem, int64_t, scene->shown);
    if (!scene->which) return PLUMB_EMEMORY;
    // Rounded to the nearest step.
    for (int64_t k = 0; k < scene->shown; k++)
        scene->which[k] = scene->shown == 1 ? 0
                                            : (k * (scene->steps - 1) + (scene->shown - 1) / 2) /
                                                  (scene->shown - 1);
    scene->scale = (int)(FRAME / scene->width);
    if (scene->scale < 1) scene->scale = 1;
    return copy_frames(scene, &video, upright);
}

// ---- curves ----

// Catmull-Rom spline through b and c, with neighbours a and d.
static double interpolate_spline(double a, double b, double c, double d, double t)
{
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

// Points between two steps of a curve, and pieces of a path that differ in color.
enum { SUBSTEPS = 5, TONES = 24 };

// One coordinate of a curve.
typedef struct curve_column {
    const double *values;
    int64_t stride, count; // elements from one value to the next; number of values
    double jump;           // a larger difference interrupts the curve
    bool turns;            // an angle, shown within one turn
} curve_column;

static double get_value(const curve_column *column, int64_t i)
{
    return column->values[i * column->stride];
}

// No curve from point i to the next: one of them does not exist, or they are too far apart.
static bool has_jump(const curve_column *column, int64_t i)
{
    return i < 0 || i + 1 >= column->count ||
           !(fabs(get_value(column, i + 1) - get_value(column, i)) <= column->jump);
}

// A value between point i and the next, 0 <= t <= 1. A neighbour that is missing or beyond a jump
// is replaced by linear extrapolation.
static double interpolate_column(const curve_column *column, int64_t i, double t)
{
    const double p = get_value(column, i), q = get_value(column, i + 1);
    const double before = has_jump(column, i - 1) ? 2 * p - q : get_value(column, i - 1);
    const double after = has_jump(column, i + 1) ? 2 * q - p : get_value(column, i + 2);
    const double result = interpolate_spline(before, p, q, after, t);
    return column->turns ? remainder(result, 2 * M_PI) : result;
}

// An angle has no jumps: it is stored unwrapped, and its turns are found by crosses_turn().
static curve_column make_column(const double *values, int64_t stride, int64_t count, axes_span span,
                                bool turns)
{
    return (curve_column){values, stride, count, turns ? 1e300 : 0.5 * (span.high - span.low),
                          turns};
}

// An angle jumps from one end of its turn to the other.
static bool crosses_turn(const curve_column *column, double from, double to)
{
    return column->turns && fabs(to - from) > M_PI;
}

// Computes a smooth curve through the points of two columns. It is interrupted (NaN) at jumps, for
// example where a periodic box wraps around or an angle completes a turn. Returns the number of
// points.
static int64_t trace_curve(double *out, const axes_panel *panel, const curve_column *x,
                           const curve_column *y)
{
    int64_t n = 0;
    bool down = false; // the curve is not interrupted
    double last[2] = {0};
    for (int64_t i = 0; i + 1 < x->count; i++) {
        const bool open = has_jump(x, i) || has_jump(y, i);
        // From the second piece on, k = 0 is the last point of the piece before.
        for (int k = down; k <= SUBSTEPS && !open; k++, n++) {
            const double at[2] = {interpolate_column(x, i, (double)k / SUBSTEPS),
                                  interpolate_column(y, i, (double)k / SUBSTEPS)};
            if (down && (crosses_turn(x, last[0], at[0]) || crosses_turn(y, last[1], at[1]))) {
                out[2 * n] = out[2 * n + 1] = (double)NAN;
                n++;
            }
            out[2 * n] = axes_x(panel, at[0]);
            out[2 * n + 1] = axes_y(panel, at[1]);
            memcpy(last, at, sizeof last);
            down = true;
        }
        if (open && down) {
            out[2 * n] = out[2 * n + 1] = (double)NAN;
            n++;
            down = false;
        }
    }
    return n;
}

// Color of the path at time t, 0 to 1: from light to dark.
static drawing_color get_tone(double t)
{
    const drawing_color a = drawing_rgb(0x9fd3e6), b = drawing_rgb(PALETTE_BLUE),
                        c = drawing_rgb(0x123a5e);
    const drawing_color *from = t < 0.5 ? &a : &b, *to = t < 0.5 ? &b : &c;
    const float u = (float)(t < 0.5 ? 2 * t : 2 * t - 1);
    return (drawing_color){from->r + u * (to->r - from->r), from->g + u * (to->g - from->g),
                           from->b + u * (to->b - from->b)};
}

// Draws the path of one pair (q, p) through phase space.
static void draw_portrait(drawing *canvas, const item_scene *scene, axes_panel *panel, int64_t pair,
                          double *points)
{
    const double *q = scene->phase + pair, *momentum = scene->phase + scene->n + pair;
    const int64_t stride = 2 * scene->n;
    char across[32], up[32];
    if (scene->names) {
        snprintf(across, sizeof across, "%s", scene->names[pair]);
        snprintf(up, sizeof up, "%s", scene->names[scene->n + pair]);
    } else {
        snprintf(across, sizeof across, scene->n == 1 ? "q" : "q%lld", (long long)pair + 1);
        snprintf(up, sizeof up, scene->n == 1 ? "p" : "p%lld", (long long)pair + 1);
    }
    panel->across = scene->turns[pair] ? axes_angle() : axes_span_of(q, scene->steps, stride, 5);
    panel->up = axes_span_of(momentum, scene->steps, stride, 5);
    axes_draw(canvas, panel, across, up);
    const curve_column x = make_column(q, stride, scene->steps, panel->across, scene->turns[pair]);
    const curve_column y = make_column(momentum, stride, scene->steps, panel->up, false);
    const int64_t count = trace_curve(points, panel, &x, &y);
    // The path in pieces, from light to dark.
    for (int64_t i = 0; i < TONES; i++) {
        const int64_t from = i * count / TONES, to = (i + 1) * count / TONES + 1;
        if (to - from > 1)
            canvas->path(canvas, points + 2 * from, (to < count ? to : count) - from, 1.8,
                         get_tone(((double)i + 0.5) / TONES));
    }
    // A red dot marks the start.
    const double start = scene->turns[pair] ? remainder(q[0], 2 * M_PI) : q[0];
    canvas->disc(canvas, axes_x(panel, start), axes_y(panel, momentum[0]), 4.5,
                 drawing_rgb(PALETTE_RED));
    // The legend is drawn once.
    if (pair) return;
    canvas->disc(canvas, panel->x + panel->w - 38, panel->y - 14, 4.5, drawing_rgb(PALETTE_RED));
    canvas->text(canvas, panel->x + panel->w - 28, panel->y - 10, 13, DRAWING_LEFT,
                 drawing_rgb(PALETTE_PALE), "start");
}

// Draws coordinates over time: q and p of one pair, or the q of two pairs.
static void draw_series(drawing *canvas, const item_scene *scene, axes_panel *panel, double *points)
{
    const int64_t stride = 2 * scene->n;
    const int colors[2] = {PALETTE_BLUE, PALETTE_ORANGE};
    char label[32];
    panel->across = axes_span_of(scene->time, scene->steps, 1, (int)(panel->w / 90) + 1);
    // The time axis ends at the first and last time, without a margin.
    panel->across.low = fmin(scene->time[0], scene->time[scene->steps - 1]);
    panel->across.high = fmax(scene->time[0], scene->time[scene->steps - 1]);
    if (panel->across.high <= panel->across.low) panel->across.high = panel->across.low + 1;
    const bool turns[2] = {scene->turns[0], scene->n > 1 && scene->turns[1]};
    const axes_span a =
        turns[0] ? axes_angle() : axes_span_of(scene->phase, scene->steps, stride, 5);
    const axes_span b =
        turns[1] ? axes_angle() : axes_span_of(scene->phase + 1, scene->steps, stride, 5);
    panel->up = (axes_span){.low = fmin(a.low, b.low), .high = fmax(a.high, b.high)};
    panel->up.step = axes_step(panel->up.high - panel->up.low, 5);
    axes_draw(canvas, panel, "t", NULL);
    // Marks at the times of the frames.
    for (int64_t i = 0; i < scene->shown; i++) {
        const double x = axes_x(panel, scene->time[scene->which[i]]);
        axes_line(canvas, x, panel->y + panel->h - 6, x, panel->y + panel->h, PALETTE_PALE);
    }
    for (int i = 0; i < 2; i++) {
        const curve_column x = make_column(scene->time, 1, scene->steps, panel->across, false);
        const curve_column y =
            make_column(scene->phase + i, stride, scene->steps, panel->up, turns[i]);
        const int64_t count = trace_curve(points, panel, &x, &y);
        canvas->path(canvas, points, count, 1.8, drawing_rgb(colors[i]));
    }
    for (int i = 0; i < 2; i++) {
        if (scene->names) snprintf(label, sizeof label, "%s", scene->names[i]);
        else if (scene->n == 1) snprintf(label, sizeof label, "%s", i ? "p" : "q");
        else snprintf(label, sizeof label, "q%d", i + 1);
        const double x = panel->x + 6 + 74 * i;
        const double bar[] = {x, panel->y - 14, x + 18, panel->y - 14};
        canvas->path(canvas, bar, 2, 2.2, drawing_rgb(colors[i]));
        canvas->text(canvas, x + 26, panel->y - 10, 15, DRAWING_LEFT, drawing_rgb(PALETTE_INK),
                     label);
    }
}

// ---- layout ----

typedef struct page_layout {
    double width, height, panels; // y of the panels
    int portraits;
    bool series;
} page_layout;

// Chooses the size of the figure and which panels it has.
static page_layout arrange_page(const item_scene *scene)
{
    page_layout layout = {.width = MIN_WIDTH, .panels = STRIP_TOP};
    if (scene->shown) {
        const double strip =
            (double)(scene->shown * (scene->width * scene->scale + GAP) - GAP) + 2 * MARGIN;
        layout.width = fmax(layout.width, strip);
        layout.panels += (double)(scene->height * scene->scale) + CAPTION + SPACE;
    } else {
        layout.panels += 20;
    }
    layout.height = layout.panels - SPACE + 12;
    if (!scene->phase) return layout;
    // As many portraits as fit beside each other, at most three pairs.
    layout.portraits = scene->n == 1 ? 1 : scene->n == 2 ? 2 : 3;
    while (layout.portraits > 1 && layout.portraits * (PANEL + LEFT) + 2 * MARGIN > layout.width)
        layout.portraits--;
    layout.series =
        scene->n <= 2 && layout.width - layout.portraits * (PANEL + LEFT) - 2 * MARGIN - LEFT > 160;
    layout.height = layout.panels + PANEL + BOTTOM + 14;
    return layout;
}

// Draws the frames, with their times.
static void draw_strip(drawing *canvas, const item_scene *scene)
{
    char label[48];
    const double step = (double)(scene->width * scene->scale + GAP);
    for (int64_t i = 0; i < scene->shown; i++) {
        const double x = MARGIN + (double)i * step;
        canvas->picture(canvas, x, STRIP_TOP, scene->scale,
                        scene->rgb + i * scene->height * scene->width * 3, scene->width,
                        scene->height);
        text_format(label, sizeof label, "%s%.4g", i ? "" : "t = ", scene->time[scene->which[i]]);
        canvas->text(canvas, x + (step - GAP) / 2,
                     STRIP_TOP + (double)(scene->height * scene->scale) + 17, 13, DRAWING_MIDDLE,
                     drawing_rgb(PALETTE_PALE), label);
    }
}

// Draws the name of the world, and the item, frames and dt.
static void draw_title(drawing *canvas, const item_scene *scene, const page_layout *layout)
{
    char line[160];
    const char *name = scene->name[0] ? scene->name : "trajectory";
    canvas->text(canvas, MARGIN, 36, 22, DRAWING_LEFT, drawing_rgb(PALETTE_INK), name);
    const double dt = scene->steps > 1 ? scene->time[1] - scene->time[0] : 0.0;
    text_format(line, sizeof line, "item %lld, %lld frames, dt = %.4g",
                (long long)(scene->first + scene->item), (long long)scene->steps, dt);
    if (scene->phase && layout->portraits < scene->n && !(scene->n == 2 && layout->series)) {
        const size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, "; %d of %lld pairs", layout->portraits,
                 (long long)scene->n);
    }
    canvas->text(canvas, layout->width - MARGIN, 36, 14, DRAWING_RIGHT, drawing_rgb(PALETTE_PALE),
                 line);
}

static plumb_status draw_scene(drawing *canvas, item_scene *scene, const page_layout *layout)
{
    // Room for x and y of all points between steps, and for interruptions.
    double *points = ARENA_ALLOC(&scene->mem, double, 4 * (SUBSTEPS + 2) * (scene->steps + 2));
    if (!points) return PLUMB_EMEMORY;
    draw_title(canvas, scene, layout);
    draw_strip(canvas, scene);
    double x = MARGIN + LEFT;
    for (int i = 0; i < layout->portraits; i++, x += PANEL + LEFT) {
        axes_panel panel = {.x = x, .y = layout->panels, .w = PANEL, .h = PANEL};
        draw_portrait(canvas, scene, &panel, i, points);
    }
    if (layout->series) {
        axes_panel panel = {
            .x = x, .y = layout->panels, .w = layout->width - MARGIN - x, .h = PANEL};
        draw_series(canvas, scene, &panel, points);
    }
    return PLUMB_OK;
}

static plumb_status write_bytes(const char *path, const buffer *bytes)
{
    return output_file_write_all(path, bytes->data, bytes->size);
}

// Reads all that the figure shows.
static plumb_status read_scene(item_scene *scene, plumb_dataset *dataset,
                               const plumb_item_figure_options *opt)
{
    plumb_array shape;
    double *first;
    if (plumb_dataset_is_shared(dataset, "first") &&
        !read_reals(&first, &shape, scene, dataset, "first") && plumb_array_count(&shape) == 1)
        scene->first = (int64_t)first[0];
    find_world(scene, dataset);
    plumb_status st = read_phase(scene, dataset);
    if (!st) st = read_frames(scene, dataset, opt->frames ? opt->frames : 10);
    if (!st && !scene->phase && !scene->rgb)
        st = fail(PLUMB_EFILE, "the item has no frames, no state and no canonical coordinates");
    return st ? st : read_time(scene, dataset);
}

// Reads, lays out and draws one trajectory. `out` is its size in pixels.
static plumb_status draw_item(plumb_image_size *out, buffer *bytes, plumb_dataset *dataset,
                              int64_t item, const plumb_item_figure_options *opt, bool svg)
{
    item_scene scene = {.item = item, .steps = opt->steps};
    drawing *canvas = NULL;
    plumb_status st = read_scene(&scene, dataset, opt);
    const page_layout layout = st ? (page_layout){0} : arrange_page(&scene);
    const int64_t width = (int64_t)layout.width, height = (int64_t)layout.height;
    if (!st)
        // The same calls draw vectors (SVG) or pixels (PNG).
        st = (svg ? svg_create : canvas_create)(&canvas, width, height, drawing_rgb(PALETTE_PAPER));
    if (!st) st = draw_scene(canvas, &scene, &layout);
    if (!st) st = canvas->finish(bytes, canvas);
    if (canvas) canvas->free(canvas);
    arena_clear(&scene.mem);
    *out = (plumb_image_size){width, height};
    return st;
}

plumb_status plumb_item_figure_save(plumb_image_size *out, const char *path, plumb_dataset *dataset,
                                    int64_t item, const plumb_item_figure_options *given)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(path);
    REQUIRE_ARGUMENT(dataset);
    plumb_item_figure_options opt = plumb_item_figure_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, given, "plumb_item_figure_options");
    if (st) return st;
    const size_t length = strlen(path);
    const bool svg = length > 4 && !strcasecmp(path + length - 4, ".svg");
    if (!svg && !(length > 4 && !strcasecmp(path + length - 4, ".png")))
        return fail(PLUMB_EFILE, "%s: the name must end in .png or .svg", path);
    st = options_check_ranges(&item_figure_option_table, &opt);
    if (st) return st;
    plumb_image_size size = {0};
    buffer bytes = {0};
    // A tuple of four clips has a figure of its own.
    st = tuple_figure_applies(dataset, item)
             ? tuple_figure_draw(&size, &bytes, dataset, item, &opt, svg)
             : draw_item(&size, &bytes, dataset, item, &opt, svg);
    if (!st) st = write_bytes(path, &bytes);
    buffer_clear(&bytes);
    if (!st) *out = size;
    return st;
}
