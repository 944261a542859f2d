// SPDX-License-Identifier: MIT
// Two possible clips, and below them two impossible ones. Under every frame of an impossible clip a
// bar says which of the possible ones shows the same at that time: the first, the second, or both;
// where the clip goes over from one to the other a red line stands. That is found by comparing
// bytes, so it works on anybody's probes.
#include "report/tuple_figure.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/status.h"
#include "base/text.h"

enum {
    CLIPS = 4,
    MOST_CUTS = 8,
    MARGIN = 30,
    GAP = 6,
    TOP = 62,     // below the title
    LABEL = 20,   // above a strip
    BAR = 5,      // height of the bar
    BELOW = 18,   // below a strip
    CAPTION = 24, // below all of them
    WIDEST = 1400,
};

static const int ink = 0x2f3437, pale = 0x8a9299, paper = 0xffffff, red = 0xd1495b;
static const int tones[4] = {0x2f3437, 0x2a7fb8, 0xe07b39, 0xc9d1d6}; // neither, A, B, both
static const char *const titles[CLIPS] = {"possible 1", "possible 2", "impossible 1",
                                          "impossible 2"};

typedef struct tuple {
    arena mem;
    const uint8_t *frames; // (4, steps, height, width, channels)
    int64_t steps, height, width, channels, bytes;
    int64_t item, shown, *which;
    int64_t first;          // number of the file's first item
    int64_t cut[MOST_CUTS]; // as the file says
    int64_t cuts;
    int *from; // (4, steps): bit 0, shows what possible 1 shows; bit 1, possible 2
    char title[64];
    double dt;
    int scale;
    bool upright;
} tuple;

static plumb_status read_frames(plumb_array *out, plumb_dataset *d, int64_t item)
{
    const plumb_status st = plumb_dataset_read_field(out, d, item, "frames");
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

static const uint8_t *frame_of(const tuple *p, int64_t clip, int64_t t)
{
    return p->frames + (clip * p->steps + t) * p->bytes;
}

// One number of the file, or what stands for it.
static double number(plumb_dataset *d, const char *name, double otherwise)
{
    plumb_array a;
    double value;
    if (!plumb_dataset_is_shared(d, name) || plumb_dataset_read_field(&a, d, 0, name) ||
        plumb_array_count(&a) != 1)
        return otherwise;
    plumb_array_to_double(&value, &a, 0, 1);
    return value;
}

// The cuts of the file, if it has them; a negative one is none.
static void find_cuts(tuple *p, plumb_dataset *d)
{
    plumb_array a;
    if (!plumb_dataset_has_field(d, "cut") || plumb_dataset_is_shared(d, "cut") ||
        plumb_dataset_read_field(&a, d, p->item, "cut") || plumb_array_count(&a) > MOST_CUTS)
        return;
    for (int64_t i = 0; i < plumb_array_count(&a); i++) {
        double at;
        plumb_array_to_double(&at, &a, i, 1);
        if (at >= 0.0 && at < (double)p->steps) p->cut[p->cuts++] = (int64_t)at;
    }
}

static plumb_status gather(tuple *p, plumb_dataset *d, const plumb_item_figure_options *opt)
{
    plumb_array a;
    plumb_status st = read_frames(&a, d, p->item);
    if (st) return st;
    p->frames = a.data;
    p->steps = a.shape[1];
    p->height = a.shape[2];
    p->width = a.shape[3];
    p->channels = a.shape[4];
    p->bytes = p->height * p->width * p->channels;
    p->dt = number(d, "dt", 1.0);
    p->upright = number(d, "upright", 1.0) != 0.0;
    p->first = (int64_t)number(d, "first", 0.0);
    if (!*plumb_dataset_world_name(p->title, d)) snprintf(p->title, sizeof p->title, "tuple");
    const int64_t steps = opt->steps && opt->steps < p->steps ? opt->steps : p->steps;
    const int64_t most = opt->frames ? opt->frames : 20;
    p->shown = most < steps ? most : steps;
    p->which = ARENA_ALLOC(&p->mem, int64_t, p->shown);
    p->from = ARENA_ALLOC(&p->mem, int, CLIPS * p->steps);
    if (!p->which || !p->from) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < p->shown; k++)
        p->which[k] = p->shown == 1 ? 0 : (k * (steps - 1) + (p->shown - 1) / 2) / (p->shown - 1);
    for (int64_t clip = 0; clip < CLIPS; clip++)
        for (int64_t t = 0; t < p->steps; t++)
            for (int k = 0; k < 2; k++)
                if (!memcmp(frame_of(p, clip, t), frame_of(p, k, t), (size_t)p->bytes))
                    p->from[clip * p->steps + t] |= 1 << k;
    find_cuts(p, d);
    for (p->scale = 8; p->scale > 1; p->scale--)
        if (p->shown * (p->width * p->scale + GAP) + 2 * MARGIN <= WIDEST) break;
    return PLUMB_OK;
}

// The last time before `clip` goes over to the other possible clip, after `after`: the middle of
// the frames that both show. -1 if it does not.
static int64_t next_cut(const tuple *p, int64_t clip, int64_t after)
{
    const int *from = p->from + clip * p->steps;
    int now = 0;
    int64_t both = after + 1;
    for (int64_t t = after + 1; t < p->steps; t++) {
        if (from[t] != 1 && from[t] != 2) continue;
        if (now && from[t] != now) return both < t ? (both + t - 1) / 2 : t - 1;
        now = from[t];
        both = t + 1;
    }
    return -1;
}

static void draw_line(drawing *k, double x, double y0, double y1)
{
    const double points[] = {x, y0, x, y1};
    k->path(k, points, 2, 2.4, drawing_rgb(red));
}

static double strip_height(const tuple *p)
{
    return LABEL + (double)(p->height * p->scale) + BELOW;
}

// Where a cut is on the strip: behind the last frame shown that is not after it.
static double cut_x(const tuple *p, int64_t cut)
{
    int64_t k = 0;
    while (k < p->shown && p->which[k] <= cut) k++;
    return MARGIN + (double)k * (double)(p->width * p->scale + GAP) - 0.5 * GAP;
}

// The cuts of the file, or else those that the bytes show.
static void draw_cuts(drawing *k, const tuple *p, int64_t clip, double top, double bottom)
{
    for (int64_t i = 0; i < p->cuts; i++) draw_line(k, cut_x(p, p->cut[i]), top, bottom);
    for (int64_t cut = -1; !p->cuts;) {
        const int64_t next = next_cut(p, clip, cut);
        if (next <= cut) break;
        draw_line(k, cut_x(p, next), top, bottom);
        cut = next;
    }
}

static plumb_status draw_strip(drawing *k, tuple *p, int64_t clip)
{
    const double y = TOP + (double)clip * strip_height(p);
    const double step = (double)(p->width * p->scale + GAP);
    const double size = (double)(p->height * p->scale);
    uint8_t *rgb = arena_alloc(&p->mem, p->height * p->width, 3);
    if (!rgb) return PLUMB_EMEMORY;
    k->text(k, MARGIN, y + 14, 14, DRAWING_LEFT, drawing_rgb(clip < 2 ? ink : red), titles[clip]);
    for (int64_t i = 0; i < p->shown; i++) {
        const double x = MARGIN + (double)i * step;
        const uint8_t *in = frame_of(p, clip, p->which[i]);
        uint8_t *to = rgb;
        for (int64_t r = 0; r < p->height; r++) {
            const uint8_t *at = in + (p->upright ? r : p->height - 1 - r) * p->width * p->channels;
            for (int64_t c = 0; c < p->width; c++, at += p->channels)
                for (int j = 0; j < 3; j++) *to++ = at[p->channels < 3 ? 0 : j];
        }
        k->picture(k, x, y + LABEL, p->scale, rgb, p->width, p->height);
        k->rectangle(k, x, y + LABEL + size + 2, step - GAP, BAR,
                     drawing_rgb(tones[p->from[clip * p->steps + p->which[i]]]));
    }
    if (clip >= 2) draw_cuts(k, p, clip, y + LABEL - 4, y + LABEL + size + BAR + 5);
    return PLUMB_OK;
}

static void draw_words(drawing *k, const tuple *p, double width, double height)
{
    char line[96];
    k->text(k, MARGIN, 36, 22, DRAWING_LEFT, drawing_rgb(ink), p->title);
    text_format(line, sizeof line, "tuple %lld, %lld frames, dt = %.4g",
                (long long)(p->first + p->item), (long long)p->steps, p->dt);
    k->text(k, width - MARGIN, 36, 14, DRAWING_RIGHT, drawing_rgb(pale), line);
    static const char *const words[4] = {"", "as possible 1", "as possible 2", "as both"};
    double x = MARGIN;
    for (int i = 1; i < 4; i++, x += 130) {
        k->rectangle(k, x, height - 20, 18, BAR, drawing_rgb(tones[i]));
        k->text(k, x + 25, height - 13, 13, DRAWING_LEFT, drawing_rgb(pale), words[i]);
    }
    draw_line(k, x + 4, height - 26, height - 8);
    k->text(k, x + 15, height - 13, 13, DRAWING_LEFT, drawing_rgb(pale), "violation");
}

plumb_status tuple_figure_draw(plumb_image_size *out, buffer *bytes, plumb_dataset *dataset,
                               int64_t item, const plumb_item_figure_options *opt, bool svg)
{
    tuple p = {.item = item};
    drawing *k = NULL;
    plumb_status st = gather(&p, dataset, opt);
    double width = 0.0, height = 0.0;
    if (!st) {
        width = (double)(p.shown * (p.width * p.scale + GAP) - GAP) + 2 * MARGIN;
        if (width < 640) width = 640;
        height = TOP + CLIPS * strip_height(&p) + CAPTION;
        st = (svg ? svg_create : canvas_create)(&k, (int64_t)width, (int64_t)height,
                                                drawing_rgb(paper));
    }
    if (!st) draw_words(k, &p, width, height);
    for (int64_t clip = 0; clip < CLIPS && !st; clip++) st = draw_strip(k, &p, clip);
    if (!st) st = k->finish(bytes, k);
    if (k) k->free(k);
    arena_clear(&p.mem);
    if (!st) *out = (plumb_image_size){(int64_t)width, (int64_t)height};
    return st;
}
