// SPDX-License-Identifier: MIT
#include "models/bodies/sprites.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

enum { SIZE = 20, CHANNELS = 3, VALUES = SIZE * SIZE * CHANNELS, SPRITES = 3 };

typedef struct bench {
    arena mem;
    sprite_scene scene;
    sprite_scratch scratch;
    float background[VALUES];
    double xy[2 * SPRITES];
} bench;

// Three discs; the first two overlap, the third is cut by the edge of the picture.
static void bench_start(bench *b)
{
    *b = (bench){.scene = {.height = SIZE,
                           .width = SIZE,
                           .channels = CHANNELS,
                           .edge = 2.3,
                           .count = SPRITES,
                           .sprites = {{2.5, {1.0, 0.1, 0.0, 0.0}},
                                       {3.1, {0.0, 0.9, 0.8, 0.0}},
                                       {1.7, {0.2, 0.3, 1.0, 0.0}}}},
                 .xy = {8.3, 9.1, 11.2, 10.4, 18.6, 1.3}};
    for (int i = 0; i < VALUES; i++) b->background[i] = (float)(0.3 + 0.2 * sin(0.7 * i));
    b->scene.background = b->background;
    CHECK_OK(sprites_alloc(&b->scratch, &b->mem, &b->scene));
}

TEST(drawing_near_the_discs_equals_drawing_every_pixel)
{
    bench b;
    bench_start(&b);
    double want[VALUES];
    float got[VALUES];
    sprites_draw_reference(want, &b.scene, b.xy);
    sprites_draw(got, &b.scene, b.xy, &b.scratch);
    for (int i = 0; i < VALUES; i++) CHECK_NEAR((double)got[i], want[i], 2e-5);
    arena_clear(&b.mem);
}

TEST(a_sprite_at_nan_or_far_away_draws_nothing)
{
    bench b;
    bench_start(&b);
    float got[VALUES];
    double away[2 * SPRITES] = {(double)NAN, 3.0, 1e300, -5.0, -500.0, 0.0};
    sprites_draw(got, &b.scene, away, &b.scratch);
    CHECK(!memcmp(got, b.background, sizeof got));
    arena_clear(&b.mem);
}

// Sum of weights times the picture, in double.
static double weigh_picture(const bench *b, const double *xy, const float *weight)
{
    double picture[VALUES], sum = 0.0;
    sprites_draw_reference(picture, &b->scene, xy);
    for (int i = 0; i < VALUES; i++) sum += (double)weight[i] * picture[i];
    return sum;
}

TEST(the_gradient_by_places_is_that_of_differences)
{
    bench b;
    bench_start(&b);
    float weight[VALUES];
    double got[2 * SPRITES];
    for (int i = 0; i < VALUES; i++) weight[i] = (float)cos(1.3 * i);
    sprites_gradient(got, &b.scene, b.xy, weight, &b.scratch);
    for (int i = 0; i < 2 * SPRITES; i++) {
        const double h = 1e-5, keep = b.xy[i];
        b.xy[i] = keep + h;
        const double high = weigh_picture(&b, b.xy, weight);
        b.xy[i] = keep - h;
        const double low = weigh_picture(&b, b.xy, weight);
        b.xy[i] = keep;
        CHECK_NEAR(got[i], (high - low) / (2.0 * h), 1e-4);
    }
    arena_clear(&b.mem);
}

// Half the squared residual of the frame, whose derivatives are minus the sums.
static double half_square(const bench *b, const uint8_t *frame)
{
    double picture[VALUES], sum = 0.0;
    sprites_draw_reference(picture, &b->scene, b->xy);
    for (int i = 0; i < VALUES; i++) {
        const double e = frame[i] / 255.0 - picture[i];
        sum += 0.5 * e * e;
    }
    return sum;
}

static double slope_of(const bench *b, double *value, const uint8_t *frame)
{
    const double h = 1e-5, keep = *value;
    *value = keep + h;
    const double high = half_square(b, frame);
    *value = keep - h;
    const double low = half_square(b, frame);
    *value = keep;
    return (high - low) / (2.0 * h);
}

TEST(the_sums_are_the_gradient_of_the_squared_residual)
{
    bench b;
    bench_start(&b);
    uint8_t frame[VALUES];
    sprite_sums sums[SPRITES];
    for (int i = 0; i < VALUES; i++) frame[i] = (uint8_t)(i * 37 % 256);
    sprites_sum(sums, &b.scene, b.xy, frame, true, &b.scratch);
    double edge = 0.0;
    for (int k = 0; k < SPRITES; k++) {
        CHECK_NEAR(sums[k].x, -slope_of(&b, &b.xy[2 * k], frame), 5e-3);
        CHECK_NEAR(sums[k].y, -slope_of(&b, &b.xy[2 * k + 1], frame), 5e-3);
        CHECK_NEAR(sums[k].radius, -slope_of(&b, &b.scene.sprites[k].radius, frame), 5e-3);
        for (int c = 0; c < CHANNELS; c++)
            CHECK_NEAR(sums[k].colour[c], -slope_of(&b, &b.scene.sprites[k].colour[c], frame),
                       3e-2);
        edge += sums[k].edge;
    }
    CHECK_NEAR(edge, -slope_of(&b, &b.scene.edge, frame), 2e-2);
    arena_clear(&b.mem);
}

// A ring, a blob and a disc with a dip, as splines.
static void use_profiles(bench *b, float *weights)
{
    for (int k = 0; k < SPRITES; k++) {
        float *row = weights + k * PROFILE_NODES;
        memset(row, 0, PROFILE_NODES * sizeof *row);
        for (int j = 1; j < PROFILE_NODES - 3; j++) {
            const double d = 0.25 * (j - 1);
            row[j] = (float)(exp(-(d - k) * (d - k)) * (1.0 - 0.04 * j));
        }
        row[0] = row[2];
    }
    b->scene.profile = weights;
    b->scene.profile_step = 0.25;
}

TEST(two_sprites_that_are_exchanged_make_the_same_picture)
{
    // Whichever is in front; an exchange of the array alone puts the other one in front, and gives
    // each the profile of the other.
    for (int n = 0; n < 4; n++) {
        bench b;
        bench_start(&b);
        double before[VALUES], after[VALUES];
        float weights[SPRITES * PROFILE_NODES], drawn[VALUES];
        const double exchanged[4] = {b.xy[2], b.xy[3], b.xy[0], b.xy[1]};
        if (n / 2) use_profiles(&b, weights);
        b.scene.count = 2;
        b.scene.sprites[0].depth = n % 2;
        sprites_draw_reference(before, &b.scene, b.xy);
        sprites_exchange(b.scene.sprites);
        sprites_draw_reference(after, &b.scene, exchanged);
        sprites_draw(drawn, &b.scene, exchanged, &b.scratch);
        for (int i = 0; i < VALUES; i++) CHECK_NEAR(after[i], before[i], 1e-12);
        for (int i = 0; i < VALUES; i++) CHECK_NEAR((double)drawn[i], before[i], 2e-5);
        sprites_exchange(b.scene.sprites);
        sprites_draw_reference(after, &b.scene, b.xy);
        for (int i = 0; i < VALUES; i++) CHECK_NEAR(after[i], before[i], 1e-12);
        arena_clear(&b.mem);
    }
}

TEST(profiles_have_the_derivatives_of_differences)
{
    bench b;
    float weights[SPRITES * PROFILE_NODES], got[VALUES], weight[VALUES];
    double want[VALUES], gradient[2 * SPRITES];
    uint8_t frame[VALUES];
    sprite_sums sums[SPRITES];
    bench_start(&b);
    use_profiles(&b, weights);
    sprites_draw_reference(want, &b.scene, b.xy);
    sprites_draw(got, &b.scene, b.xy, &b.scratch);
    for (int i = 0; i < VALUES; i++) CHECK_NEAR((double)got[i], want[i], 1e-6);
    for (int i = 0; i < VALUES; i++) {
        weight[i] = (float)cos(1.3 * i);
        frame[i] = (uint8_t)(i * 37 % 256);
    }
    sprites_gradient(gradient, &b.scene, b.xy, weight, &b.scratch);
    sprites_sum(sums, &b.scene, b.xy, frame, true, &b.scratch);
    for (int k = 0; k < SPRITES; k++) {
        CHECK_NEAR(sums[k].x, -slope_of(&b, &b.xy[2 * k], frame), 5e-3);
        CHECK_NEAR(sums[k].y, -slope_of(&b, &b.xy[2 * k + 1], frame), 5e-3);
        for (int c = 0; c < 2; c++) {
            const double h = 1e-5, keep = b.xy[2 * k + c];
            b.xy[2 * k + c] = keep + h;
            const double high = weigh_picture(&b, b.xy, weight);
            b.xy[2 * k + c] = keep - h;
            const double low = weigh_picture(&b, b.xy, weight);
            b.xy[2 * k + c] = keep;
            CHECK_NEAR(gradient[2 * k + c], (high - low) / (2.0 * h), 1e-4);
        }
    }
    arena_clear(&b.mem);
}

TEST(the_normal_equations_of_a_profile_have_its_weights_as_solution)
{
    bench b;
    float weights[SPRITES * PROFILE_NODES];
    double picture[VALUES];
    uint8_t frame[VALUES];
    profile_sums sums[SPRITES] = {0};
    bench_start(&b);
    use_profiles(&b, weights);
    sprites_draw_reference(picture, &b.scene, b.xy);
    for (int i = 0; i < VALUES; i++) frame[i] = (uint8_t)(255.0 * picture[i] + 0.5);
    sprites_add_profile(sums, &b.scene, b.xy, frame, &b.scratch);
    for (int k = 0; k < SPRITES; k++)
        for (int i = 1; i < PROFILE_NODES - 3; i++) {
            double sum = 0.0;
            for (int j = 1; j < PROFILE_NODES; j++)
                sum += sums[k].normal[i][j] * (double)weights[k * PROFILE_NODES + j];
            CHECK_NEAR(sum, sums[k].right[i], 2e-2); // bytes are rounded
        }
    arena_clear(&b.mem);
}

TEST(the_error_of_its_own_picture_is_that_of_rounding_to_bytes)
{
    bench b;
    bench_start(&b);
    double picture[VALUES];
    float scratch[VALUES];
    uint8_t frame[VALUES];
    sprites_draw_reference(picture, &b.scene, b.xy);
    for (int i = 0; i < VALUES; i++) frame[i] = (uint8_t)(255.0 * picture[i] + 0.5);
    const double own = sprites_error(&b.scene, b.xy, frame, scratch, &b.scratch);
    CHECK(own < 2e-6);
    b.xy[0] += 1.0;
    CHECK(sprites_error(&b.scene, b.xy, frame, scratch, &b.scratch) > 100.0 * own);
    arena_clear(&b.mem);
}
