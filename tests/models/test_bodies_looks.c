// SPDX-License-Identifier: MIT
// Objects that are white, rings, or before a texture; their number; what training says where an
// assumption fails.
#include <stdlib.h>
#include <string.h>

#include "dataset/video_load.h"
#include "models/bodies/perception.h"
#include "models/bodies/tracks.h"
#include "support/test.h"

enum { VIDEOS = 16, STEPS = 100, PIXELS = 32, VALUES = PIXELS * PIXELS * 3 };

typedef struct test_set {
    arena mem;
    video_set videos;
    double *state; // (VIDEOS, STEPS, 8)
} test_set;

// two-body by other options.
static void load_set(test_set *out, const plumb_world_options *options)
{
    const plumb_world *world;
    *out = (test_set){0};
    uint8_t *frames = ARENA_ALLOC(&out->mem, uint8_t, VIDEOS * STEPS * VALUES);
    out->state = ARENA_ALLOC(&out->mem, double, VIDEOS *STEPS * 8);
    CHECK_OK(plumb_world_find(&world, "two-body"));
    for (int64_t i = 0; i < VIDEOS; i++) {
        const plumb_world_item item = {.frames = frames + i * STEPS * VALUES,
                                       .state = out->state + i * STEPS * 8};
        CHECK_OK(plumb_world_simulate(&item, world, 7, i, STEPS, options));
    }
    out->videos = (video_set){.frames = frames,
                              .count = VIDEOS,
                              .steps = STEPS,
                              .height = PIXELS,
                              .width = PIXELS,
                              .channels = 3};
}

// Root mean square in pixels of the distance to the true places. An object may be either body, but
// the same one throughout a video.
static double find_distance(const test_set *set, const track_set *tracks)
{
    double square = 0.0;
    for (int64_t i = 0; i < VIDEOS; i++) {
        double both[2] = {0.0, 0.0};
        for (int64_t n = i * STEPS; n < (i + 1) * STEPS; n++)
            for (int k = 0; k < 4; k++)
                for (int swap = 0; swap < 2; swap++) {
                    const double place = set->state[n * 8 + (k + 2 * swap) % 4];
                    const double d = tracks->xy[n * 4 + k] - (place / 2.75 + 1.0) * 15.5;
                    both[swap] += d * d / (2.0 * VIDEOS * STEPS);
                }
        square += fmin(both[0], both[1]);
    }
    return sqrt(square);
}

static double track_look(const plumb_world_options *look, int colours, bool profile)
{
    test_set set;
    perception seen;
    track_set tracks;
    load_set(&set, look);
    const perception_options options = {
        .objects = 2, .colours = colours, .profile = profile, .seed = 1, .threads = 2};
    CHECK_OK(perception_learn(&seen, &set.mem, &set.videos, &options));
    CHECK_OK(perception_track(&tracks, &set.mem, &seen, &set.videos, 2));
    const double distance = find_distance(&set, &tracks);
    arena_clear(&set.mem);
    return distance;
}

TEST(two_white_balls_keep_their_identity)
{
    plumb_world_options look = plumb_world_defaults();
    look.colors = PLUMB_WORLD_COLORS_WHITE;
    CHECK(track_look(&look, 1, false) < 0.02);
}

TEST(balls_before_a_texture_are_found)
{
    plumb_world_options look = plumb_world_defaults();
    look.background = PLUMB_WORLD_BACKGROUND_TEXTURE;
    CHECK(track_look(&look, 2, false) < 0.02);
}

TEST(rings_are_found_by_a_learnt_profile_and_worse_without)
{
    plumb_world_options look = plumb_world_defaults();
    look.profile = PLUMB_WORLD_PROFILE_RING;
    const double learnt = track_look(&look, 2, true);
    CHECK(learnt < 0.02);
    CHECK(track_look(&look, 2, false) > learnt);
}

TEST(white_rings_before_a_texture_are_found)
{
    plumb_world_options look = plumb_world_defaults();
    look.colors = PLUMB_WORLD_COLORS_WHITE;
    look.background = PLUMB_WORLD_BACKGROUND_TEXTURE;
    look.profile = PLUMB_WORLD_PROFILE_RING;
    CHECK(track_look(&look, 1, true) < 0.03);
}

TEST(the_number_of_objects_is_found)
{
    test_set set;
    perception_choice choice;
    plumb_world_options look = plumb_world_defaults();
    for (int white = 0; white < 2; white++) {
        if (white) look.colors = PLUMB_WORLD_COLORS_WHITE;
        load_set(&set, &look);
        const perception_options options = {.objects = 4, .seed = 1, .threads = 2};
        CHECK_OK(perception_choose(&choice, &set.videos, &options));
        CHECK_EQUAL(choice.objects, 2);
        CHECK_EQUAL(choice.colours, white ? 1 : 2);
        CHECK(strstr(choice.text, "2: "));
        arena_clear(&set.mem);
    }
}

// Two discs that overlap in all frames, of sizes that differ between videos; the second is in
// front in every other video. Returns the largest error of a radius.
static double find_radius_error(void)
{
    arena mem = {0};
    perception seen;
    track_set tracks;
    static float background[VALUES];
    double picture[VALUES], worst = 0.0, radius[VIDEOS][2];
    uint8_t *frames = ARENA_ALLOC(&mem, uint8_t, VIDEOS * STEPS * VALUES);
    for (int i = 0; i < VALUES; i++) background[i] = 0.3f;
    for (int v = 0; v < VIDEOS; v++) {
        radius[v][0] = 3.0 + 0.1 * v;
        radius[v][1] = 4.5 - 0.1 * v;
        const sprite_scene scene = {
            .height = PIXELS,
            .width = PIXELS,
            .channels = 3,
            .background = background,
            .edge = 2.5,
            .count = 2,
            .sprites = {{.radius = radius[v][0], .colour = {1.0, 0.1, 0.1}, .depth = v % 2},
                        {.radius = radius[v][1], .colour = {0.0, 0.9, 0.9}}}};
        for (int t = 0; t < STEPS; t++) {
            const double angle = 0.13 * t + v, x = 16.0 + 6.0 * sin(0.05 * t + v);
            const double xy[4] = {x, 15.0, x + 5.0 * cos(angle), 15.0 + 5.0 * sin(angle)};
            sprites_draw_reference(picture, &scene, xy);
            for (int i = 0; i < VALUES; i++)
                frames[(v * STEPS + t) * VALUES + i] = (uint8_t)(255.0 * picture[i] + 0.5);
        }
    }
    const video_set videos = {.frames = frames,
                              .count = VIDEOS,
                              .steps = STEPS,
                              .height = PIXELS,
                              .width = PIXELS,
                              .channels = 3};
    const perception_options options = {
        .objects = 2, .colours = 2, .own_looks = true, .seed = 1, .threads = 2};
    CHECK_OK(perception_learn(&seen, &mem, &videos, &options));
    CHECK_OK(perception_track(&tracks, &mem, &seen, &videos, 2));
    for (int v = 0; v < VIDEOS; v++) {
        CHECK_EQUAL(tracks.looks[2 * v].depth, v % 2);
        for (int k = 0; k < 2; k++)
            worst = fmax(worst, fabs(tracks.looks[2 * v + k].radius - radius[v][k]));
    }
    arena_clear(&mem);
    return worst;
}

TEST(radii_are_those_of_the_discs_whichever_is_in_front)
{
    // 0.86 if the second order takes the looks that were fitted with the first.
    CHECK(find_radius_error() < 0.15);
}

// ---- assumptions that fail ----

typedef enum failure { FAILS_NOT, LEAVES, LEAVES_SMALL, VANISHES_SMALL, TURNS_GREEN } failure;

// A red disc that moves to and fro; in some videos it leaves the picture, vanishes, or turns green.
// Small discs are so small that a picture without them has hardly an error.
static void draw_failure(uint8_t *frames, int video, failure kind)
{
    static float background[VALUES];
    double picture[VALUES];
    const bool small = kind == LEAVES_SMALL || kind == VANISHES_SMALL;
    for (int i = 0; i < VALUES; i++) background[i] = 0.35f;
    sprite_scene scene = {.height = PIXELS,
                          .width = PIXELS,
                          .channels = 3,
                          .background = background,
                          .edge = 2.5,
                          .count = 1,
                          .sprites = {{.radius = small ? 1.5 : 3.0, .colour = {1.0, 0.1, 0.1}}}};
    for (int t = 0; t < STEPS; t++) {
        const double range = kind == LEAVES || kind == LEAVES_SMALL ? 25.0 : 9.0;
        const double xy[2] = {15.5 + range * sin(0.07 * t + video), 10.0 + 0.7 * video};
        if (kind == TURNS_GREEN && t == STEPS / 2) {
            scene.sprites[0].colour[0] = 0.1;
            scene.sprites[0].colour[1] = 1.0;
        }
        if (kind == VANISHES_SMALL && t == STEPS / 2) scene.count = 0;
        sprites_draw_reference(picture, &scene, xy);
        for (int i = 0; i < VALUES; i++)
            frames[t * VALUES + i] = (uint8_t)(255.0 * picture[i] + 0.5);
    }
}

static plumb_status try_failure(failure kind, int failing, int64_t *used)
{
    arena mem = {0};
    perception seen;
    track_set tracks;
    bodies_tracks made;
    bodies_config config = {.objects = 1, .colours = 1, .pixels = 15.5, .middle = {15.5, 15.5}};
    uint8_t *frames = ARENA_ALLOC(&mem, uint8_t, VIDEOS * STEPS * VALUES);
    for (int v = 0; v < VIDEOS; v++)
        draw_failure(frames + v * STEPS * VALUES, v, v < failing ? kind : FAILS_NOT);
    const video_set videos = {.frames = frames,
                              .count = VIDEOS,
                              .steps = STEPS,
                              .height = PIXELS,
                              .width = PIXELS,
                              .channels = 3};
    const perception_options options = {.objects = 1, .colours = 1, .seed = 1, .threads = 1};
    CHECK_OK(perception_learn(&seen, &mem, &videos, &options));
    CHECK_OK(perception_track(&tracks, &mem, &seen, &videos, 1));
    const plumb_status st = tracks_make(&made, &mem, &tracks, &config);
    *used = made.count;
    arena_clear(&mem);
    return st;
}

TEST(what_fails_is_said_in_words)
{
    int64_t used;
    CHECK_OK(try_failure(FAILS_NOT, 0, &used));
    CHECK_EQUAL(used, VIDEOS);
    // A few such videos are left out.
    CHECK_OK(try_failure(LEAVES, 4, &used));
    CHECK_EQUAL(used, VIDEOS - 4);
    CHECK_OK(try_failure(TURNS_GREEN, 4, &used));
    CHECK_EQUAL(used, VIDEOS - 4);
    CHECK_FAILS(try_failure(LEAVES, 12, &used), PLUMB_EVALUE, "leaves the picture");
    CHECK_FAILS(try_failure(LEAVES_SMALL, VIDEOS, &used), PLUMB_EVALUE, "leaves the picture");
    CHECK_FAILS(try_failure(VANISHES_SMALL, VIDEOS, &used), PLUMB_EVALUE, "vanishes within");
    CHECK_FAILS(try_failure(TURNS_GREEN, 12, &used), PLUMB_EVALUE, "changes its colour");
}
