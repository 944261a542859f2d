// SPDX-License-Identifier: MIT
// The model `bodies` against a second implementation in JAX, in double: rollouts, energies and
// gradients of points and of a chain, and a picture with its gradient. There potentials are
// evaluated directly; here tables are so fine that what is between their nodes does not matter.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden.h"
#include "models/bodies/chain.h"
#include "models/bodies/points.h"
#include "models/bodies/sprites.h"

enum { FRAMES = 8, NODES = 600, GRID = 160, MAX_WEIGHTS = 256, MAX_VALUES = 4096 };

// Copies an array of at most `most` numbers; returns whether it is there.
static bool copy_array(double *out, int64_t most, plumb_file *file, const char *name)
{
    int64_t count = 0;
    double *data = golden_read(&count, file, name);
    const bool found = data && count <= most;
    if (found) memcpy(out, data, (size_t)count * sizeof *out);
    free(data);
    return found;
}

static bool copy_weights(float *out, plumb_file *file, const char *name)
{
    double wide[MAX_WEIGHTS] = {0};
    const bool found = copy_array(wide, MAX_WEIGHTS, file, name);
    for (int i = 0; i < MAX_WEIGHTS; i++) out[i] = (float)wide[i];
    return found;
}

// Compares a gradient in float.
static int compare_weights(plumb_file *file, const char *path, const char *name, const float *got,
                           int64_t count)
{
    double wide[MAX_WEIGHTS];
    for (int64_t i = 0; i < count; i++) wide[i] = (double)got[i];
    return golden_same(file, path, name, wide, count, 1e-5, 1e-5);
}

static int judge_points(plumb_file *file, const char *path, arena *mem)
{
    const double dt = golden_scalar(file, "bodies.dt", 0.0);
    const int width = (int)golden_scalar(file, "bodies.width", 0.0);
    radial_table pair;
    plane_table field;
    float pair_weights[MAX_WEIGHTS], field_weights[MAX_WEIGHTS];
    double range[2], q0[6], p0[6], weight[2 * FRAMES * 6], q[FRAMES * 6], p[FRAMES * 6];
    double path_memory[(1 + 2 * FRAMES) * 6];
    points_constants constants = {0};
    points_law law = {.count = 3, .dt = dt, .substeps = 2};
    if (!copy_array(range, 2, file, "bodies.range") || !copy_array(q0, 6, file, "points.q0") ||
        !copy_array(p0, 6, file, "points.p0") || !copy_weights(pair_weights, file, "points.pair") ||
        !copy_weights(field_weights, file, "points.field") ||
        !copy_array(constants.mass, 3, file, "points.mass") ||
        !copy_array(constants.centre, 2, file, "points.centre") ||
        !copy_array(weight, 2 * FRAMES * 6, file, "points.weight"))
        return printf("%s: arrays of points are missing\n", path), 1;
    constants.strength = golden_scalar(file, "points.strength", 0.0);
    law.stiffness = golden_scalar(file, "points.stiffness", 0.0);
    const radial_spec spec = {
        .form = RADIAL_INVERSE, .low = range[0], .high = range[1], .nodes = NODES, .width = width};
    const plane_spec grid = {.half = 1.5, .nodes = GRID, .width = width};
    if (radial_alloc(&pair, mem, &spec) || plane_alloc(&field, mem, &grid)) return 1;
    law.pair = &pair;
    law.field = &field;
    radial_fill(&pair, pair_weights);
    plane_fill(&field, field_weights);

    // Both ways from the start; the states of the forward one are in the file.
    points_seed seed = {0};
    int failures = 0;
    for (int side = 0; side < 2; side++) {
        points_path steps = {.q = path_memory};
        points_roll(&law, &constants,
                    &(points_rollout){.q = q0,
                                      .p = p0,
                                      .frames = FRAMES,
                                      .direction = side ? -1 : 1,
                                      .path = &steps,
                                      .q_out = q,
                                      .p_out = p});
        points_add_seed(&seed, &law, &constants, &steps, side ? -1 : 1, weight + side * FRAMES * 6);
        if (side) continue;
        failures += golden_same(file, path, "points.q", q, FRAMES * 6, 1e-8, 0.0);
        failures += golden_same(file, path, "points.p", p, FRAMES * 6, 1e-7, 0.0);
        const double lost =
            points_energy(&law, &constants, q0, p0) - points_energy(&law, &constants, q, p);
        failures += golden_same(file, path, "points.energy", &lost, 1, 1e-8, 0.0);
    }
    float by_pair[MAX_WEIGHTS] = {0}, by_field[MAX_WEIGHTS] = {0};
    const jets_shape pair_shape = radial_shape(&spec), field_shape = plane_shape(&grid);
    radial_add_gradient(&pair, by_pair);
    plane_add_gradient(&field, by_field);
    failures += golden_same(file, path, "points.by.q0", seed.q, 6, 1e-5, 1e-6);
    failures += golden_same(file, path, "points.by.p0", seed.p, 6, 1e-5, 1e-6);
    failures += golden_same(file, path, "points.by.mass", seed.constants.mass, 3, 1e-6, 1e-6);
    failures += golden_same(file, path, "points.by.centre", seed.constants.centre, 2, 1e-6, 1e-6);
    failures +=
        golden_same(file, path, "points.by.strength", &seed.constants.strength, 1, 1e-6, 1e-6);
    failures += golden_same(file, path, "points.by.stiffness", &seed.stiffness, 1, 1e-6, 1e-6);
    failures +=
        compare_weights(file, path, "points.by.pair", by_pair, jets_parameter_count(&pair_shape));
    return failures + compare_weights(file, path, "points.by.field", by_field,
                                      jets_parameter_count(&field_shape));
}

static int judge_chain(plumb_file *file, const char *path, arena *mem)
{
    const plane_spec grid = {
        .half = 1.1, .nodes = GRID, .width = (int)golden_scalar(file, "bodies.width", 0.0)};
    plane_table field[2];
    chain_law law = {.count = 2, .dt = golden_scalar(file, "bodies.dt", 0.0), .substeps = 1};
    chain_constants constants = {.strength = golden_scalar(file, "chain.strength", 0.0)};
    float weights[2][MAX_WEIGHTS];
    double q0[2], p0[2], gravity[4], weight[2 * FRAMES * 2], q[FRAMES * 2], p[FRAMES * 2];
    chain_step steps[FRAMES];
    if (!copy_array(q0, 2, file, "chain.q0") || !copy_array(p0, 2, file, "chain.p0") ||
        !copy_weights(weights[0], file, "chain.field0") ||
        !copy_weights(weights[1], file, "chain.field1") ||
        !copy_array(constants.mass, 2, file, "chain.mass") ||
        !copy_array(constants.length, 2, file, "chain.length") ||
        !copy_array(constants.pivot, 2, file, "chain.pivot") ||
        !copy_array(gravity, 4, file, "chain.gravity") ||
        !copy_array(weight, 2 * FRAMES * 2, file, "chain.weight"))
        return printf("%s: arrays of the chain are missing\n", path), 1;
    memcpy(law.gravity, gravity, sizeof gravity);
    for (int k = 0; k < 2; k++) {
        if (plane_alloc(&field[k], mem, &grid)) return 1;
        plane_fill(&field[k], weights[k]);
        law.field[k] = &field[k];
    }
    chain_seed seed = {0};
    int failures = 0;
    for (int side = 0; side < 2; side++) {
        chain_roll(&law, &constants,
                   &(chain_rollout){.q = q0,
                                    .p = p0,
                                    .frames = FRAMES,
                                    .direction = side ? -1 : 1,
                                    .path = steps,
                                    .q_out = q,
                                    .p_out = p});
        chain_add_seed(&seed, &law, &constants, steps, FRAMES, side ? -1 : 1,
                       weight + side * FRAMES * 2);
        if (side) continue;
        failures += golden_same(file, path, "chain.q", q, FRAMES * 2, 1e-7, 0.0);
        failures += golden_same(file, path, "chain.p", p, FRAMES * 2, 1e-7, 0.0);
        const double lost =
            chain_energy(&law, &constants, q0, p0) - chain_energy(&law, &constants, q, p);
        failures += golden_same(file, path, "chain.energy", &lost, 1, 1e-8, 0.0);
    }
    const jets_shape shape = plane_shape(&grid);
    failures += golden_same(file, path, "chain.by.q0", seed.q, 2, 1e-5, 1e-5);
    failures += golden_same(file, path, "chain.by.p0", seed.p, 2, 1e-5, 1e-5);
    failures += golden_same(file, path, "chain.by.mass", seed.constants.mass, 2, 1e-5, 1e-5);
    failures += golden_same(file, path, "chain.by.length", seed.constants.length, 2, 1e-5, 1e-5);
    failures +=
        golden_same(file, path, "chain.by.strength", &seed.constants.strength, 1, 1e-5, 1e-5);
    failures += golden_same(file, path, "chain.by.gravity", &seed.gravity[0][0], 4, 1e-5, 1e-5);
    for (int k = 0; k < 2; k++) {
        float gradient[MAX_WEIGHTS] = {0};
        plane_add_gradient(&field[k], gradient);
        failures += compare_weights(file, path, k ? "chain.by.field1" : "chain.by.field0", gradient,
                                    jets_parameter_count(&shape));
    }
    return failures;
}

static int judge_sprites(plumb_file *file, const char *path, arena *mem)
{
    enum { SIZE = 18, VALUES = SIZE * SIZE * 3 };
    double wide[VALUES], picture[VALUES], xy[6], radius[3], colour[9], gradient[6];
    float background[VALUES], weight[VALUES], drawn[VALUES];
    sprite_scratch scratch;
    sprite_scene scene = {.height = SIZE,
                          .width = SIZE,
                          .channels = 3,
                          .background = background,
                          .edge = golden_scalar(file, "sprites.edge", 1.0),
                          .count = 3};
    bool found = copy_array(wide, VALUES, file, "sprites.background");
    for (int i = 0; i < VALUES && found; i++) background[i] = (float)wide[i];
    found = found && copy_array(wide, VALUES, file, "sprites.weight");
    for (int i = 0; i < VALUES && found; i++) weight[i] = (float)wide[i];
    if (!found || !copy_array(xy, 6, file, "sprites.xy") ||
        !copy_array(radius, 3, file, "sprites.radius") ||
        !copy_array(colour, 9, file, "sprites.colour") || sprites_alloc(&scratch, mem, &scene))
        return printf("%s: arrays of sprites are missing\n", path), 1;
    for (int k = 0; k < 3; k++) {
        scene.sprites[k].radius = radius[k];
        memcpy(scene.sprites[k].colour, colour + 3 * k, 3 * sizeof *colour);
    }
    sprites_draw_reference(picture, &scene, xy);
    int failures = golden_same(file, path, "sprites.picture", picture, VALUES, 1e-14, 0.0);
    sprites_draw(drawn, &scene, xy, &scratch);
    for (int i = 0; i < VALUES; i++) picture[i] = (double)drawn[i];
    failures += golden_same(file, path, "sprites.picture", picture, VALUES, 2e-5, 0.0);
    sprites_gradient(gradient, &scene, xy, weight, &scratch);
    return failures + golden_same(file, path, "sprites.by.xy", gradient, 6, 1e-2, 0.0);
}

int golden_objects(plumb_file *file, const char *path)
{
    arena mem = {0};
    const int failures = judge_points(file, path, &mem) + judge_chain(file, path, &mem) +
                         judge_sprites(file, path, &mem);
    arena_clear(&mem);
    return failures;
}
