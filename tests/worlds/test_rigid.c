// SPDX-License-Identifier: MIT
// Rigid bodies against what mechanics says in closed form.
#include <string.h>

#include "math/rng.h"
#include "support/test.h"
#include "worlds/rooms/rigid.h"

static const double h = 0.002, g = 9.81;

static rigid_world world_of(int count)
{
    rigid_world r = {.count = count};
    return r;
}

static void run(rigid_world *r, int steps)
{
    for (int i = 0; i < steps; i++) rigid_step(r, h);
}

TEST(free_flight_is_a_parabola)
{
    rigid_world r = world_of(1);
    r.bodies[0] = body_make_ball(0.1, 3.0);
    const double x[3] = {0.0, 0.0, 5.0}, v[3] = {1.0, -2.0, 1.5};
    memcpy(r.bodies[0].x, x, sizeof x);
    memcpy(r.bodies[0].v, v, sizeof v);
    run(&r, 300);
    const double t = 300 * h;
    CHECK_NEAR(r.bodies[0].x[0], t, 1e-12);
    CHECK_NEAR(r.bodies[0].x[1], -2.0 * t, 1e-12);
    CHECK_NEAR(r.bodies[0].x[2], 5.0 + 1.5 * t - 0.5 * g * t * t, 1e-11);
}

TEST(a_tumbling_box_keeps_its_momentum_and_energy)
{
    const double half[3] = {0.1, 0.25, 0.4};
    rigid_world r = world_of(1);
    r.bodies[0] = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 2.0);
    r.bodies[0].x[2] = 100.0;
    const double w[3] = {3.0, 0.2, 0.1}; // near the middle axis of inertia: it flips
    memcpy(r.bodies[0].w, w, sizeof w);
    const double before = rigid_energy(&r);
    run(&r, 500);
    CHECK_NEAR(rigid_energy(&r), before, 1e-6 * before);
    CHECK(fabs(r.bodies[0].w[0] - 3.0) > 1e-3);
}

TEST(a_ball_that_rolls_rolls_on)
{
    rigid_world r = world_of(1);
    rigid_body *b = &r.bodies[0];
    *b = body_make_ball(0.2, 10.0);
    b->x[2] = 0.2;
    b->v[0] = 1.5;
    b->w[1] = 1.5 / 0.2;
    run(&r, 500);
    CHECK_NEAR(b->x[0], 1.5, 1e-9);
    CHECK_NEAR(b->x[2], 0.2, 1e-6);
    CHECK_NEAR(b->w[1], 7.5, 1e-9);
}

// Friction makes a sliding ball roll at 5/7 of its speed, whatever the friction is.
TEST(a_sliding_ball_ends_rolling_at_five_sevenths)
{
    rigid_world r = world_of(1);
    rigid_body *b = &r.bodies[0];
    *b = body_make_ball(0.2, 10.0);
    b->x[2] = 0.2;
    b->v[0] = 2.0;
    run(&r, 400);
    CHECK_NEAR(b->v[0], 2.0 * 5.0 / 7.0, 1e-3);
    CHECK_NEAR(b->w[1] * 0.2, b->v[0], 1e-6);
}

// a = g (sin s - mu cos s) for a box that slides.
TEST(a_box_on_a_slope_slides_as_friction_lets_it)
{
    const double slope = 0.8, ramp_half[3] = {3.0, 1.0, 0.1}, half[3] = {0.2, 0.2, 0.1};
    const double y[3] = {0.0, 1.0, 0.0};
    rigid_world r = world_of(2);
    r.bodies[0] = body_make_box(PLUMB_ROOM_SHAPE_RAMP, ramp_half, 0.0);
    r.bodies[1] = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 5.0);
    double axis[3][3];
    for (int i = 0; i < 2; i++) body_rotate(&r.bodies[i], y, slope);
    body_axes(axis, r.bodies[0].q);
    r.bodies[0].x[2] = 5.0;
    for (int k = 0; k < 3; k++) r.bodies[1].x[k] = r.bodies[0].x[k] - axis[0][k] + 0.2 * axis[2][k];
    double start[3];
    memcpy(start, r.bodies[1].x, sizeof start);
    run(&r, 300);
    double way = 0.0, off = 0.0;
    for (int k = 0; k < 3; k++) {
        way += axis[0][k] * (r.bodies[1].x[k] - start[k]);
        off += axis[2][k] * (r.bodies[1].x[k] - start[k]);
    }
    const double t = 300 * h, a = g * (sin(slope) - 0.5 * cos(slope));
    CHECK_NEAR(way, 0.5 * a * t * t, 0.01 * way);
    CHECK_NEAR(off, 0.0, 5e-4);
}

TEST(a_ball_bounces_to_the_height_restitution_says)
{
    rigid_world r = world_of(1);
    rigid_body *b = &r.bodies[0];
    *b = body_make_ball(0.1, 1.0);
    b->x[2] = 1.1;
    double top = 0.0;
    bool up = false;
    for (int i = 0; i < 500; i++) {
        rigid_step(&r, h);
        up |= b->v[2] > 0.0;
        if (up && b->x[2] > top) top = b->x[2];
    }
    CHECK_NEAR(top - 0.1, 0.4 * 0.4 * 1.0, 0.02);
}

// Like light from a mirror, at any angle.
TEST(a_smooth_ball_leaves_a_mirror_as_it_came)
{
    for (int k = -4; k <= 4; k++) {
        const double angle = 0.25 * k;
        const double half[3] = {2.0, 0.2, 0.3};
        rigid_world r = world_of(2);
        r.bodies[0] = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 0.0);
        r.bodies[1] = body_make_ball(0.15, 10.0);
        r.bodies[0].x[1] = 1.0;
        r.bodies[0].x[2] = 0.3;
        r.bodies[0].mirror = r.bodies[1].mirror = true;
        r.bodies[1].friction = 0.0;
        r.bodies[1].x[2] = 0.15;
        r.bodies[1].v[0] = 2.0 * sin(angle);
        r.bodies[1].v[1] = 2.0 * cos(angle);
        run(&r, 500);
        CHECK_NEAR(r.bodies[1].v[0], 2.0 * sin(angle), 1e-9);
        CHECK_NEAR(r.bodies[1].v[1], -2.0 * cos(angle), 1e-9);
    }
}

// Two equal balls, head on: momentum stays, and they part at 0.4 of their approach.
TEST(balls_share_their_momentum)
{
    rigid_world r = world_of(2);
    for (int i = 0; i < 2; i++) {
        r.bodies[i] = body_make_ball(0.1, 10.0);
        r.bodies[i].x[0] = i;
        r.bodies[i].x[2] = 50.0; // in the air
    }
    r.bodies[0].v[0] = 4.0;
    run(&r, 200);
    CHECK_NEAR(r.bodies[0].v[0] + r.bodies[1].v[0], 4.0, 1e-9);
    CHECK_NEAR(r.bodies[1].v[0] - r.bodies[0].v[0], 1.6, 1e-9);
}

TEST(a_stack_stands)
{
    rigid_world r = world_of(3);
    double z = 0.0;
    for (int i = 0; i < 3; i++) {
        const double half[3] = {0.2 - 0.03 * i, 0.18 - 0.03 * i, 0.1};
        r.bodies[i] = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 10.0);
        r.bodies[i].x[2] = z + 0.1;
        z += 0.2;
    }
    run(&r, 1000);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(r.bodies[i].x[0], 0.0, 1e-3);
        CHECK_NEAR(r.bodies[i].x[2], 0.1 + 0.2 * i, 2e-3);
    }
    CHECK(r.max_overlap < 1e-3);
}

TEST(what_is_held_waits_and_what_is_overlapping_is_seen)
{
    rigid_world r = world_of(2);
    r.bodies[0] = body_make_ball(0.1, 1.0);
    r.bodies[1] = body_make_ball(0.1, 1.0);
    r.bodies[0].x[2] = 1.0;
    r.bodies[0].release = 0.1;
    r.bodies[1].x[2] = 0.1;
    run(&r, 50);
    CHECK_NEAR(r.bodies[0].x[2], 1.0, 0.0);
    run(&r, 20);
    CHECK(r.bodies[0].x[2] < 1.0);
    CHECK(!rigid_overlaps(&r, 1e-3));
    r.bodies[1].x[2] = r.bodies[0].x[2] - 0.15;
    CHECK(rigid_overlaps(&r, 1e-3));
    r.bodies[1].x[2] = 0.05; // in the floor
    CHECK(rigid_overlaps(&r, 1e-3));
}

// Random heaps: nothing sinks in, and energy never grows.
TEST(heaps_lose_energy_and_do_not_sink)
{
    rng random = rng_at(3, 4);
    for (int trial = 0; trial < 20; trial++) {
        rigid_world r = world_of(7);
        for (int i = 0; i < 7; i++) {
            double half[3], axis[3] = {0.0, 0.6, 0.8};
            for (int k = 0; k < 3; k++) half[k] = 0.08 + 0.15 * rng_uniform(&random);
            r.bodies[i] =
                rng_below(&random, 3) == 0
                    ? body_make_ball(half[0], 10.0)
                    : body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 5.0 + 35.0 * rng_uniform(&random));
            body_rotate(&r.bodies[i], axis, 6.0 * rng_uniform(&random));
            r.bodies[i].x[0] = 0.2 * rng_uniform(&random);
            r.bodies[i].x[1] = 0.2 * rng_uniform(&random);
            r.bodies[i].x[2] = 0.5 + 0.9 * i;
        }
        double energy = rigid_energy(&r);
        const double first = energy;
        for (int t = 0; t < 30; t++) {
            run(&r, 30);
            CHECK(rigid_energy(&r) <= energy + 1e-4 * first);
            energy = rigid_energy(&r);
        }
        CHECK(energy < 0.6 * first);
        CHECK(r.max_overlap < 0.02);
        CHECK(!rigid_overlaps(&r, 0.01));
    }
}

// phi'' = -(3 g / 2 L) cos phi, by steps a hundred times as fine.
static double fallen(double angle, double rate, double length, double time)
{
    const int steps = (int)lround(100.0 * time / h);
    const double fine = time / steps, k = 1.5 * g / length;
    for (int i = 0; i < steps; i++) {
        rate -= fine * k * cos(angle);
        angle += fine * rate;
    }
    return angle;
}

static rigid_body leaning(double angle, double rate)
{
    const double half[3] = {0.3, 0.7, 1e-4}, across[3] = {1.0, 0.0, 0.0};
    rigid_body b = body_make_box(PLUMB_ROOM_SHAPE_PLANK, half, 20.0);
    body_rotate(&b, across, -angle);
    b.x[2] = body_lowest_point(&b) + 1e-3;
    body_hinge(&b);
    b.w[0] = rate;
    body_update_hinged(&b);
    return b;
}

static double tilt(const rigid_body *b)
{
    double axis[3][3];
    body_axes(axis, b->q);
    return asin(-axis[1][2]);
}

TEST(a_plank_on_a_hinge_falls_as_a_rod_does)
{
    rigid_world r = world_of(1);
    r.bodies[0] = leaning(1.2, 1.0);
    const rigid_body *b = &r.bodies[0];
    const double before = rigid_energy(&r);
    run(&r, 100);
    CHECK_NEAR(tilt(b), fallen(1.2, -1.0, 1.4, 100 * h), 2e-3);
    CHECK(rigid_energy(&r) <= before && rigid_energy(&r) > 0.998 * before);
    run(&r, 400);
    CHECK_NEAR(tilt(b), 0.0, 2e-3); // flat
    CHECK_NEAR(b->x[1] + 0.7 * cos(tilt(b)), b->pivot[1], 1e-3);
}

TEST(a_plank_on_a_hinge_stops_at_what_is_under_it)
{
    const double half[3] = {0.15, 0.1, 0.09};
    rigid_world r = world_of(2);
    r.bodies[0] = leaning(1.2, 1.0);
    r.bodies[1] = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 10.0);
    r.bodies[1].x[1] = r.bodies[0].pivot[1] - 0.65, r.bodies[1].x[2] = 0.09 + 1e-5;
    const double rest = atan(0.18 / 0.55);
    double least = 1.2;
    for (int i = 0; i < 800; i++) {
        rigid_step(&r, h);
        least = fmin(least, tilt(&r.bodies[0]));
    }
    CHECK(least > rest - 0.02); // it never goes below, as a plank without a hinge does
    CHECK_NEAR(tilt(&r.bodies[0]), rest, 0.02);
    CHECK(fabs(r.bodies[1].x[1] - (r.bodies[0].pivot[1] - 0.65)) < 0.02);
}
