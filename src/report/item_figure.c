// SPDX-License-Identifier: MIT
// One trajectory on one page: a film strip, below it the path through phase space, which grows
// darker with time, and where there is room the coordinates over time. Thin lines mark the times of
// the frames on the strip.
#define _GNU_SOURCE
#include "plumb/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
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
    FRAME = 96,      // about how large a frame is shown
    STRIP_TOP = 58,  // below the title
    CAPTION = 22,    // below a frame
    PANEL = 270,     // height and width of a portrait
    LEFT = 58,       // of a panel: numbers of the axis
    BOTTOM = 46,     // below a panel
    SPACE = 46,      // between the strip and the panels
    NARROWEST = 640, // of a picture
};

// ---- what is shown ----

typedef struct scene {
    arena mem;
    const plumb_world_info *world; // or NULL
    char name[64];                 // of the world, if the file has one
    int64_t item, steps;
    int64_t first; // number of the file's first item in its world
    double *time;  // (steps)

    const uint8_t *rgb; // (shown, height, width, 3), upright
    int64_t shown, height, width;
    int64_t *which; // the steps on the strip
    int scale;

    double *phase; // (steps, 2n)
    int64_t n;
    const char *const *names; // or NULL
    bool *turns;              // (n) positions that are angles and leave (-pi, pi]
} scene;

// An array of the item as doubles in the scene's memory.
static plumb_status read_reals(double **out, plumb_array *shape, scene *s, plumb_dataset *d,
                               const char *name)
{
    plumb_status st = plumb_dataset_read_field(shape, d, s->item, name);
    if (st) return st;
    const int64_t count = plumb_array_count(shape);
    double *copy = ARENA_ALLOC(&s->mem, double, count);
    if (!copy) return PLUMB_EMEMORY;
    plumb_array_to_double(copy, shape, 0, count);
    *out = copy;
    return PLUMB_OK;
}

static void find_world(scene *s, plumb_dataset *d)
{
    const plumb_world *world;
    if (*plumb_dataset_world_name(s->name, d) && !plumb_world_find(&world, s->name) &&
        plumb_world_get_info(world)->kind == PLUMB_WORLD_TRAJECTORY)
        s->world = plumb_world_get_info(world);
}

// An angle that turns round and round is shown within one turn.
static plumb_status find_turns(scene *s)
{
    s->turns = ARENA_ALLOC(&s->mem, bool, s->n);
    if (!s->turns) return PLUMB_EMEMORY;
    for (int64_t i = 0; s->names && s->world->angles && i < s->n; i++)
        for (int64_t t = 0; t < s->steps && s->world->angles[i]; t++)
            s->turns[i] |= fabs(s->phase[2 * s->n * t + i]) > M_PI;
    return PLUMB_OK;
}

static plumb_status find_phase(scene *s, plumb_dataset *d)
{
    static const char *const fields[] = {"canonical", "state"};
    for (int i = 0; i < 2; i++) {
        plumb_array shape;
        if (!plumb_dataset_has_field(d, fields[i])) continue;
        const plumb_status st = read_reals(&s->phase, &shape, s, d, fields[i]);
        if (st) return st;
        if (shape.ndim != 2 || shape.shape[0] < 1 || shape.shape[1] < 2 || shape.shape[1] % 2)
            return fail(PLUMB_ESHAPE, "\"%s\" of an item has to be (steps, 2n)", fields[i]);
        s->n = shape.shape[1] / 2;
        if (s->steps < 1 || shape.shape[0] < s->steps) s->steps = shape.shape[0];
        if (s->world && i == 0 && s->world->canonical_n == s->n) {
            s->names = s->world->canonical_names;
            return find_turns(s);
        }
        const plumb_status found = find_turns(s);
        if (s->world && i == 1 && s->world->n == s->n) s->names = s->world->state_names;
        return found;
    }
    return PLUMB_OK;
}

// Times from the file, else from the time between frames, else frames are counted.
static plumb_status find_time(scene *s, plumb_dataset *d)
{
    plumb_array shape;
    if (plumb_dataset_has_field(d, "time")) {
        const plumb_status st = read_reals(&s->time, &shape, s, d, "time");
        if (st) return st;
        if (shape.ndim == 1 && shape.shape[0] >= s->steps) return PLUMB_OK;
    }
    double *found = NULL;
    double dt = s->world ? s->world->dt : 1.0;
    if (plumb_dataset_has_field(d, "dt") && !read_reals(&found, &shape, s, d, "dt") &&
        plumb_array_count(&shape) == 1)
        dt = found[0];
    double *made = ARENA_ALLOC(&s->mem, double, s->steps);
    if (!made) return PLUMB_EMEMORY;
    for (int64_t t = 0; t < s->steps; t++) made[t] = (double)t * dt;
    s->time = made;
    return PLUMB_OK;
}

static bool is_upright(scene *s, plumb_dataset *d)
{
    plumb_array shape;
    double *value;
    if (plumb_dataset_has_field(d, "upright") && !read_reals(&value, &shape, s, d, "upright") &&
        plumb_array_count(&shape) >= 1)
        return value[0] != 0.0;
    return !s->world || s->world->upright;
}

// The chosen frames as RGB, row 0 at the top.
static plumb_status take_frames(scene *s, const plumb_array *film, bool upright)
{
    const int64_t channels = film->shape[3], row = s->width * channels;
    uint8_t *rgb = arena_alloc(&s->mem, s->shown * s->height * s->width, 3);
    if (!rgb) return PLUMB_EMEMORY;
    s->rgb = rgb;
    for (int64_t k = 0; k < s->shown; k++)
        for (int64_t y = 0; y < s->height; y++) {
            const int64_t from = upright ? y : s->height - 1 - y;
            const uint8_t *in =
                (const uint8_t *)film->data + (s->which[k] * s->height + from) * row;
            for (int64_t x = 0; x < s->width; x++, in += channels)
                for (int c = 0; c < 3; c++) *rgb++ = in[channels < 3 ? 0 : c];
        }
    return PLUMB_OK;
}

static plumb_status find_frames(scene *s, plumb_dataset *d, int64_t wanted)
{
    plumb_array film;
    if (!plumb_dataset_has_field(d, "frames")) return PLUMB_OK;
    const bool upright = is_upright(s, d);
    const plumb_status st = plumb_dataset_read_field(&film, d, s->item, "frames");
    if (st) return st;
    if (film.dtype != PLUMB_UINT8 || film.ndim != 4 || plumb_array_count(&film) < 1 ||
        film.shape[1] > 4096 || film.shape[2] > 4096)
        return fail(PLUMB_ESHAPE, "\"frames\" of an item has to be bytes (steps, height, width, "
                                  "channels), frames of at most 4096 x 4096");
    if (s->steps < 1 || film.shape[0] < s->steps) s->steps = film.shape[0];
    s->height = film.shape[1];
    s->width = film.shape[2];
    s->shown = wanted < s->steps ? wanted : s->steps;
    s->which = ARENA_ALLOC(&s->mem, int64_t, s->shown);
    if (!s->which) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < s->shown; k++)
        s->which[k] =
            s->shown == 1 ? 0 : (k * (s->steps - 1) + (s->shown - 1) / 2) / (s->shown - 1);
    s->scale = (int)(FRAME / s->width);
    if (s->scale < 1) s->scale = 1;
    return take_frames(s, &film, upright);
}

// ---- curves ----

static double spline(double a, double b, double c, double d, double t)
{
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

enum { FINE = 5, TONES = 24 };

// One coordinate of a curve: a column of numbers, an angle or not, and what counts as a jump.
typedef struct column {
    const double *v;
    int64_t stride, count;
    double jump;
    bool turns;
} column;

static double value(const column *c, int64_t i)
{
    return c->v[i * c->stride];
}

static bool jumps(const column *c, int64_t i)
{
    return i < 0 || i + 1 >= c->count || !(fabs(value(c, i + 1) - value(c, i)) <= c->jump);
}

// Between point i and the next one. Where a neighbour is missing or beyond a jump the curve goes
// on straight.
static double between(const column *c, int64_t i, double t)
{
    const double p = value(c, i), q = value(c, i + 1);
    const double before = jumps(c, i - 1) ? 2 * p - q : value(c, i - 1);
    const double after = jumps(c, i + 1) ? 2 * q - p : value(c, i + 2);
    const double v = spline(before, p, q, after, t);
    return c->turns ? remainder(v, 2 * M_PI) : v;
}

static column column_of(const double *v, int64_t stride, int64_t count, axes_span r, bool turns)
{
    return (column){v, stride, count, turns ? 1e300 : 0.5 * (r.high - r.low), turns};
}

static bool folds(const column *c, double from, double to)
{
    return c->turns && fabs(to - from) > M_PI;
}

// A smooth line through the points of two columns, left open where one of them jumps, as where a
// box wraps around or an angle has gone full circle. Returns how many points there are.
static int64_t trace(double *out, const axes_panel *p, const column *x, const column *y)
{
    int64_t n = 0;
    bool down = false; // the pen
    double last[2] = {0};
    for (int64_t i = 0; i + 1 < x->count; i++) {
        const bool open = jumps(x, i) || jumps(y, i);
        for (int k = down; k <= FINE && !open; k++, n++) {
            const double at[2] = {between(x, i, (double)k / FINE), between(y, i, (double)k / FINE)};
            if (down && (folds(x, last[0], at[0]) || folds(y, last[1], at[1]))) {
                out[2 * n] = out[2 * n + 1] = (double)NAN;
                n++;
            }
            out[2 * n] = axes_x(p, at[0]);
            out[2 * n + 1] = axes_y(p, at[1]);
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

static drawing_color tone(double t)
{
    const drawing_color a = drawing_rgb(0x9fd3e6), b = drawing_rgb(PALETTE_BLUE),
                        c = drawing_rgb(0x123a5e);
    const drawing_color *from = t < 0.5 ? &a : &b, *to = t < 0.5 ? &b : &c;
    const float u = (float)(t < 0.5 ? 2 * t : 2 * t - 1);
    return (drawing_color){from->r + u * (to->r - from->r), from->g + u * (to->g - from->g),
                           from->b + u * (to->b - from->b)};
}

static void draw_portrait(drawing *k, const scene *s, axes_panel *p, int64_t pair, double *points)
{
    const double *q = s->phase + pair, *momentum = s->phase + s->n + pair;
    const int64_t stride = 2 * s->n;
    char across[32], up[32];
    if (s->names) {
        snprintf(across, sizeof across, "%s", s->names[pair]);
        snprintf(up, sizeof up, "%s", s->names[s->n + pair]);
    } else {
        snprintf(across, sizeof across, s->n == 1 ? "q" : "q%lld", (long long)pair + 1);
        snprintf(up, sizeof up, s->n == 1 ? "p" : "p%lld", (long long)pair + 1);
    }
    p->across = s->turns[pair] ? axes_angle() : axes_span_of(q, s->steps, stride, 5);
    p->up = axes_span_of(momentum, s->steps, stride, 5);
    axes_draw(k, p, across, up);
    const column x = column_of(q, stride, s->steps, p->across, s->turns[pair]);
    const column y = column_of(momentum, stride, s->steps, p->up, false);
    const int64_t count = trace(points, p, &x, &y);
    for (int64_t i = 0; i < TONES; i++) {
        const int64_t from = i * count / TONES, to = (i + 1) * count / TONES + 1;
        if (to - from > 1)
            k->path(k, points + 2 * from, (to < count ? to : count) - from, 1.8,
                    tone(((double)i + 0.5) / TONES));
    }
    const double start = s->turns[pair] ? remainder(q[0], 2 * M_PI) : q[0];
    k->disc(k, axes_x(p, start), axes_y(p, momentum[0]), 4.5, drawing_rgb(PALETTE_RED));
    if (pair) return;
    k->disc(k, p->x + p->w - 38, p->y - 14, 4.5, drawing_rgb(PALETTE_RED));
    k->text(k, p->x + p->w - 28, p->y - 10, 13, DRAWING_LEFT, drawing_rgb(PALETTE_PALE), "start");
}

// Over time: q and p of one pair, or both q of two.
static void draw_series(drawing *k, const scene *s, axes_panel *p, double *points)
{
    const int64_t stride = 2 * s->n;
    const int colors[2] = {PALETTE_BLUE, PALETTE_ORANGE};
    char label[32];
    p->across = axes_span_of(s->time, s->steps, 1, (int)(p->w / 90) + 1);
    p->across.low = fmin(s->time[0], s->time[s->steps - 1]);
    p->across.high = fmax(s->time[0], s->time[s->steps - 1]);
    if (p->across.high <= p->across.low) p->across.high = p->across.low + 1;
    const bool turns[2] = {s->turns[0], s->n > 1 && s->turns[1]};
    const axes_span a = turns[0] ? axes_angle() : axes_span_of(s->phase, s->steps, stride, 5);
    const axes_span b = turns[1] ? axes_angle() : axes_span_of(s->phase + 1, s->steps, stride, 5);
    p->up = (axes_span){.low = fmin(a.low, b.low), .high = fmax(a.high, b.high)};
    p->up.step = axes_step(p->up.high - p->up.low, 5);
    axes_draw(k, p, "t", NULL);
    for (int64_t i = 0; i < s->shown; i++) {
        const double x = axes_x(p, s->time[s->which[i]]);
        axes_line(k, x, p->y + p->h - 6, x, p->y + p->h, PALETTE_PALE);
    }
    for (int i = 0; i < 2; i++) {
        const column x = column_of(s->time, 1, s->steps, p->across, false);
        const column y = column_of(s->phase + i, stride, s->steps, p->up, turns[i]);
        const int64_t count = trace(points, p, &x, &y);
        k->path(k, points, count, 1.8, drawing_rgb(colors[i]));
    }
    for (int i = 0; i < 2; i++) {
        if (s->names) snprintf(label, sizeof label, "%s", s->names[i]);
        else if (s->n == 1) snprintf(label, sizeof label, "%s", i ? "p" : "q");
        else snprintf(label, sizeof label, "q%d", i + 1);
        const double x = p->x + 6 + 74 * i;
        const double bar[] = {x, p->y - 14, x + 18, p->y - 14};
        k->path(k, bar, 2, 2.2, drawing_rgb(colors[i]));
        k->text(k, x + 26, p->y - 10, 15, DRAWING_LEFT, drawing_rgb(PALETTE_INK), label);
    }
}

// ---- the page ----

typedef struct page {
    double width, height, panels; // where the panels begin
    int portraits;
    bool series;
} page;

static page lay_out(const scene *s)
{
    page p = {.width = NARROWEST, .panels = STRIP_TOP};
    if (s->shown) {
        const double strip = (double)(s->shown * (s->width * s->scale + GAP) - GAP) + 2 * MARGIN;
        p.width = fmax(p.width, strip);
        p.panels += (double)(s->height * s->scale) + CAPTION + SPACE;
    } else {
        p.panels += 20;
    }
    p.height = p.panels - SPACE + 12;
    if (!s->phase) return p;
    p.portraits = s->n == 1 ? 1 : s->n == 2 ? 2 : 3;
    while (p.portraits > 1 && p.portraits * (PANEL + LEFT) + 2 * MARGIN > p.width) p.portraits--;
    p.series = s->n <= 2 && p.width - p.portraits * (PANEL + LEFT) - 2 * MARGIN - LEFT > 160;
    p.height = p.panels + PANEL + BOTTOM + 14;
    return p;
}

static void draw_strip(drawing *k, const scene *s)
{
    char label[48];
    const double step = (double)(s->width * s->scale + GAP);
    for (int64_t i = 0; i < s->shown; i++) {
        const double x = MARGIN + (double)i * step;
        k->picture(k, x, STRIP_TOP, s->scale, s->rgb + i * s->height * s->width * 3, s->width,
                   s->height);
        text_format(label, sizeof label, "%s%.4g", i ? "" : "t = ", s->time[s->which[i]]);
        k->text(k, x + (step - GAP) / 2, STRIP_TOP + (double)(s->height * s->scale) + 17, 13,
                DRAWING_MIDDLE, drawing_rgb(PALETTE_PALE), label);
    }
}

static void draw_title(drawing *k, const scene *s, const page *p)
{
    char line[160];
    const char *name = s->name[0] ? s->name : "trajectory";
    k->text(k, MARGIN, 36, 22, DRAWING_LEFT, drawing_rgb(PALETTE_INK), name);
    const double dt = s->steps > 1 ? s->time[1] - s->time[0] : 0.0;
    text_format(line, sizeof line, "item %lld, %lld frames, dt = %.4g",
                (long long)(s->first + s->item), (long long)s->steps, dt);
    if (s->phase && p->portraits < s->n && !(s->n == 2 && p->series)) {
        const size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, "; %d of %lld pairs", p->portraits,
                 (long long)s->n);
    }
    k->text(k, p->width - MARGIN, 36, 14, DRAWING_RIGHT, drawing_rgb(PALETTE_PALE), line);
}

static plumb_status draw(drawing *k, scene *s, const page *p)
{
    double *points = ARENA_ALLOC(&s->mem, double, 4 * (FINE + 2) * (s->steps + 2));
    if (!points) return PLUMB_EMEMORY;
    draw_title(k, s, p);
    draw_strip(k, s);
    double x = MARGIN + LEFT;
    for (int i = 0; i < p->portraits; i++, x += PANEL + LEFT) {
        axes_panel field = {.x = x, .y = p->panels, .w = PANEL, .h = PANEL};
        draw_portrait(k, s, &field, i, points);
    }
    if (p->series) {
        axes_panel field = {.x = x, .y = p->panels, .w = p->width - MARGIN - x, .h = PANEL};
        draw_series(k, s, &field, points);
    }
    return PLUMB_OK;
}

static plumb_status save(const char *path, const buffer *bytes)
{
    return output_file_write_all(path, bytes->data, bytes->size);
}

static plumb_status gather(scene *s, plumb_dataset *d, const plumb_item_figure_options *opt)
{
    plumb_array shape;
    double *first;
    if (plumb_dataset_is_shared(d, "first") && !read_reals(&first, &shape, s, d, "first") &&
        plumb_array_count(&shape) == 1)
        s->first = (int64_t)first[0];
    find_world(s, d);
    plumb_status st = find_phase(s, d);
    if (!st) st = find_frames(s, d, opt->frames ? opt->frames : 10);
    if (!st && !s->phase && !s->rgb)
        st =
            fail(PLUMB_EFILE, "there are no frames, no state and no canonical coordinates to show");
    return st ? st : find_time(s, d);
}

static plumb_status draw_one(plumb_image_size *out, buffer *bytes, plumb_dataset *dataset,
                             int64_t item, const plumb_item_figure_options *opt, bool svg)
{
    scene s = {.item = item, .steps = opt->steps};
    drawing *k = NULL;
    plumb_status st = gather(&s, dataset, opt);
    const page p = st ? (page){0} : lay_out(&s);
    const int64_t width = (int64_t)p.width, height = (int64_t)p.height;
    if (!st) st = (svg ? svg_create : canvas_create)(&k, width, height, drawing_rgb(PALETTE_PAPER));
    if (!st) st = draw(k, &s, &p);
    if (!st) st = k->finish(bytes, k);
    if (k) k->free(k);
    arena_clear(&s.mem);
    *out = (plumb_image_size){width, height};
    return st;
}

plumb_status plumb_item_figure_save(plumb_image_size *out, const char *path, plumb_dataset *dataset,
                                    int64_t item, const plumb_item_figure_options *given)
{
    plumb_item_figure_options opt = plumb_item_figure_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, given, "plumb_item_figure_options");
    if (st) return st;
    const size_t length = strlen(path);
    const bool svg = length > 4 && !strcasecmp(path + length - 4, ".svg");
    if (!svg && !(length > 4 && !strcasecmp(path + length - 4, ".png")))
        return fail(PLUMB_EFILE, "%s: the name ends in neither .png nor .svg", path);
    st = options_check_ranges(&item_figure_option_table, &opt);
    if (st) return st;
    plumb_image_size film = {0};
    buffer bytes = {0};
    st = tuple_figure_applies(dataset, item)
             ? tuple_figure_draw(&film, &bytes, dataset, item, &opt, svg)
             : draw_one(&film, &bytes, dataset, item, &opt, svg);
    if (!st) st = save(path, &bytes);
    buffer_clear(&bytes);
    if (!st) *out = film;
    return st;
}
