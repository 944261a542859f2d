// SPDX-License-Identifier: MIT
// Springs, pendulums and two bodies. The reference states are good to their last bits (48-digit
// arithmetic); tolerances are far above what plumb reaches and ten times below those of README.md:
// 1e-12 of the largest number of a state, growing for the chaotic double pendulum. Bytes of frames
// are equal, all of them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden_worlds.h"
#include "worlds/render/discs.h"
#include "worlds/world.h"

typedef struct bodies {
    golden_worlds g;
    const plumb_world *world;
    int64_t cases, frames, n2, numbers;
    const double *steps, *x_ref, *dxdt, *energy, *image_u8, *image_f32;
} bodies;

// By the parameters, friction and number of colours: the name of the file says nothing.
static const char *world_name(plumb_file *file)
{
    const double colors = golden_scalar(file, "num_colors", 0.0);
    const bool friction = golden_scalar(file, "friction", 0.0) > 0.0, varied = colors == 6.0;
    if (plumb_file_has_array(file, "param_k"))
        return friction ? "mass-spring+c-friction" : varied ? "mass-spring+c" : "mass-spring";
    if (plumb_file_has_array(file, "param_m_1"))
        return friction ? "double-pendulum+c-friction"
               : varied ? "double-pendulum+c"
                        : "double-pendulum";
    if (plumb_file_has_array(file, "param_l"))
        return friction ? "pendulum+c-friction" : varied ? "pendulum+c" : "pendulum";
    return varied ? "two-body+c" : "two-body";
}

static double tolerance(const char *world, double step)
{
    if (strncmp(world, "double-pendulum", 15)) return step <= 60 ? 1e-12 : 1e-11;
    return step <= 60 ? 1e-12 : step <= 124 ? 1e-10 : step <= 255 ? 1e-7 : (double)INFINITY;
}

// The parameters of case c, in the world's order, from the file's param_NAME, offset, color_index.
static bool collect(bodies *b, double *parameters, int64_t c)
{
    const plumb_world_info *facts = plumb_world_get_info(b->world);
    int64_t at = 0;
    for (int64_t i = 0; i < facts->parameter_count; i++) {
        const plumb_world_parameter *p = &facts->parameters[i];
        char name[64];
        snprintf(name, sizeof name, "param_%s", p->name);
        if (!plumb_file_has_array(b->g.file, name)) snprintf(name, sizeof name, "%s", p->name);
        int64_t count = 0;
        double *values = golden_read(&count, b->g.file, name);
        const bool good = values && count == b->cases * p->count;
        if (good) memcpy(parameters + at, values + c * p->count, (size_t)p->count * sizeof(double));
        free(values);
        if (!good) {
            printf("%s: %s does not fit\n", b->g.path, name);
            b->g.failures++;
            return false;
        }
        at += p->count;
    }
    return true;
}

static void judge_picture(bodies *b, int64_t row, const double *parameters)
{
    enum { BYTES = 32 * 32 * 3 };
    uint8_t frame[BYTES];
    char what[64];
    if (world_render(frame, b->world, b->x_ref + row * b->n2, parameters, NULL)) {
        printf("%s: %s\n", b->g.path, plumb_last_error());
        b->g.failures++;
        return;
    }
    snprintf(what, sizeof what, "image_u8[%lld]", (long long)row);
    golden_worlds_bytes(&b->g, what, frame, b->image_u8 + row * BYTES, BYTES, 0, 0.0);
}

static void judge_case(bodies *b, const double *x0, int64_t c)
{
    const char *name = plumb_world_get_info(b->world)->name;
    const int64_t last = (int64_t)b->steps[b->frames - 1] + 1, n2 = b->n2;
    double parameters[16];
    if (!collect(b, parameters, c)) return;
    plumb_world_item out = {.state = malloc((size_t)(last * n2) * sizeof(double)),
                            .energy = malloc((size_t)last * sizeof(double))};
    plumb_world_options opt = plumb_world_defaults();
    opt.dt = golden_scalar(b->g.file, "dt", 0.0);
    if (plumb_world_simulate_from(&out, b->world, x0 + c * n2, parameters, last, &opt)) {
        printf("%s: %s\n", b->g.path, plumb_last_error());
        b->g.failures++;
    }
    for (int64_t t = 0; t < b->frames; t++) {
        const int64_t step = (int64_t)b->steps[t], row = c * b->frames + t;
        const double bar = tolerance(name, b->steps[t]);
        char what[64];
        snprintf(what, sizeof what, "x_ref[%lld][step %lld]", (long long)c, (long long)step);
        golden_worlds_near(&b->g, what, out.state + step * n2, b->x_ref + row * n2, n2, bar);
        b->g.failures += golden_near(b->g.path, "energy", row, out.energy[step], b->energy[row],
                                     fmin(bar, 1e-8), fmin(bar, 1e-8));

        // Derivative and picture at the reference state itself.
        double rate[16], here;
        const plumb_world_item one = {.derivative = rate, .energy = &here};
        if (plumb_world_simulate_from(&one, b->world, b->x_ref + row * n2, parameters, 1, NULL))
            b->g.failures++;
        snprintf(what, sizeof what, "dxdt_ref[%lld][step %lld]", (long long)c, (long long)step);
        golden_worlds_near(&b->g, what, rate, b->dxdt + row * n2, n2, 1e-13);
        b->g.failures +=
            golden_near(b->g.path, "energy at x_ref", row, here, b->energy[row], 2e-15, 1e-13);
        judge_picture(b, row, parameters);
    }
    free(out.state);
    free(out.energy);
}

int golden_bodies(plumb_file *file, const char *path)
{
    bodies b = {.g = golden_worlds_begin(file, path)};
    if (plumb_world_find(&b.world, world_name(file))) {
        printf("%s: %s\n", path, plumb_last_error());
        return 1;
    }
    b.n2 = 2 * plumb_world_get_info(b.world)->n;
    int64_t count = -1;
    b.steps = golden_worlds_read(&b.g, "steps", &count);
    b.frames = count;
    count = -1;
    const double *x0 = golden_worlds_read(&b.g, "x0", &count);
    b.cases = count / b.n2;
    int64_t rows = b.cases * b.frames, states = rows * b.n2, bytes = rows * 32 * 32 * 3;
    b.x_ref = golden_worlds_read(&b.g, "x_ref", &states);
    b.dxdt = golden_worlds_read(&b.g, "dxdt_ref", &states);
    b.energy = golden_worlds_read(&b.g, "energy", &rows);
    b.image_u8 = golden_worlds_read(&b.g, "image_u8", &bytes);
    if (!b.g.failures)
        for (int64_t c = 0; c < b.cases; c++) judge_case(&b, x0, c);
    return golden_worlds_end(&b.g);
}
