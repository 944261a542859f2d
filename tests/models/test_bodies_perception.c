// SPDX-License-Identifier: MIT
#include "models/bodies/perception.h"

#include <stdlib.h>
#include <string.h>

#include "dataset/video_load.h"
#include "support/test.h"

// Frames and true states of a world.
typedef struct test_set {
    arena mem;
    video_set videos;
    double *state; // (count, steps, dims)
    int64_t dims;
} test_set;

static void load_set(test_set *out, const char *world, int64_t count, int64_t steps)
{
    *out = (test_set){0};
    video_request request = {.seed = 3, .count = count, .steps = steps, .image = 32, .threads = 2};
    CHECK_OK(plumb_world_find(&request.world, world));
    CHECK_OK(video_load_world(&out->videos, &out->mem, &request));
    out->dims = 2 * plumb_world_get_info(request.world)->n;
    out->state = ARENA_ALLOC(&out->mem, double, count *steps * out->dims);
    const plumb_world_options opt = plumb_world_defaults();
    for (int64_t i = 0; i < count; i++) {
        const plumb_world_item item = {.state = out->state + i * steps * out->dims};
        CHECK_OK(plumb_world_simulate(&item, request.world, 3, i, steps, &opt));
    }
}

// Distance in pixels from a true place, in world coordinates on a canvas of half side `half`.
static double distance_of(const double *xy, const double *place, double half)
{
    const double x = (place[0] / half + 1.0) * 15.5, y = (place[1] / half + 1.0) * 15.5;
    return hypot(xy[0] - x, xy[1] - y);
}

TEST(two_bodies_are_found_to_three_thousandths_of_a_pixel)
{
    test_set set;
    perception seen;
    track_set tracks;
    load_set(&set, "two-body", 20, 100);
    const perception_options options = {.objects = 2, .colours = 2, .seed = 1, .threads = 1};
    CHECK_OK(perception_learn(&seen, &set.mem, &set.videos, &options));
    CHECK_OK(perception_track(&tracks, &set.mem, &seen, &set.videos, 2));
    double square = 0.0;
    for (int64_t i = 0; i < 20; i++) {
        // Bodies are known by colour; which one the world calls the first differs.
        const double *first = tracks.xy + i * 100 * 4, *state = set.state + i * 100 * 8;
        const int swap = distance_of(first, state, 2.75) > distance_of(first, state + 2, 2.75);
        for (int64_t t = 0; t < 100; t++)
            for (int k = 0; k < 2; k++) {
                const double d = distance_of(tracks.xy + (i * 100 + t) * 4 + 2 * k,
                                             state + t * 8 + 2 * (k ^ swap), 2.75);
                square += d * d / (20 * 100 * 2);
            }
    }
    CHECK(sqrt(square) < 0.003);
    for (int64_t n = 0; n < 20 * 100; n++) CHECK(tracks.error[n] < 2e-5);
    arena_clear(&set.mem);
}

TEST(the_number_of_threads_does_not_change_a_bit)
{
    test_set set;
    perception seen;
    track_set one, two;
    load_set(&set, "md-4", 6, 30);
    const perception_options options = {
        .objects = 4, .colours = 4, .periodic = true, .seed = 1, .threads = 1};
    CHECK_OK(perception_learn(&seen, &set.mem, &set.videos, &options));
    CHECK_OK(perception_track(&one, &set.mem, &seen, &set.videos, 1));
    CHECK_OK(perception_track(&two, &set.mem, &seen, &set.videos, 2));
    CHECK(!memcmp(one.xy, two.xy, sizeof(double) * 6 * 30 * 8));
    arena_clear(&set.mem);
}

TEST(radius_and_colour_of_each_video_are_found)
{
    test_set set;
    perception seen;
    track_set tracks;
    load_set(&set, "mass-spring+c", 60, 30);
    const perception_options options = {
        .objects = 1, .colours = 6, .own_looks = true, .seed = 1, .threads = 2};
    CHECK_OK(perception_learn(&seen, &set.mem, &set.videos, &options));
    CHECK_OK(perception_track(&tracks, &set.mem, &seen, &set.videos, 2));
    int bad = 0;
    for (int64_t n = 0; n < 60 * 30; n++) bad += tracks.error[n] > 3e-5;
    CHECK(bad < 18);
    // The radii differ: that is what tells masses apart.
    double low = 100.0, high = 0.0;
    for (int64_t i = 0; i < 60; i++) {
        low = fmin(low, tracks.looks[i].radius);
        high = fmax(high, tracks.looks[i].radius);
    }
    CHECK(high > 1.3 * low);
    arena_clear(&set.mem);
}

TEST(frames_without_objects_are_refused_in_words)
{
    enum { SIZE = 16 };
    arena mem = {0};
    perception seen;
    uint8_t *frames = ARENA_ALLOC(&mem, uint8_t, 4 * 5 * SIZE * SIZE * 3);
    memset(frames, 90, 4 * 5 * SIZE * SIZE * 3);
    const video_set videos = {
        .frames = frames, .count = 4, .steps = 5, .height = SIZE, .width = SIZE, .channels = 3};
    const perception_options options = {.objects = 1, .colours = 1, .seed = 1, .threads = 1};
    CHECK_FAILS(perception_learn(&seen, &mem, &videos, &options), PLUMB_EVALUE,
                "no moving objects");
    arena_clear(&mem);
}

// Two discs that cross; in every other video the second one is in front.
static void draw_crossing(uint8_t *frames, const float *background, int video, int steps)
{
    enum { SIZE = 32, VALUES = SIZE * SIZE * 3 };
    double picture[VALUES];
    sprite_scene scene = {
        .height = SIZE,
        .width = SIZE,
        .channels = 3,
        .background = background,
        .edge = 2.5,
        .count = 2,
        .sprites = {{3.0, {1.0, 0.1, 0.1, 0.0}, video % 2}, {3.0, {0.1, 0.9, 0.9, 0.0}, 0}}};
    for (int t = 0; t < steps; t++) {
        const double s = (t - 0.5 * steps) / steps, tilt = 0.7 * video;
        const double x = 20.0 * s * cos(tilt), y = 20.0 * s * sin(tilt);
        const double xy[4] = {15.5 + x, 16.0 + y, 15.5 - x, 15.0 - y};
        sprites_draw_reference(picture, &scene, xy);
        for (int i = 0; i < VALUES; i++)
            frames[t * VALUES + i] = (uint8_t)(255.0 * picture[i] + 0.5);
    }
}

TEST(which_object_is_in_front_is_found_for_each_video)
{
    enum { VIDEOS = 12, STEPS = 40, VALUES = 32 * 32 * 3 };
    arena mem = {0};
    perception seen;
    track_set tracks;
    float *background = ARENA_ALLOC(&mem, float, VALUES);
    uint8_t *frames = ARENA_ALLOC(&mem, uint8_t, VIDEOS * STEPS * VALUES);
    for (int i = 0; i < VALUES; i++) background[i] = 0.35f;
    for (int v = 0; v < VIDEOS; v++)
        draw_crossing(frames + v * STEPS * VALUES, background, v, STEPS);
    const video_set videos = {.frames = frames,
                              .count = VIDEOS,
                              .steps = STEPS,
                              .height = 32,
                              .width = 32,
                              .channels = 3};
    const perception_options options = {.objects = 2, .colours = 2, .seed = 1, .threads = 1};
    CHECK_OK(perception_learn(&seen, &mem, &videos, &options));
    CHECK_OK(perception_track(&tracks, &mem, &seen, &videos, 1));
    for (int v = 0; v < VIDEOS; v++) {
        CHECK_EQUAL(tracks.looks[2 * v].depth, v % 2);
        // Where the rear disc is hidden its place is not known, but the picture is right.
        for (int t = 0; t < STEPS; t++) CHECK(tracks.error[v * STEPS + t] < 3e-4);
    }
    arena_clear(&mem);
}
