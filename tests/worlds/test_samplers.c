// SPDX-License-Identifier: MIT
// Shares and relations that the published sets are known to have. Bars are four standard errors or
// more, with these seeds.
#include <stdlib.h>

#include "worlds/world_fixtures.h"

enum { DRAWS = 20000 };

static double share_turning(const char *name)
{
    const plumb_world *world = walk_world(name);
    int turning = 0;
    for (int64_t i = 0; i < DRAWS; i++) {
        double x[2], par[8], energy;
        const plumb_world_item out = {.state = x, .parameters = par, .energy = &energy};
        CHECK_OK(plumb_world_simulate(&out, world, 1, i, 1, NULL));
        turning += energy > 2.0 * par[0] * par[2] * par[1];
    }
    return turning / (double)DRAWS;
}

TEST(a_third_of_the_pendulums_turn_over)
{
    CHECK_NEAR(share_turning("pendulum"), 0.316, 0.014);
    CHECK_NEAR(share_turning("pendulum+c"), 0.206, 0.012);
}

// The share of draws that survive the rule is what the mean number of draws says; a survivor at
// `reject_steps` frames is the first draw of its item if it is the same as with no rule.
static double share_surviving(int64_t frames)
{
    const plumb_world *world = walk_world("two-body+c");
    plumb_world_options opt = plumb_world_defaults();
    int survived = 0;
    for (int64_t i = 0; i < 4000; i++) {
        double first[8], kept[8];
        opt.reject_steps = 1;
        plumb_world_item out = {.state = first};
        CHECK_OK(plumb_world_simulate(&out, world, 1, i, 1, &opt));
        opt.reject_steps = frames;
        out.state = kept;
        CHECK_OK(plumb_world_simulate(&out, world, 1, i, 1, &opt));
        survived += !memcmp(first, kept, sizeof kept);
    }
    return survived / 4000.0;
}

TEST(long_trajectories_of_two_bodies_are_rarer)
{
    CHECK_NEAR(share_surviving(121), 1.0, 0.001);
    CHECK_NEAR(share_surviving(256), 0.78, 0.03);
    CHECK_NEAR(share_surviving(512), 0.62, 0.03);
}

TEST(no_survivor_leaves_the_canvas)
{
    static double state[512 * 8];
    const plumb_world *world = walk_world("two-body+c");
    for (int64_t i = 0; i < 200; i++) {
        const plumb_world_item out = {.state = state};
        CHECK_OK(plumb_world_simulate(&out, world, 2, i, 512, NULL));
        for (int t = 0; t < 512; t++)
            for (int k = 0; k < 4; k++) CHECK(fabs(state[8 * t + k]) <= 5.0);
    }
}

// In the published generator one random key served two draws.
TEST(gravity_knows_nothing_of_position)
{
    const plumb_world *world = walk_world("two-body+c");
    plumb_world_options opt = plumb_world_defaults();
    opt.reject_steps = 1;
    double sum[2] = {0.0};
    int above[2][2] = {{0}};
    for (int64_t i = 0; i < DRAWS; i++) {
        double x[8], par[8];
        const plumb_world_item out = {.state = x, .parameters = par};
        CHECK_OK(plumb_world_simulate(&out, world, 1, i, 1, &opt));
        for (int k = 0; k < 2; k++) sum[k] += 12.0 * (x[k] - 1.0) * (par[2] - 1.0);
        above[x[0] > 1.0][par[2] > 1.0]++;
    }
    for (int k = 0; k < 2; k++) CHECK_NEAR(sum[k] / DRAWS, 0.0, 0.03); // correlation, s.e. 0.007
    for (int a = 0; a < 4; a++) CHECK_NEAR(above[a / 2][a % 2] / (double)DRAWS, 0.25, 0.013);
}

TEST(plain_two_body_orbits_are_circles)
{
    static double state[300 * 8];
    const plumb_world *world = walk_world("two-body");
    for (int64_t i = 0; i < 50; i++) {
        const plumb_world_item out = {.state = state};
        CHECK_OK(plumb_world_simulate(&out, world, 1, i, 300, NULL));
        const double radius = hypot(state[0], state[1]);
        for (int t = 0; t < 300; t++) {
            const double *x = state + 8 * t;
            CHECK_NEAR(hypot(x[0], x[1]), radius, 1e-13);
            for (int k = 0; k < 2; k++) {
                CHECK_NEAR(x[2 + k], -x[k], 1e-14);
                CHECK_NEAR(x[6 + k], -x[4 + k], 1e-14);
            }
        }
    }
}

TEST(plain_sets_swap_their_two_colours)
{
    const plumb_world *world = walk_world("double-pendulum");
    int swapped = 0;
    for (int64_t i = 0; i < 2000; i++) {
        double par[16];
        const plumb_world_item out = {.parameters = par};
        CHECK_OK(plumb_world_simulate(&out, world, 1, i, 1, NULL));
        CHECK(par[7] + par[8] == 1.0);
        swapped += par[7] == 1.0;
    }
    CHECK_NEAR(swapped / 2000.0, 0.5, 0.05);
}

TEST(things_in_a_room_stand_apart_on_its_floor)
{
    const plumb_world *world = walk_world("room-circle");
    int kinds[4] = {0};
    for (int64_t i = 0; i < 500; i++) {
        double x[6], par[WALK_PARAMETERS];
        walk_begin(x, par, world, 1, i);
        CHECK_NEAR(x[0] * x[0] + x[1] * x[1] + x[2] * x[2], 1.0, 1e-15);
        double foot[5];
        for (int k = 0; k < 5; k++) {
            const double *o = par + 12 + 11 * k;
            const int kind = (int)o[0];
            kinds[kind]++;
            foot[k] = kind == 3 ? sqrt(2.0) * o[4] : o[4];
            CHECK(hypot(o[1], o[2]) <= 0.6 && o[4] >= 0.08 && o[4] < 0.18);
            const double below = kind == 0 ? o[4] : kind == 1 ? o[4] + o[6] : o[6];
            CHECK_NEAR(o[3], below, 1e-15);
            for (int j = 0; j < k; j++) {
                const double *other = par + 12 + 11 * j;
                CHECK(hypot(o[1] - other[1], o[2] - other[2]) > foot[k] + foot[j]);
            }
        }
    }
    for (int k = 0; k < 4; k++) CHECK(kinds[k] > 400);
}

TEST(azimuths_run_on_without_a_jump)
{
    static double z[1700 * 4];
    for (int w = 0; w < 2; w++) {
        const plumb_world *world = walk_world(w ? "room-spiral" : "room-circle");
        const int64_t c2 = 2 * plumb_world_get_info(world)->canonical_n, at = w; // phi is second
        for (int64_t item = 0; item < 20; item++) {
            const plumb_world_item out = {.canonical = z};
            CHECK_OK(plumb_world_simulate(&out, world, 1, item, 1700, NULL));
            for (int64_t t = 1; t < 1700; t++)
                CHECK_NEAR(z[t * c2 + at] - z[(t - 1) * c2 + at], 3.141592653589793 / 1800.0,
                           1e-12);
        }
    }
}
