// SPDX-License-Identifier: MIT
// Lennard-Jones boxes against LAMMPS: 1e-12 to 500 steps, 1e-9 at 2000 (16 particles are chaotic;
// the tolerances of README.md), forces 1e-10, bytes equal.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden_worlds.h"
#include "worlds/world.h"

enum { BYTES = 32 * 32 * 3 };

typedef struct molecules {
    golden_worlds g;
    const plumb_world *world;
    int64_t frames, n2; // numbers of a state, 4 N
    double side;
    const double *steps, *x, *dxdt, *unwrapped, *dump, *kinetic, *shifted, *image;
} molecules;

// How far apart, the box being periodic.
static double apart(double a, double b, double side)
{
    return fabs(remainder(a - b, side));
}

static void judge_frame(molecules *b, const plumb_world_item *got, int64_t row, int64_t step)
{
    const int64_t n2 = b->n2, half = n2 / 2;
    const double *state = got->state + step * n2, *canonical = got->canonical + step * n2;
    const double bar = step <= 500 ? 1e-12 : 1e-9;
    char what[64];
    snprintf(what, sizeof what, "q_unwrapped[%lld]", (long long)row);
    golden_worlds_near(&b->g, what, canonical, b->unwrapped + row * half, half, bar);
    snprintf(what, sizeof what, "velocities of x[%lld]", (long long)row);
    golden_worlds_near(&b->g, what, state + half, b->x + row * n2 + half, half, bar);
    for (int64_t i = 0; i < half; i++) {
        const bool inside = state[i] >= -0.5 * b->side && state[i] < 0.5 * b->side;
        if (inside && apart(state[i], b->x[row * n2 + i], b->side) <= bar * b->side) continue;
        printf("%s: x[%lld][%lld] is %.17g, wanted %.17g\n", b->g.path, (long long)row,
               (long long)i, state[i], b->x[row * n2 + i]);
        b->g.failures++;
        break;
    }
    b->g.failures += golden_near(b->g.path, "kinetic + potential_shifted", row, got->energy[step],
                                 b->kinetic[row] + b->shifted[row], 1e-9, 1e-11);

    double rate[64];
    uint8_t frame[BYTES];
    const plumb_world_item one = {.derivative = rate};
    if (plumb_world_simulate_from(&one, b->world, b->x + row * n2, NULL, 1, NULL) ||
        world_render(frame, b->world, b->x + row * n2, NULL, NULL)) {
        printf("%s: %s\n", b->g.path, plumb_last_error());
        b->g.failures++;
        return;
    }
    snprintf(what, sizeof what, "dxdt[%lld]", (long long)row);
    golden_worlds_near(&b->g, what, rate, b->dxdt + row * n2, n2, 1e-10);
    snprintf(what, sizeof what, "image_u8[%lld]", (long long)row);
    golden_worlds_bytes(&b->g, what, frame, b->image + row * BYTES, BYTES, 0, 0.0);
}

static void judge_case(molecules *b, int64_t c)
{
    const int64_t last = (int64_t)b->steps[b->frames - 1] + 1, n2 = b->n2, half = n2 / 2;
    const size_t size = (size_t)(last * n2) * sizeof(double);
    const plumb_world_item got = {.state = malloc(size),
                                  .canonical = malloc(size),
                                  .energy = malloc((size_t)last * sizeof(double))};
    double start[64];
    memcpy(start, b->dump + c * b->frames * half, (size_t)half * sizeof(double));
    memcpy(start + half, b->x + c * b->frames * n2 + half, (size_t)half * sizeof(double));
    plumb_world_options opt = plumb_world_defaults();
    opt.dt = golden_scalar(b->g.file, "timestep", 0.0);
    opt.stride = 1;
    if (plumb_world_simulate_from(&got, b->world, start, NULL, last, &opt)) {
        printf("%s: %s\n", b->g.path, plumb_last_error());
        b->g.failures++;
    }
    for (int64_t t = 0; t < b->frames; t++)
        judge_frame(b, &got, c * b->frames + t, (int64_t)b->steps[t]);
    free(got.state);
    free(got.canonical);
    free(got.energy);
}

int golden_molecules(plumb_file *file, const char *path)
{
    molecules b = {.g = golden_worlds_begin(file, path)};
    const double particles = golden_scalar(file, "n_particles", 0.0);
    b.side = golden_scalar(file, "box_length", 0.0);
    if (plumb_world_find(&b.world, particles == 4.0 ? "md-4" : "md-16")) return 1;
    b.n2 = 2 * plumb_world_get_info(b.world)->n;
    int64_t count = -1;
    b.steps = golden_worlds_read(&b.g, "steps", &count);
    b.frames = count;
    count = -1;
    b.x = golden_worlds_read(&b.g, "x", &count);
    const int64_t cases = count / (b.frames * b.n2);
    int64_t rows = cases * b.frames, states = rows * b.n2, places = states / 2;
    int64_t bytes = rows * BYTES;
    b.dxdt = golden_worlds_read(&b.g, "dxdt", &states);
    b.unwrapped = golden_worlds_read(&b.g, "q_unwrapped", &places);
    b.dump = golden_worlds_read(&b.g, "q_lammps_dump", &places);
    b.kinetic = golden_worlds_read(&b.g, "kinetic", &rows);
    b.shifted = golden_worlds_read(&b.g, "potential_shifted", &rows);
    b.image = golden_worlds_read(&b.g, "image_u8", &bytes);
    if (!b.g.failures)
        for (int64_t c = 0; c < cases; c++) judge_case(&b, c);
    return golden_worlds_end(&b.g);
}
