// SPDX-License-Identifier: MIT
// The room: states 1e-12, values 1e-4 but for rays that fall on the other side of an edge by
// rounding: at most 0.2 % of the pixels differ, by no more than one sample of sixteen. Bytes
// likewise.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden_worlds.h"
#include "worlds/render/raytrace_arena.h"
#include "worlds/world.h"

enum { PIXELS = 32 * 32, BYTES = PIXELS * 3 };

typedef struct room_case {
    golden_worlds g;
    const plumb_world *world;
    int64_t frames;
    const double *steps, *x_ref, *image_u8, *image_f32;
} room_case;

static void judge_picture(room_case *b, int64_t row, const double *parameters)
{
    uint8_t frame[BYTES];
    if (world_render(frame, b->world, b->x_ref + row * 6, parameters, NULL)) {
        printf("%s: %s\n", b->g.path, plumb_last_error());
        b->g.failures++;
        return;
    }
    int64_t off = 0, wild = 0;
    for (int64_t p = 0; p < PIXELS; p++) {
        int worst = 0;
        for (int k = 0; k < 3; k++) {
            const int64_t at = row * BYTES + 3 * p + k;
            const int difference = abs((int)frame[3 * p + k] - (int)b->image_u8[at]);
            worst = difference > worst ? difference : worst;
            // a byte is 255 v rounded down: it tells v to 1/255
            wild += fabs((frame[3 * p + k] + 0.5) / 255.0 - b->image_f32[at]) > 1.0 / 16 + 0.003;
        }
        off += worst > 0;
        wild += worst > 16;
    }
    if (wild || (double)off > 0.002 * PIXELS) {
        printf("%s: image %lld: %lld pixels differ, %lld by more than a sample\n", b->g.path,
               (long long)row, (long long)off, (long long)wild);
        b->g.failures++;
    }
}

static void judge_case(room_case *b, int64_t c, const double *parameters)
{
    const int64_t last = (int64_t)b->steps[b->frames - 1] + 1;
    const plumb_world_item got = {.state = malloc((size_t)(last * 6) * sizeof(double))};
    plumb_world_options opt = plumb_world_defaults();
    opt.dt = golden_scalar(b->g.file, "dt", 0.0);
    if (plumb_world_simulate_from(&got, b->world, b->x_ref + c * b->frames * 6, parameters, last,
                                  &opt)) {
        printf("%s: %s\n", b->g.path, plumb_last_error());
        b->g.failures++;
    }
    for (int64_t t = 0; t < b->frames; t++) {
        const int64_t row = c * b->frames + t;
        char what[64];
        snprintf(what, sizeof what, "x_ref[%lld]", (long long)row);
        golden_worlds_near(&b->g, what, got.state + (int64_t)b->steps[t] * 6, b->x_ref + row * 6, 6,
                           1e-12);
        judge_picture(b, row, parameters);
    }
    free(got.state);
}

int golden_room(plumb_file *file, const char *path)
{
    room_case b = {.g = golden_worlds_begin(file, path)};
    if (plumb_world_find(&b.world, "room-circle")) return 1;
    int64_t count = -1, cases = -1;
    b.steps = golden_worlds_read(&b.g, "steps", &count);
    b.frames = count;
    const double *radius = golden_worlds_read(&b.g, "radius", &cases);
    int64_t three = 3 * cases, things = cases * 55, states = cases * b.frames * 6;
    int64_t bytes = cases * b.frames * BYTES;
    const double *phi = golden_worlds_read(&b.g, "phi0", &cases);
    const double *dphi = golden_worlds_read(&b.g, "dphi", &cases);
    const double *rgb[3] = {golden_worlds_read(&b.g, "floor_rgb", &three),
                            golden_worlds_read(&b.g, "wall_rgb", &three),
                            golden_worlds_read(&b.g, "sky_rgb", &three)};
    const double *objects = golden_worlds_read(&b.g, "objects", &things);
    b.x_ref = golden_worlds_read(&b.g, "x_ref", &states);
    b.image_u8 = golden_worlds_read(&b.g, "image_u8", &bytes);
    b.image_f32 = golden_worlds_read(&b.g, "image_f32", &bytes);
    for (int64_t c = 0; !b.g.failures && c < cases; c++) {
        double parameters[67] = {radius[c], phi[c], dphi[c] / golden_scalar(file, "dt", 0.1)};
        for (int k = 0; k < 3; k++)
            memcpy(parameters + 3 + 3 * k, rgb[k] + 3 * c, 3 * sizeof(double));
        memcpy(parameters + 12, objects + 55 * c, 55 * sizeof(double));
        judge_case(&b, c, parameters);
    }
    return golden_worlds_end(&b.g);
}
