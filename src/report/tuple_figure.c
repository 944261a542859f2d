// SPDX-License-Identifier: MIT
// The figure of a tuple: two possible clips, and below them two impossible ones. A bar under every
// frame says which of the possible clips has the same frame at that time: the first, the second, or
// both. A red line marks where an impossible clip changes from one to the other. This is found by
// comparing bytes, so it works for any probe file. All sizes are in pixels.
#include "report/tuple_figure.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/status.h"
#include "base/text.h"

enum {
    CLIPS = 4,
    MAX_CUTS = 8,
    MARGIN = 30,
    GAP = 6,
    TOP = 62,     // below the title
    LABEL = 20,   // above a strip
    BAR = 5,      // height of the bar
    BELOW = 18,   // below a strip
    CAPTION = 24, // below all of them
    MAX_WIDTH = 1400,
};

static const int ink = 0x2f3437, pale = 0x8a9299, paper = 0xffffff, red = 0xd1495b;
static const int tones[4] = {0x2f3437, 0x2a7fb8, 0xe07b39, 0xc9d1d6}; // neither, A, B, both
static const char *const titles[CLIPS] = {"possible 1", "possible 2", "impossible 1",
                                          "impossible 2"};

typedef struct clip_tuple {
    arena mem;
    const uint8_t *frames; // (4, steps, height, width, channels)
    int64_t steps, height, width, channels, bytes;
    int64_t item, shown, *which;
    int64_t first;          // index of the first item of the file
    int64_t cuts[MAX_CUTS]; // of the file
    int64_t cut_count;
    int *sources; // (4, steps): bit 0, equal to possible 1 at that time; bit 1, to possible 2
    char title[64];
    double dt;
    int scale;
    bool upright;
} clip_tuple;

// Reads four clips of bytes.
static plumb_status read_frames(plumb_array *out, plumb_dataset *dataset, int64_t item)
{
    const plumb_status st = plumb_dataset_read_field(out, dataset, item, "frames");
    if (st) return st;
    const bool fits = out->dtype == PLUMB_UINT8 && out->ndim == 5 && out->shape[0] == CLIPS &&
                      plumb_array_count(out) > 0 && out->shape[2] <= 4096 && out->shape[3] <= 4096;
    return fits ? PLUMB_OK : fail(PLUMB_ESHAPE, "\"frames\" of an item is not four clips");
}

bool tuple_figure_applies(plumb_dataset *dataset, int64_t item)
{
    plumb_array frames;
    return plumb_dataset_has_field(dataset, "frames") && !read_frames(&frames, dataset, item);
}

static const uint8_t *get_frame(const clip_tuple *tuple, int64_t clip, int64_t t)
{
    return tuple->frames + (clip * tuple->steps + t) * tuple->bytes;
}

// Reads a shared number of the file; `fallback` if it has none.
static double read_number(plumb_dataset *dataset, const char *name, double fallback)
{
    plumb_array array;
    double value;
    if (!plumb_dataset_is_shared(dataset, name) ||
        plumb_dataset_read_field(&array, dataset, 0, name) || plumb_array_count(&array) != 1)
        return fallback;
    plumb_array_to_double(&value, &array, 0, 1);
    return value;
}

// Reads the cuts of the file, if it has them. Negative values mean no cut.
static void find_cuts(clip_tuple *tuple, plumb_dataset *dataset)
{
    plumb_array array;
    // A shared value would not belong to this tuple.
    if (!plumb_dataset_has_field(dataset, "cut") || plumb_dataset_is_shared(dataset, "cut") ||
        plumb_dataset_read_field(&array, dataset, tuple->item, "cut") ||
        plumb_array_count(&array) > MAX_CUTS)
        return;
    for (int64_t i = 0; i < plumb_array_count(&array); i++) {
        double at;
        plumb_array_to_double(&at, &array, i, 1);
        if (at >= 0.0 && at < (double)tuple->steps) tuple->cuts[tuple->cut_count++] = (int64_t)at;
    }
}

// Reads all that the figure shows, and compares all frames with those of the possible clips.
static plumb_status read_tuple(clip_tuple *tuple, plumb_dataset *dataset,
                               const plumb_item_figure_options *opt)
{
    plumb_array array;
    plumb_status st = read_frames(&array, dataset, tuple->item);
    if (st) return st;
    tuple->frames = array.data;
    tuple->steps = array.shape[1];
    tuple->height = array.shape[2];
    tuple->width = array.shape[3];
    tuple->channels = array.shape[4];
    tuple->bytes = tuple->height * tuple->width * tuple->channels;
    tuple->dt = read_number(dataset, "dt", 1.0);
    tuple->upright = read_number(dataset, "upright", 1.0) != 0.0;
    tuple->first = (int64_t)read_number(dataset, "first", 0.0);
    if (!*plumb_dataset_world_name(tuple->title, dataset))
        snprintf(tuple->title, sizeof tuple->title, "tuple");
    const int64_t steps = opt->steps && opt->steps < tuple->steps ? opt->steps : tuple->steps;
    const int64_t max_frames = opt->frames ? opt->frames : 20;
    tuple->shown = max_frames < steps ? max_frames : steps;
    tuple->which = ARENA_ALLOC(&tuple->mem, int64_t, tuple->shown);
    tuple->sources = ARENA_ALLOC(&tuple->mem, int, CLIPS * tuple->steps);
    if (!tuple->which || !tuple->sources) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < tuple->shown; k++)
        tuple->which[k] =
            tuple->shown == 1 ? 0 : (k * (steps - 1) + (tuple->shown - 1) / 2) / (tuple->shown - 1);
    // Which possible clips have the same frame at the same time.
    for (int64_t clip = 0; clip < CLIPS; clip++)
        for (int64_t t = 0; t < tuple->steps; t++)
            for (int k = 0; k < 2; k++)
                if (!memcmp(get_frame(tuple, clip, t), get_frame(tuple, k, t),
                            (size_t)tuple->bytes))
                    tuple->sources[clip * tuple->steps + t] |= 1 << k;
    find_cuts(tuple, dataset);
    // The largest scale that fits.
    for (tuple->scale = 8; tuple->scale > 1; tuple->scale--)
        if (tuple->shown * (tuple->width * tuple->scale + GAP) + 2 * MARGIN <= MAX_WIDTH) break;
    return PLUMB_OK;
}

// The last time before `clip` changes to the other possible clip, later than `after`: the middle of
// the frames that both have. -1 if it does not change.
static int64_t find_next_cut(const clip_tuple *tuple, int64_t clip, int64_t after)
{
    const int *from = tuple->sources + clip * tuple->steps;
    int current = 0;
    int64_t shared = after + 1;
    for (int64_t t = after + 1; t < tuple->steps; t++) {
        // Frames that both possible clips have, or neither, do not say which one is shown.
        if (from[t] != 1 && from[t] != 2) continue;
        if (current && from[t] != current) return shared < t ? (shared + t - 1) / 2 : t - 1;
        current = from[t];
        shared = t + 1;
    }
    return -1;
}

static void draw_line(drawing *canvas, double x, double y0, double y1)
{
    const double points[] = {x, y0, x, y1};
    canvas->path(canvas, points, 2, 2.4, drawing_rgb(red));
}

static double get_strip_height(const clip_tuple *tuple)
{
    return LABEL + (double)(tuple->height * tuple->scale) + BELOW;
}

// x of a cut on the strip: after the last frame shown that is not later than the cut.
static double get_cut_x(const clip_tuple *tuple, int64_t cut)
{
    int64_t k = 0;
    while (k < tuple->shown && tuple->which[k] <= cut) k++;
    return MARGIN + (double)k * (double)(tuple->width * tuple->scale + GAP) - 0.5 * GAP;
}

// Draws the cuts of the file, or else those found by comparing bytes.
static void draw_cuts(drawing *canvas, const clip_tuple *tuple, int64_t clip, double top,
                      double bottom)
{
    for (int64_t i = 0; i < tuple->cut_count; i++)
        draw_line(canvas, get_cut_x(tuple, tuple->cuts[i]), top, bottom);
    for (int64_t cut = -1; !tuple->cut_count;) {
        const int64_t next = find_next_cut(tuple, clip, cut);
        if (next <= cut) break;
        draw_line(canvas, get_cut_x(tuple, next), top, bottom);
        cut = next;
    }
}

// Draws the frames of one clip, with bars and cuts.
static plumb_status draw_strip(drawing *canvas, clip_tuple *tuple, int64_t clip)
{
    const double y = TOP + (double)clip * get_strip_height(tuple);
    const double step = (double)(tuple->width * tuple->scale + GAP);
    const double size = (double)(tuple->height * tuple->scale);
    uint8_t *rgb = arena_alloc(&tuple->mem, tuple->height * tuple->width, 3);
    if (!rgb) return PLUMB_EMEMORY;
    canvas->text(canvas, MARGIN, y + 14, 14, DRAWING_LEFT, drawing_rgb(clip < 2 ? ink : red),
                 titles[clip]);
    for (int64_t i = 0; i < tuple->shown; i++) {
        const double x = MARGIN + (double)i * step;
        const uint8_t *in = get_frame(tuple, clip, tuple->which[i]);
        uint8_t *to = rgb;
        for (int64_t r = 0; r < tuple->height; r++) {
            const uint8_t *at =
                in + (tuple->upright ? r : tuple->height - 1 - r) * tuple->width * tuple->channels;
            for (int64_t c = 0; c < tuple->width; c++, at += tuple->channels)
                for (int j = 0; j < 3; j++) *to++ = at[tuple->channels < 3 ? 0 : j];
        }
        canvas->picture(canvas, x, y + LABEL, tuple->scale, rgb, tuple->width, tuple->height);
        canvas->rectangle(
            canvas, x, y + LABEL + size + 2, step - GAP, BAR,
            drawing_rgb(tones[tuple->sources[clip * tuple->steps + tuple->which[i]]]));
    }
    // Possible clips have no violation.
    if (clip >= 2) draw_cuts(canvas, tuple, clip, y + LABEL - 4, y + LABEL + size + BAR + 5);
    return PLUMB_OK;
}

// Draws the title and the legend.
static void draw_words(drawing *canvas, const clip_tuple *tuple, double width, double height)
{
    char line[96];
    canvas->text(canvas, MARGIN, 36, 22, DRAWING_LEFT, drawing_rgb(ink), tuple->title);
    text_format(line, sizeof line, "tuple %lld, %lld frames, dt = %.4g",
                (long long)(tuple->first + tuple->item), (long long)tuple->steps, tuple->dt);
    canvas->text(canvas, width - MARGIN, 36, 14, DRAWING_RIGHT, drawing_rgb(pale), line);
    static const char *const words[4] = {"", "as possible 1", "as possible 2", "as both"};
    double x = MARGIN;
    for (int i = 1; i < 4; i++, x += 130) {
        canvas->rectangle(canvas, x, height - 20, 18, BAR, drawing_rgb(tones[i]));
        canvas->text(canvas, x + 25, height - 13, 13, DRAWING_LEFT, drawing_rgb(pale), words[i]);
    }
    draw_line(canvas, x + 4, height - 26, height - 8);
    canvas->text(canvas, x + 15, height - 13, 13, DRAWING_LEFT, drawing_rgb(pale), "violation");
}

plumb_status tuple_figure_draw(plumb_image_size *out, buffer *bytes, plumb_dataset *dataset,
                               int64_t item, const plumb_item_figure_options *opt, bool svg)
{
    clip_tuple tuple = {.item = item};
    drawing *canvas = NULL;
    plumb_status st = read_tuple(&tuple, dataset, opt);
    double width = 0.0, height = 0.0;
    if (!st) {
        width = (double)(tuple.shown * (tuple.width * tuple.scale + GAP) - GAP) + 2 * MARGIN;
        if (width < 640) width = 640;
        height = TOP + CLIPS * get_strip_height(&tuple) + CAPTION;
        st = (svg ? svg_create : canvas_create)(&canvas, (int64_t)width, (int64_t)height,
                                                drawing_rgb(paper));
    }
    if (!st) draw_words(canvas, &tuple, width, height);
    for (int64_t clip = 0; clip < CLIPS && !st; clip++) st = draw_strip(canvas, &tuple, clip);
    if (!st) st = canvas->finish(bytes, canvas);
    if (canvas) canvas->free(canvas);
    arena_clear(&tuple.mem);
    if (!st) *out = (plumb_image_size){(int64_t)width, (int64_t)height};
    return st;
}
