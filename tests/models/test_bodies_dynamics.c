// SPDX-License-Identifier: MIT
// Rollouts against exact motions, conserved energy and finite differences.
#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "models/bodies/chain.h"
#include "models/bodies/points.h"
#include "support/test.h"

enum {
    WIDTH = 8,
    FRAMES = 6,
    RADIAL_WEIGHTS = 16 + 8 + 64 + 8 + 8,
    PLANE_WEIGHTS = RADIAL_WEIGHTS
};

static void fill_random(float *x, int64_t n, uint64_t stream, double size)
{
    rng r = rng_at(9, stream);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(size * rng_normal(&r));
}

// ---- points ----

typedef struct points_bench {
    arena mem;
    radial_table pair;
    plane_table field;
    float pair_weights[RADIAL_WEIGHTS], field_weights[PLANE_WEIGHTS];
    points_law law;
    points_constants constants;
    double q[6], p[6], target[2 * FRAMES * 6]; // weights of the loss
} points_bench;

// Three masses with pair forces, a field, a spring and a centre.
static void start_points(points_bench *b, double box)
{
    *b = (points_bench){
        .law = {.count = 3, .box = box, .stiffness = 0.7, .dt = 0.1, .substeps = 2},
        .constants = {.mass = {1.0, 1.7, 0.6}, .centre = {0.1, -0.2}, .strength = 1.4},
        .q = {-0.5, 0.1, 0.3, 0.4, 0.2, -0.5},
        .p = {0.4, -0.3, 0.1, 0.5, -0.6, 0.2}};
    const radial_spec pair = {.form = box > 0.0 ? RADIAL_LOG : RADIAL_INVERSE,
                              .low = 0.3,
                              .high = 1.4,
                              .cut = 0.0,
                              .nodes = 20,
                              .width = WIDTH};
    const plane_spec field = {.half = 1.5, .nodes = 10, .width = WIDTH};
    CHECK_OK(radial_alloc(&b->pair, &b->mem, &pair));
    CHECK_OK(plane_alloc(&b->field, &b->mem, &field));
    fill_random(b->pair_weights, RADIAL_WEIGHTS, 1, 0.4);
    fill_random(b->field_weights, PLANE_WEIGHTS, 2, 0.4);
    b->law.pair = &b->pair;
    b->law.field = &b->field;
    rng r = rng_at(9, 3);
    for (int i = 0; i < 2 * FRAMES * 6; i++) b->target[i] = rng_normal(&r);
}

// A loss of the positions of a rollout in each direction: a sum with fixed weights, and squares.
static double points_loss(points_bench *b, points_seed *seed)
{
    double loss = 0.0, out[FRAMES * 6], by_q[FRAMES * 6];
    double path_memory[(1 + FRAMES * 2) * 6];
    points_path path = {.q = path_memory};
    radial_fill(&b->pair, b->pair_weights);
    plane_fill(&b->field, b->field_weights);
    for (int side = 0; side < 2; side++) {
        const int direction = side ? -1 : 1;
        points_roll(&b->law, &b->constants,
                    &(points_rollout){.q = b->q,
                                      .p = b->p,
                                      .frames = FRAMES,
                                      .direction = direction,
                                      .path = &path,
                                      .q_out = out});
        for (int i = 0; i < FRAMES * 6; i++) {
            const double w = b->target[side * FRAMES * 6 + i];
            loss += w * out[i] + 0.5 * out[i] * out[i];
            by_q[i] = w + out[i];
        }
        if (seed) points_add_seed(seed, &b->law, &b->constants, &path, direction, by_q);
    }
    return loss;
}

static double slope_by(points_bench *b, double *x)
{
    const double h = 1e-6, keep = *x;
    *x = keep + h;
    const double high = points_loss(b, NULL);
    *x = keep - h;
    const double low = points_loss(b, NULL);
    *x = keep;
    return (high - low) / (2.0 * h);
}

static double slope_by_weight(points_bench *b, float *w)
{
    const float keep = *w;
    *w = keep + 1e-3f;
    const double high = points_loss(b, NULL), up = (double)*w;
    *w = keep - 1e-3f;
    const double low = points_loss(b, NULL), down = (double)*w;
    *w = keep;
    return (high - low) / (up - down);
}

static void check_points_gradient(double box)
{
    points_bench b;
    points_seed seed = {0};
    float pair[RADIAL_WEIGHTS] = {0}, field[PLANE_WEIGHTS] = {0};
    start_points(&b, box);
    points_loss(&b, &seed);
    radial_add_gradient(&b.pair, pair);
    plane_add_gradient(&b.field, field);
    for (int i = 0; i < 6; i++) {
        CHECK_NEAR(seed.q[i], slope_by(&b, &b.q[i]), 1e-6 * (1.0 + fabs(seed.q[i])));
        CHECK_NEAR(seed.p[i], slope_by(&b, &b.p[i]), 1e-6 * (1.0 + fabs(seed.p[i])));
    }
    for (int k = 0; k < 3; k++)
        CHECK_NEAR(seed.constants.mass[k], slope_by(&b, &b.constants.mass[k]), 1e-5);
    for (int c = 0; c < 2; c++)
        CHECK_NEAR(seed.constants.centre[c], slope_by(&b, &b.constants.centre[c]), 1e-5);
    CHECK_NEAR(seed.constants.strength, slope_by(&b, &b.constants.strength), 1e-5);
    CHECK_NEAR(seed.stiffness, slope_by(&b, &b.law.stiffness), 1e-5);
    for (int i = 0; i < RADIAL_WEIGHTS; i += 3) {
        const double want = slope_by_weight(&b, &b.pair_weights[i]);
        CHECK_NEAR((double)pair[i], want, 1e-3 * (1.0 + fabs(want)));
    }
    for (int i = 0; i < PLANE_WEIGHTS; i += 3) {
        const double want = slope_by_weight(&b, &b.field_weights[i]);
        CHECK_NEAR((double)field[i], want, 1e-3 * (1.0 + fabs(want)));
    }
    arena_clear(&b.mem);
}

TEST(the_gradient_through_leapfrog_steps_is_that_of_differences)
{
    check_points_gradient(0.0);
    check_points_gradient(2.0);
}

TEST(points_keep_their_energy_and_return_if_time_is_reversed)
{
    points_bench b;
    enum { STEPS = 300 };
    double q[STEPS * 6], p[STEPS * 6], back[STEPS * 6];
    start_points(&b, 0.0);
    b.law.substeps = 32;
    radial_fill(&b.pair, b.pair_weights);
    plane_fill(&b.field, b.field_weights);
    points_roll(&b.law, &b.constants,
                &(points_rollout){
                    .q = b.q, .p = b.p, .frames = STEPS, .direction = 1, .q_out = q, .p_out = p});
    const double H = points_energy(&b.law, &b.constants, b.q, b.p);
    CHECK_NEAR(points_energy(&b.law, &b.constants, q + (STEPS - 1) * 6, p + (STEPS - 1) * 6), H,
               3e-3);
    points_roll(&b.law, &b.constants,
                &(points_rollout){.q = q + (STEPS - 1) * 6,
                                  .p = p + (STEPS - 1) * 6,
                                  .frames = STEPS,
                                  .direction = -1,
                                  .q_out = back});
    for (int i = 0; i < 6; i++) CHECK_NEAR(back[(STEPS - 1) * 6 + i], b.q[i], 1e-6);
    arena_clear(&b.mem);
}

TEST(a_spring_alone_swings_as_it_should)
{
    const points_law law = {.count = 1, .stiffness = 4.0, .dt = 0.1, .substeps = 50};
    const points_constants constants = {.mass = {1.0}, .centre = {0.3, 0.0}, .strength = 1.0};
    const double q[2] = {1.3, 0.0}, p[2] = {0.0, 0.0};
    double out[40 * 2];
    points_roll(&law, &constants,
                &(points_rollout){.q = q, .p = p, .frames = 40, .direction = 1, .q_out = out});
    for (int t = 0; t < 40; t++) CHECK_NEAR(out[2 * t], 0.3 + cos(2.0 * 0.1 * (t + 1)), 1e-4);
}

// ---- chains ----

typedef struct chain_bench {
    arena mem;
    plane_table field[2];
    float weights[2][PLANE_WEIGHTS];
    chain_law law;
    chain_constants constants;
    double q[2], v[2], target[2 * FRAMES * 4];
} chain_bench;

static void start_chain(chain_bench *b)
{
    *b = (chain_bench){
        .law = {.count = 2, .gravity = {{0.1, -2.0}, {-0.2, -1.5}}, .dt = 0.1, .substeps = 2},
        .constants = {.mass = {1.0, 0.8},
                      .length = {0.5, 0.4},
                      .pivot = {0.05, -0.1},
                      .strength = 1.2},
        .q = {0.9, -0.4},
        .v = {0.7, 1.9}};
    const plane_spec field = {.half = 1.2, .nodes = 10, .width = WIDTH};
    for (int k = 0; k < 2; k++) {
        CHECK_OK(plane_alloc(&b->field[k], &b->mem, &field));
        fill_random(b->weights[k], PLANE_WEIGHTS, 20 + (uint64_t)k, 0.4);
        b->law.field[k] = &b->field[k];
    }
    rng r = rng_at(9, 30);
    for (int i = 0; i < 2 * FRAMES * 4; i++) b->target[i] = rng_normal(&r);
}

// A loss of the places, from angles and velocities: momenta, rollouts both ways, places.
static double chain_loss(chain_bench *b, chain_seed *seed, double *by_v)
{
    double loss = 0.0, p[2], q_out[FRAMES * 2];
    chain_step path[FRAMES * 2];
    for (int k = 0; k < 2; k++) plane_fill(&b->field[k], b->weights[k]);
    chain_momenta(p, 2, &b->constants, b->q, b->v);
    for (int side = 0; side < 2; side++) {
        const int direction = side ? -1 : 1;
        double by_q[FRAMES * 2] = {0};
        chain_roll(&b->law, &b->constants,
                   &(chain_rollout){.q = b->q,
                                    .p = p,
                                    .frames = FRAMES,
                                    .direction = direction,
                                    .path = path,
                                    .q_out = q_out});
        for (int t = 0; t < FRAMES; t++) {
            double xy[4], by_xy[4];
            chain_places(xy, 2, &b->constants, q_out + 2 * t);
            for (int i = 0; i < 4; i++) {
                const double w = b->target[(side * FRAMES + t) * 4 + i];
                loss += w * xy[i] + 0.5 * xy[i] * xy[i];
                by_xy[i] = w + xy[i];
            }
            if (seed)
                chain_add_places_seed(by_q + 2 * t, &seed->constants, 2, &b->constants,
                                      q_out + 2 * t, by_xy);
        }
        if (seed) chain_add_seed(seed, &b->law, &b->constants, path, FRAMES, direction, by_q);
    }
    if (seed)
        chain_add_momenta_seed(&(chain_momenta_seed){.q = b->q,
                                                     .v = b->v,
                                                     .by_p = seed->p,
                                                     .by_q = seed->q,
                                                     .by_v = by_v,
                                                     .by_constants = &seed->constants},
                               2, &b->constants);
    return loss;
}

static double chain_slope(chain_bench *b, double *x)
{
    const double h = 1e-6, keep = *x;
    *x = keep + h;
    const double high = chain_loss(b, NULL, NULL);
    *x = keep - h;
    const double low = chain_loss(b, NULL, NULL);
    *x = keep;
    return (high - low) / (2.0 * h);
}

TEST(the_gradient_through_runge_kutta_steps_is_that_of_differences)
{
    chain_bench b;
    chain_seed seed = {0};
    double by_v[2] = {0};
    float gradient[2][PLANE_WEIGHTS] = {{0}};
    start_chain(&b);
    chain_loss(&b, &seed, by_v);
    for (int k = 0; k < 2; k++) plane_add_gradient(&b.field[k], gradient[k]);
    for (int k = 0; k < 2; k++) {
        CHECK_NEAR(seed.q[k], chain_slope(&b, &b.q[k]), 1e-5);
        CHECK_NEAR(by_v[k], chain_slope(&b, &b.v[k]), 1e-5);
        CHECK_NEAR(seed.constants.mass[k], chain_slope(&b, &b.constants.mass[k]), 1e-5);
        CHECK_NEAR(seed.constants.length[k], chain_slope(&b, &b.constants.length[k]), 1e-5);
        CHECK_NEAR(seed.constants.pivot[k], chain_slope(&b, &b.constants.pivot[k]), 1e-5);
        for (int c = 0; c < 2; c++)
            CHECK_NEAR(seed.gravity[k][c], chain_slope(&b, &b.law.gravity[k][c]), 1e-5);
        for (int i = 0; i < PLANE_WEIGHTS; i += 3) {
            float *w = &b.weights[k][i];
            const float keep = *w;
            *w = keep + 1e-3f;
            const double high = chain_loss(&b, NULL, NULL), up = (double)*w;
            *w = keep - 1e-3f;
            const double low = chain_loss(&b, NULL, NULL), down = (double)*w;
            *w = keep;
            CHECK_NEAR((double)gradient[k][i], (high - low) / (up - down),
                       1e-3 * (1.0 + fabs((double)gradient[k][i])));
        }
    }
    CHECK_NEAR(seed.constants.strength, chain_slope(&b, &b.constants.strength), 1e-5);
    arena_clear(&b.mem);
}

TEST(a_chain_keeps_its_energy)
{
    chain_bench b;
    enum { STEPS = 200 };
    double p[2], q_out[STEPS * 2], p_out[STEPS * 2];
    start_chain(&b);
    b.law.substeps = 10;
    for (int k = 0; k < 2; k++) plane_fill(&b.field[k], b.weights[k]);
    chain_momenta(p, 2, &b.constants, b.q, b.v);
    chain_roll(
        &b.law, &b.constants,
        &(chain_rollout){
            .q = b.q, .p = p, .frames = STEPS, .direction = 1, .q_out = q_out, .p_out = p_out});
    const double H = chain_energy(&b.law, &b.constants, b.q, p);
    CHECK_NEAR(chain_energy(&b.law, &b.constants, q_out + (STEPS - 1) * 2, p_out + (STEPS - 1) * 2),
               H, 5e-4);
    arena_clear(&b.mem);
}

TEST(one_link_without_a_field_turns_evenly)
{
    const chain_law law = {.count = 1, .dt = 0.1, .substeps = 1};
    const chain_constants constants = {.mass = {2.0}, .length = {0.5}, .strength = 1.0};
    const double q[1] = {0.2}, p[1] = {1.0}; // turns at p / (m l^2) = 2
    double out[10];
    chain_roll(&law, &constants,
               &(chain_rollout){.q = q, .p = p, .frames = 10, .direction = 1, .q_out = out});
    CHECK_NEAR(out[9], 0.2 + 2.0 * 1.0, 1e-12);
}
