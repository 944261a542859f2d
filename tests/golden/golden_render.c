// SPDX-License-Identifier: MIT
// Particles alone: overlaps, corners, other sizes and edges. Values 1e-6 (the cases are in single
// precision), bytes equal, by the reference and by the fast loops.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden/golden_worlds.h"
#include "worlds/render/discs.h"

static const char *key(int number, const char *name)
{
    static char text[64];
    snprintf(text, sizeof text, "c%d_%s", number, name);
    return text;
}

static disc_style picture(golden_worlds *g, int number)
{
    int64_t two = 2, count = -1;
    const double *canvas = golden_worlds_read(g, key(number, "canvas"), &two);
    const double *radius = golden_worlds_read(g, key(number, "radius"), &count);
    const double *color = golden_worlds_read(g, key(number, "color_index"), &count);
    if (g->failures || count < 1 || count > DISCS_MAX) return (disc_style){0};
    const double size = golden_scalar(g->file, key(number, "resolution"), 32.0);
    const double colors = golden_scalar(g->file, key(number, "num_colors"), 1.0);
    disc_style p = discs_make_style((int64_t)size, (int)count, canvas[0], canvas[1],
                                    golden_scalar(g->file, key(number, "temperature"), 80.0));
    for (int64_t k = 0; k < count; k++) {
        p.radius[k] = radius[k] / (canvas[1] - canvas[0]);
        discs_color(p.color[k], (int64_t)color[k], (int64_t)colors);
    }
    return p;
}

static void judge_values(golden_worlds *g, const disc_style *p, const double *xy,
                         const double *want)
{
    for (int64_t r = 0; r < p->size; r++)
        for (int64_t c = 0; c < p->size; c++) {
            double rgb[3];
            discs_pixel_reference(rgb, p, xy, r, c);
            golden_worlds_near(g, "image_f32", rgb, want + (r * p->size + c) * 3, 3, 1e-5);
            for (int k = 0; k < 3; k++)
                g->failures += golden_near(g->path, "image_f32", (r * p->size + c) * 3 + k, rgb[k],
                                           want[(r * p->size + c) * 3 + k], 1e-6, 0.0);
        }
}

static void judge_case(golden_worlds *g, int number)
{
    const disc_style p = picture(g, number);
    int64_t places = -1;
    const double *xy = golden_worlds_read(g, key(number, "pos"), &places);
    if (g->failures) return;
    const int64_t frames = places / (2 * p.count), values = p.size * p.size * 3;
    int64_t count = frames * values;
    const double *u8 = golden_worlds_read(g, key(number, "image_u8"), &count);
    const double *f32 = golden_worlds_read(g, key(number, "image_f32"), &count);
    uint8_t *frame = malloc((size_t)values);
    static const char *const sets[] = {"portable", "avx2"};
    for (int64_t t = 0; t < frames && !g->failures; t++) {
        const double *here = xy + t * 2 * p.count;
        judge_values(g, &p, here, f32 + t * values);
        discs_draw_reference(frame, &p, here);
        golden_worlds_bytes(g, key(number, "image_u8"), frame, u8 + t * values, values, 0, 0.0);
        for (int s = 0; s < 2; s++) {
            if (!discs_select(sets[s])) continue;
            discs_draw(frame, &p, here);
            golden_worlds_bytes(g, key(number, "image_u8, fast"), frame, u8 + t * values, values, 0,
                                0.0);
        }
    }
    free(frame);
}

int golden_render(plumb_file *file, const char *path)
{
    int failures = 0;
    const int cases = (int)golden_scalar(file, "n_cases", 0.0);
    for (int i = 0; i < cases; i++) {
        golden_worlds g = golden_worlds_begin(file, path);
        judge_case(&g, i);
        failures += golden_worlds_end(&g);
    }
    return cases ? failures : GOLDEN_SKIPPED;
}
