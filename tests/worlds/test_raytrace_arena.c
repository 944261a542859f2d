// SPDX-License-Identifier: MIT
#include "worlds/render/raytrace_arena.h"

#include <stdlib.h>

#include "worlds/world.h"
#include "worlds/world_fixtures.h"

// One thing in the middle, the others far below the floor.
static raytrace_arena room_with(raytrace_shape kind)
{
    raytrace_arena room = {.half = 1.5,
                           .height = 1.2,
                           .floor = {0.5, 0.5, 0.5},
                           .wall = {0.2, 0.2, 0.2},
                           .sky = {0.6, 0.75, 0.9}};
    for (int k = 0; k < RAYTRACE_OBJECTS; k++)
        room.object[k] = (raytrace_object){
            RAYTRACE_SHAPE_SPHERE, {0, 0, -50.0 - k}, {0.1, 0.1, 0.1}, {1, 0}, {0}};
    room.object[0] = (raytrace_object){kind, {0, 0, 0.2}, {0.2, 0.2, 0.2}, {0.96, 0.28}, {1, 0, 0}};
    return room;
}

// How many pixels a thing covers, all samples red.
static int64_t red_pixels(const raytrace_arena *room, const double camera[3])
{
    static double values[32 * 32 * 3];
    int64_t count = 0;
    raytrace_arena_draw_reference(values, 32, room, camera);
    for (int i = 0; i < 32 * 32; i++) count += values[3 * i] > 0.0 && values[3 * i + 1] == 0.0;
    return count;
}

TEST(a_sphere_covers_what_its_angle_says)
{
    const raytrace_arena room = room_with(RAYTRACE_SHAPE_SPHERE);
    const double camera[3] = {0.8, 0.0, 0.6};
    // The centre is 0.2 above the point looked at. Solid angle of a cone against the picture's;
    // the edges are pixels only partly red.
    const int64_t seen = red_pixels(&room, camera);
    const double d2 = 0.8 * 0.8 + 0.4 * 0.4, tangent2 = 0.04 / (d2 - 0.04);
    const double whole = 3.141592653589793 * tangent2 / (4.0 / 3.0) * 1024.0;
    CHECK(seen > 0.75 * whole && seen < 1.1 * whole);
}

TEST(a_box_is_larger_than_its_cylinder_and_a_capsule_than_its_sphere)
{
    const double camera[3] = {0.7, 0.3, 0.648074069840786};
    int64_t seen[4];
    for (int k = 0; k < 4; k++) {
        const raytrace_arena room = room_with((raytrace_shape)k);
        seen[k] = red_pixels(&room, camera);
        CHECK(seen[k] > 50);
    }
    CHECK(seen[RAYTRACE_SHAPE_BOX] > seen[RAYTRACE_SHAPE_CYLINDER]);
    CHECK(seen[RAYTRACE_SHAPE_CYLINDER] > seen[RAYTRACE_SHAPE_SPHERE]);
    CHECK(seen[RAYTRACE_SHAPE_CAPSULE] > seen[RAYTRACE_SHAPE_SPHERE]);
}

TEST(windows_change_no_byte)
{
    static double values[32 * 32 * 3];
    static uint8_t frame[32 * 32 * 3];
    const plumb_world *world = walk_world("room-spiral");
    for (int64_t item = 0; item < 60; item++) {
        double state[6], par[WALK_PARAMETERS];
        walk_begin(state, par, world, 1, item);
        if (item % 2) { // low, where the tops of the walls and the sky can be seen
            const double low = 0.01 * (double)item, scale = sqrt(1.0 - low * low);
            state[0] = scale * cos((double)item);
            state[1] = scale * sin((double)item);
            state[2] = low;
        }
        CHECK_OK(world_render(frame, world, state, par, NULL));
        raytrace_arena room = {.half = 1.5, .height = 1.2};
        memcpy(room.floor, par + 3, sizeof room.floor);
        memcpy(room.wall, par + 6, sizeof room.wall);
        memcpy(room.sky, par + 9, sizeof room.sky);
        for (int k = 0; k < RAYTRACE_OBJECTS; k++) {
            const double *o = par + 12 + 11 * k;
            room.object[k] = (raytrace_object){(raytrace_shape)(int)o[0],
                                               {o[1], o[2], o[3]},
                                               {o[4], o[5], o[6]},
                                               {cos(o[7]), sin(o[7])},
                                               {o[8], o[9], o[10]}};
        }
        raytrace_arena_draw_reference(values, 32, &room, state);
        for (int i = 0; i < 32 * 32 * 3; i++) CHECK_EQUAL(frame[i], (int)(255.0 * values[i]));
    }
}

TEST(row_0_is_the_top)
{
    static uint8_t frame[32 * 32 * 3];
    double state[6], par[WALK_PARAMETERS];
    const plumb_world *world = walk_world("room-circle");
    walk_begin(state, par, world, 1, 0);
    // Low and looking level: sky above the walls
    const double low[6] = {0.9998, 0.0, 0.02, 0.0, 0.99, 0.0};
    CHECK_OK(world_render(frame, world, low, par, NULL));
    CHECK_EQUAL(frame[0], 153);
    CHECK_EQUAL(frame[2], 229);
    CHECK(frame[3 * 31 * 32 + 2] != 229);
}

TEST(a_camera_straight_above_breaks_nothing)
{
    static uint8_t frame[32 * 32 * 3];
    const double above[6] = {0.0, 0.0, 1.0}, inside[6] = {0.0, 0.0, 0.0};
    CHECK_OK(world_render(frame, walk_world("room-circle"), above, NULL, NULL));
    CHECK_OK(world_render(frame, walk_world("room-spiral"), inside, NULL, NULL));
}
