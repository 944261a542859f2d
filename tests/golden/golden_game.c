// SPDX-License-Identifier: MIT
// Games: states 1e-12 of the largest number (README.md asks for 1e-10), bytes equal.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden/golden_worlds.h"
#include "worlds/world.h"

enum { BYTES = 32 * 32 * 3 };

typedef struct game {
    golden_worlds g;
    const plumb_world *world;
    int64_t frames, n2;
    const double *steps, *x0, *x_ref, *x_suite, *dxdt, *energy, *image;
} game;

static void judge_frame(game *b, const plumb_world_item *got, int64_t row, int64_t step)
{
    const int64_t n2 = b->n2;
    char what[64];
    snprintf(what, sizeof what, "x_ref[%lld]", (long long)row);
    golden_worlds_near(&b->g, what, got->state + step * n2, b->x_ref + row * n2, n2, 1e-12);
    b->g.failures +=
        golden_near(b->g.path, "energy", row, got->energy[step], b->energy[row], 0.0, 1e-12);
    double rate[6];
    const plumb_world_item one = {.derivative = rate};
    uint8_t frame[BYTES];
    if (plumb_world_simulate_from(&one, b->world, b->x_suite + row * n2, NULL, 1, NULL) ||
        world_render(frame, b->world, b->x_ref + row * n2, NULL, NULL)) {
        printf("%s: %s\n", b->g.path, plumb_last_error());
        b->g.failures++;
        return;
    }
    snprintf(what, sizeof what, "dxdt_suite[%lld]", (long long)row);
    golden_worlds_near(&b->g, what, rate, b->dxdt + row * n2, n2, 1e-13);
    snprintf(what, sizeof what, "image_u8[%lld]", (long long)row);
    golden_worlds_bytes(&b->g, what, frame, b->image + row * BYTES, BYTES, 0, 0.0);
}

static void judge_case(game *b, int64_t c)
{
    const int64_t last = (int64_t)b->steps[b->frames - 1] + 1;
    const plumb_world_item got = {.state = malloc((size_t)(last * b->n2) * sizeof(double)),
                                  .energy = malloc((size_t)last * sizeof(double))};
    plumb_world_options opt = plumb_world_defaults();
    opt.dt = golden_scalar(b->g.file, "dt", 0.0);
    if (plumb_world_simulate_from(&got, b->world, b->x0 + c * b->n2, NULL, last, &opt)) {
        printf("%s: %s\n", b->g.path, plumb_last_error());
        b->g.failures++;
    }
    for (int64_t t = 0; t < b->frames; t++)
        judge_frame(b, &got, c * b->frames + t, (int64_t)b->steps[t]);
    free(got.state);
    free(got.energy);
}

int golden_game(plumb_file *file, const char *path)
{
    game b = {.g = golden_worlds_begin(file, path)};
    int64_t payoff = -1;
    golden_worlds_read(&b.g, "payoff", &payoff);
    if (plumb_world_find(&b.world, payoff == 4 ? "matching-pennies" : "rock-paper-scissors"))
        return 1;
    b.n2 = 2 * plumb_world_get_info(b.world)->n;
    int64_t count = -1;
    b.steps = golden_worlds_read(&b.g, "steps", &count);
    b.frames = count;
    count = -1;
    b.x0 = golden_worlds_read(&b.g, "x0", &count);
    const int64_t cases = count / b.n2;
    int64_t rows = cases * b.frames, states = rows * b.n2, bytes = rows * BYTES;
    b.x_ref = golden_worlds_read(&b.g, "x_ref", &states);
    b.x_suite = golden_worlds_read(&b.g, "x_suite", &states);
    b.dxdt = golden_worlds_read(&b.g, "dxdt_suite", &states);
    b.energy = golden_worlds_read(&b.g, "energy", &rows);
    b.image = golden_worlds_read(&b.g, "image_u8", &bytes);
    if (!b.g.failures)
        for (int64_t c = 0; c < cases; c++) judge_case(&b, c);
    return golden_worlds_end(&b.g);
}
