// SPDX-License-Identifier: MIT
// The quick drawing against the plain one, and what light and shadow must do.
#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "support/test.h"
#include "worlds/render/raytrace_boxes.h"

enum { SIZE = 64, PIXELS = SIZE * SIZE };

static const raytrace_camera front = {{0.0, 0.0, 0.3}, 3.0, 90.0, -40.0};
static const raytrace_floor chess = {{0.3, 0.6}, {{0.9, 0.8, 0.7}, {0.3, 0.4, 0.5}}};

typedef struct test_view {
    void *memory;
    raytrace_view view;
} test_view;

static test_view open_test_view(const raytrace_camera *camera)
{
    test_view s = {.memory = malloc((size_t)raytrace_boxes_view_size(SIZE))};
    raytrace_boxes_view_init(&s.view, s.memory, SIZE);
    raytrace_boxes_view_aim(&s.view, camera, &chess);
    return s;
}

static raytrace_box_part box_at(double x, double y, double z, double half, uint8_t id)
{
    return (raytrace_box_part){.id = id,
                               .center = {x, y, z},
                               .axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                               .half = {half, half, half},
                               .color = {0.8, 0.2, 0.2}};
}

static raytrace_box_part ball_at(double x, double y, double z, double radius, uint8_t id)
{
    raytrace_box_part p = box_at(x, y, z, radius, id);
    p.ball = true;
    return p;
}

static double u(rng *r, double low, double high)
{
    return low + (high - low) * rng_uniform(r);
}

// A box turned by a random rotation.
static void turn(raytrace_box_part *p, rng *r)
{
    double q[4], length = 0.0;
    for (int k = 0; k < 4; k++) q[k] = rng_normal(r), length += q[k] * q[k];
    for (int k = 0; k < 4; k++) q[k] /= sqrt(length);
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double m[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
                            {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
                            {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(p->axis, m, sizeof m);
}

TEST(windows_change_no_byte)
{
    static uint8_t fast[3 * PIXELS], plain[3 * PIXELS], fast_mask[PIXELS], plain_mask[PIXELS];
    rng r = rng_at(1, 2);
    for (int i = 0; i < 60; i++) {
        const raytrace_camera camera = {
            {u(&r, -0.2, 0.2), 0.0, 0.3}, u(&r, 2.4, 3.4), u(&r, 50.0, 130.0), u(&r, -60.0, -10.0)};
        test_view s = open_test_view(&camera);
        raytrace_box_scene scene = {.count = 1 + (int)rng_below(&r, 12)};
        for (int k = 0; k < scene.count; k++) {
            raytrace_box_part *p = &scene.part[k];
            *p = box_at(u(&r, -1.5, 1.5), u(&r, -1.5, 2.0), u(&r, 0.0, 1.5), 0.1, (uint8_t)(k + 1));
            for (int j = 0; j < 3; j++) p->half[j] = u(&r, 0.02, 0.6);
            p->ball = rng_below(&r, 3) == 0;
            if (!p->ball && rng_below(&r, 2)) turn(p, &r);
        }
        raytrace_boxes_draw(fast, fast_mask, &s.view, &scene);
        raytrace_boxes_draw_reference(plain, plain_mask, &s.view, &scene);
        CHECK(!memcmp(fast, plain, sizeof fast));
        CHECK(!memcmp(fast_mask, plain_mask, sizeof fast_mask));
        free(s.memory);
    }
}

TEST(what_is_hidden_leaves_no_trace)
{
    static uint8_t with[3 * PIXELS], without[3 * PIXELS], mask[2][PIXELS];
    test_view s = open_test_view(&front);
    raytrace_box_scene scene = {.count = 2};
    scene.part[0] = box_at(0.0, -0.3, 0.4, 0.4, 1);
    scene.part[1] = ball_at(0.05, 0.35, 0.15, 0.15, 2);
    raytrace_boxes_draw(with, mask[0], &s.view, &scene);
    scene.count = 1;
    raytrace_boxes_draw(without, mask[1], &s.view, &scene);
    CHECK(!memcmp(with, without, sizeof with));
    CHECK(!memcmp(mask[0], mask[1], PIXELS));
    // Moved aside it shows.
    scene.count = 2;
    scene.part[1].center[0] = 0.9;
    raytrace_boxes_draw(with, mask[0], &s.view, &scene);
    CHECK(memcmp(with, without, sizeof with));
    free(s.memory);
}

// Straight below a ball in the air the floor has lost the light from above.
TEST(a_shadow_is_under_its_thing)
{
    static uint8_t lit[3 * PIXELS], dark[3 * PIXELS], mask[PIXELS];
    test_view s = open_test_view(&front);
    raytrace_box_scene none = {0}, one = {.count = 1};
    one.part[0] = ball_at(0.0, 0.0, 1.5, 0.3, 1);
    raytrace_boxes_draw(lit, mask, &s.view, &none);
    raytrace_boxes_draw(dark, mask, &s.view, &one);
    // The origin is below the middle of the picture: it looks at (0, 0, 0.3).
    const double down = 0.3 * cos(0.698131700797732) / (3.0 + 0.3 * sin(0.698131700797732));
    const int row = (int)((1.0 + down / 0.41421356237309503) * 0.5 * SIZE), at = row * SIZE + 32;
    CHECK_EQUAL(mask[at], 0);
    for (int k = 0; k < 3; k++) {
        CHECK(dark[3 * at + k] < lit[3 * at + k]);
        CHECK_NEAR((double)(lit[3 * at + k] - dark[3 * at + k]) / 255.0,
                   0.35 * chess.color[lit[3 * at] < 128][k], 0.01);
    }
    int shadow = 0;
    for (int i = 0; i < PIXELS; i++) shadow += !mask[i] && dark[3 * i] != lit[3 * i];
    CHECK(shadow > 50 && shadow < 400);
    free(s.memory);
}

TEST(the_top_of_a_box_is_lighter_than_its_side)
{
    static uint8_t frame[3 * PIXELS], mask[PIXELS];
    test_view s = open_test_view(&front);
    raytrace_box_scene one = {.count = 1};
    one.part[0] = box_at(0.0, 0.0, 0.3, 0.3, 5);
    raytrace_boxes_draw(frame, mask, &s.view, &one);
    int top = -1, bottom = -1;
    for (int r = 0; r < SIZE; r++)
        if (mask[r * SIZE + 32] == 5) {
            if (top < 0) top = r;
            bottom = r;
        }
    CHECK(top > 0 && bottom > top + 10);
    const int high = 3 * ((top + 2) * SIZE + 32), low = 3 * ((bottom - 2) * SIZE + 32);
    // 0.25 + 0.4 sin 40 + 0.35 against 0.25 + 0.4 cos 40, roughly, for the slant of the ray
    CHECK_NEAR((double)frame[high] / 255.0, 0.8 * (0.60 + 0.40 * 0.60), 0.05);
    CHECK_NEAR((double)frame[low] / 255.0, 0.8 * (0.25 + 0.40 * 0.77), 0.05);
    free(s.memory);
}

TEST(of_two_in_one_place_the_first_is_seen)
{
    static uint8_t frame[3 * PIXELS], mask[PIXELS];
    test_view s = open_test_view(&front);
    raytrace_box_scene two = {.count = 2};
    two.part[0] = box_at(0.0, 0.0, 0.3, 0.3, 3);
    two.part[1] = box_at(0.0, 0.0, 0.3, 0.3, 4);
    raytrace_boxes_draw(frame, mask, &s.view, &two);
    int first = 0, second = 0;
    for (int i = 0; i < PIXELS; i++) first += mask[i] == 3, second += mask[i] == 4;
    CHECK(first > 100);
    CHECK_EQUAL(second, 0);
    free(s.memory);
}
