// SPDX-License-Identifier: MIT
// The fast renderer draws the bytes of its reference implementation.
#include "worlds/render/discs.h"

#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "worlds/world_fixtures.h"

enum { LARGEST = 64, BYTES = LARGEST * LARGEST * 3 };

static disc_style random_style(double *xy, rng *r)
{
    static const int64_t sizes[] = {32, 32, 32, 32, 16, 48, 64, 4};
    const int count = 1 + (int)rng_below(r, 16) % (1 + (int)rng_below(r, 16));
    const int64_t size = sizes[rng_below(r, 8)];
    const double half = 1.0 + 4.0 * rng_uniform(r);
    const double sharpness = rng_below(r, 4) ? 80.0 : 20.0 + 400.0 * rng_uniform(r);
    disc_style p = discs_make_style(size, count, -half, half, sharpness);
    for (int k = 0; k < count; k++) {
        p.radius[k] = 0.01 + 0.15 * rng_uniform(r);
        if (!rng_below(r, 50)) p.radius[k] = 2.0 * rng_uniform(r);
        discs_color(p.color[k], rng_below(r, 6), 6);
        for (int i = 0; i < 2; i++) xy[2 * k + i] = 1.3 * half * (2.0 * rng_uniform(r) - 1.0);
    }
    return p;
}

TEST(bytes_are_those_of_the_reference_on_random_images)
{
    static uint8_t want[BYTES], got[BYTES];
    static const char *const sets[] = {"portable", "avx2"};
    // A million were compared once; this many every time.
    const char *wish = getenv("PLUMB_TEST_PICTURES");
    const int64_t count = wish ? atoll(wish) : 10000;
    rng r = rng_at(1, 0);
    for (int64_t i = 0; i < count; i++) {
        double xy[2 * DISCS_MAX];
        const disc_style p = random_style(xy, &r);
        discs_draw_reference(want, &p, xy);
        for (int s = 0; s < 2; s++) {
            if (!discs_select(sets[s])) continue;
            discs_draw(got, &p, xy);
            CHECK(!memcmp(want, got, (size_t)(p.size * p.size * 3)));
        }
    }
}

TEST(bytes_are_those_of_the_reference_for_every_world_of_particles)
{
    static uint8_t frames[40 * 32 * 32 * 3], want[BYTES];
    // Images of the worlds against the reference, which is called directly.
    const plumb_world *world = walk_world("mass-spring+c");
    for (int64_t item = 0; item < 50; item++) {
        double state[40 * 2], par[WALK_PARAMETERS];
        const plumb_world_item out = {.state = state, .parameters = par, .frames = frames};
        CHECK_OK(plumb_world_simulate(&out, world, 1, item, 40, NULL));
        const double half = 1.4 * (1.0 + sqrt(1.0 / 3.141592653589793));
        disc_style p = discs_make_style(32, 1, -half, half, 80.0);
        p.radius[0] = sqrt(par[1] / 3.141592653589793) / (2.0 * half);
        discs_color(p.color[0], (int64_t)par[4], 6);
        for (int t = 0; t < 40; t++) {
            const double xy[2] = {par[2], par[3] + state[2 * t]};
            discs_draw_reference(want, &p, xy);
            CHECK(!memcmp(want, frames + t * 3072, 3072));
        }
    }
}

TEST(background_is_the_published_one)
{
    uint8_t frame[32 * 32 * 3];
    disc_style p = discs_make_style(32, 1, -1.0, 1.0, 80.0);
    p.radius[0] = 0.1;
    const double away[2] = {50.0, -3.0};
    discs_draw(frame, &p, away);
    for (int i = 0; i < 32 * 32; i++) {
        CHECK_EQUAL(frame[3 * i], 81);
        CHECK_EQUAL(frame[3 * i + 1], 88);
        CHECK_EQUAL(frame[3 * i + 2], 93);
    }
}

TEST(six_colours)
{
    static const double want[6][3] = {{1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                      {0, 1, 1}, {0, 0, 1}, {1, 0, 1}};
    for (int i = 0; i < 6; i++) {
        double rgb[3];
        discs_color(rgb, i, 6);
        for (int k = 0; k < 3; k++) CHECK_NEAR(rgb[k], want[i][k], 0.0);
    }
}

TEST(row_0_is_the_bottom_and_particle_0_is_in_front)
{
    uint8_t frame[32 * 32 * 3];
    disc_style p = discs_make_style(32, 2, -1.0, 1.0, 80.0);
    p.radius[0] = p.radius[1] = 0.15;
    discs_color(p.color[0], 0, 2); // red
    discs_color(p.color[1], 1, 2); // cyan
    const double low[4] = {0.0, -0.8, 0.0, -0.8};
    discs_draw(frame, &p, low);
    const uint8_t *bottom = frame + 3 * (3 * 32 + 16), *top = frame + 3 * (28 * 32 + 16);
    CHECK(bottom[0] > 240 && bottom[1] < 10);
    CHECK(top[0] == 81 && top[1] == 88);
}

TEST(places_that_are_no_numbers_draw_something_and_nothing_breaks)
{
    uint8_t frame[32 * 32 * 3];
    disc_style p = discs_make_style(32, 3, -1.0, 1.0, 80.0);
    for (int k = 0; k < 3; k++) p.radius[k] = 0.1;
    p.radius[2] = 1e6;
    const double xy[6] = {(double)NAN, 0.0, 0.0, 1e300, 0.0, 0.0};
    discs_draw(frame, &p, xy);
    p.radius[2] = 0.1;
    discs_draw(frame, &p, xy);
    const double nowhere[6] = {(double)INFINITY, 0.0, -(double)INFINITY, (double)NAN, 1e9, -1e9};
    discs_draw(frame, &p, nowhere);
    CHECK_EQUAL(frame[0], 81);
}
