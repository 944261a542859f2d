// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "dataset/video_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plumb/dataset.h"
#include "support/simulate.h"
#include "support/test.h"

static const plumb_world *world(const char *name)
{
    const plumb_world *w;
    CHECK_OK(plumb_world_find(&w, name));
    return w;
}

TEST(videos_are_those_of_the_world_on_any_threads)
{
    arena mem = {0};
    video_set f[3];
    for (int threads = 1; threads <= 3; threads++)
        CHECK_OK(video_load_world(&f[threads - 1], &mem,
                                  &(video_request){.world = world("pendulum"),
                                                   .seed = 4,
                                                   .first = 2,
                                                   .count = 70,
                                                   .steps = 5,
                                                   .image = 16,
                                                   .threads = threads}));
    const size_t item = 5 * 16 * 16 * 3;
    CHECK(f[0].count == 70 && f[0].steps == 5 && f[0].height == 16 && f[0].width == 16 &&
          f[0].channels == 3);
    CHECK_NEAR(f[0].dt, plumb_world_get_info(world("pendulum"))->dt, 1e-12);
    CHECK(!memcmp(f[0].frames, f[1].frames, 70 * item) &&
          !memcmp(f[0].frames, f[2].frames, 70 * item));
    uint8_t *one = malloc(item);
    plumb_world_options opt = plumb_world_defaults();
    opt.image = 16;
    CHECK_OK(plumb_world_simulate(&(plumb_world_item){.frames = one}, world("pendulum"), 4, 2 + 69,
                                  5, &opt));
    CHECK(!memcmp(one, f[0].frames + 69 * item, item));
    free(one);
    double sum = 0.0, square = 0.0;
    for (size_t i = 0; i < 70 * item; i++) {
        const double x = f[0].frames[i] / 255.0;
        sum += x;
        square += x * x;
    }
    sum /= (double)(70 * item);
    CHECK_NEAR(f[0].mean, sum, 1e-10);
    CHECK_NEAR(f[0].variance, square / (double)(70 * item) - sum * sum, 1e-10);
    char a[33], b[33];
    video_hash(a, &f[0]);
    video_hash(b, &f[1]);
    CHECK_TEXT(a, b);
    ((uint8_t *)(uintptr_t)f[1].frames)[7] ^= 1;
    video_hash(b, &f[1]);
    CHECK(strcmp(a, b));
    arena_clear(&mem);
}

TEST(training_and_test_items_never_meet)
{
    CHECK(VIDEO_TEST_FIRST > 1000000000 && VIDEO_TEST_FIRST < (int64_t)1 << 48);
    arena mem = {0};
    video_set f;
    CHECK_OK(video_load_world(&f, &mem,
                              &(video_request){.world = world("mass-spring"),
                                               .seed = 1,
                                               .first = VIDEO_TEST_FIRST,
                                               .count = 2,
                                               .steps = 3,
                                               .threads = 1}));
    CHECK_EQUAL(f.height, 32);
    arena_clear(&mem);
}

TEST(what_cannot_be_is_refused)
{
    arena mem = {0};
    video_set f;
    CHECK_FAILS(video_load_world(&f, &mem,
                                 &(video_request){.world = world("pendulum"),
                                                  .seed = 1,
                                                  .count = 1000000000,
                                                  .steps = 1000,
                                                  .image = 32,
                                                  .threads = 1}),
                PLUMB_EVALUE, "do not fit into memory");
    CHECK_FAILS(video_load_world(&f, &mem,
                                 &(video_request){.world = world("pendulum"),
                                                  .seed = 1,
                                                  .count = 1,
                                                  .steps = 5,
                                                  .image = 17,
                                                  .threads = 1}),
                PLUMB_EVALUE, "image");
    CHECK_FAILS(video_load_file(&f, &mem, "/no/such/file.npz", 0, false, NULL, NULL), PLUMB_EFILE,
                "/no/such/file.npz");
    plumb_set_stop(true);
    CHECK_FAILS(video_load_world(&f, &mem,
                                 &(video_request){.world = world("pendulum"),
                                                  .seed = 1,
                                                  .count = 100,
                                                  .steps = 5,
                                                  .image = 32,
                                                  .threads = 2}),
                PLUMB_ESTOPPED, "stopped");
    plumb_set_stop(false);
    arena_clear(&mem);
}

TEST(videos_of_a_file_are_its_frames)
{
    char dir[] = "/tmp/plumb-video-XXXXXX", path[64];
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/x.npz", dir);
    CHECK_OK(plumb_dataset_simulate(path, world("two-body"),
                                    SIMULATE(.count = 6, .steps = 4, .seed = 9, .threads = 1)));
    arena mem = {0};
    video_set a, b;
    CHECK_OK(video_load_world(
        &a, &mem,
        &(video_request){
            .world = world("two-body"), .seed = 9, .count = 6, .steps = 4, .threads = 1}));
    CHECK_OK(video_load_file(&b, &mem, path, 0, false, NULL, NULL));
    CHECK(a.count == b.count && a.steps == b.steps && a.channels == b.channels && a.mean == b.mean);
    CHECK_NEAR(a.dt, b.dt, 1e-12);
    char x[33], y[33];
    video_hash(x, &a);
    video_hash(y, &b);
    CHECK_TEXT(x, y);
    CHECK_OK(video_load_file(&b, &mem, path, 2, false, NULL, NULL));
    CHECK_EQUAL(b.count, 2);
    CHECK_FAILS(video_load_file(&b, &mem, path, 7, false, NULL, NULL), PLUMB_EVALUE,
                "has 6 trajectories, not 7");
    double z[4] = {0};
    const plumb_named_array arrays[] = {
        {"frames", plumb_array_view(z, PLUMB_FLOAT64, 2, (int64_t[]){2, 2})}};
    CHECK_OK(plumb_file_write(path, arrays, 1, false));
    CHECK_FAILS(video_load_file(&b, &mem, path, 0, false, NULL, NULL), PLUMB_ESHAPE,
                "wanted (steps, height, width, channels), grey");
    const plumb_named_array other[] = {
        {"state", plumb_array_view(z, PLUMB_FLOAT64, 2, (int64_t[]){2, 2})}};
    CHECK_OK(plumb_file_write(path, other, 1, false));
    CHECK_FAILS(video_load_file(&b, &mem, path, 0, false, NULL, NULL), PLUMB_EFILE,
                "has no frames");
    unlink(path);
    rmdir(dir);
    arena_clear(&mem);
}

// Of a probe clips 2 and 3, with their masks, from the room and from a file; of all probes in turn.
TEST(of_probes_the_impossible_clips_are_learnt_from)
{
    enum { IMAGE = 16, CLIP = PLUMB_ROOM_STEPS * IMAGE * IMAGE };
    static uint8_t frames[4 * CLIP * 3], mask[4 * CLIP];
    char dir[] = "/tmp/plumb-video-XXXXXX", path[128];
    arena mem = {0};
    video_set a, b, all;
    const plumb_world *room;
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/probes.npz", dir);
    CHECK_OK(plumb_world_find(&room, "rooms/solidity"));
    CHECK_OK(write_room(path, room,
                        (room_file){.count = 3, .seed = 9, .image = IMAGE, .threads = 1}, NULL));
    video_request request = {
        .world = room, .seed = 9, .count = 5, .image = IMAGE, .masks = true, .threads = 2};
    CHECK_OK(video_load_world(&a, &mem, &request));
    CHECK_OK(video_load_file(&b, &mem, path, 5, true, NULL, NULL));
    CHECK_EQUAL(a.count, 5);
    CHECK_EQUAL(a.steps, PLUMB_ROOM_STEPS);
    CHECK(!memcmp(a.frames, b.frames, 5 * CLIP * 3));
    CHECK(!memcmp(a.mask, b.mask, 5 * CLIP));
    for (int64_t i = 0; i < 5; i++) {
        const plumb_world_item item = {.frames = frames, .mask = mask};
        CHECK_OK(simulate_room(&item, room, 9, i / 2, IMAGE));
        CHECK(!memcmp(a.frames + i * CLIP * 3, frames + (2 + i % 2) * CLIP * 3, CLIP * 3));
        CHECK(!memcmp(a.mask + i * CLIP, mask + (2 + i % 2) * CLIP, CLIP));
    }
    request = (video_request){
        .world = world("rooms/impossible"), .seed = 9, .count = 20, .image = IMAGE, .threads = 1};
    CHECK_OK(video_load_world(&all, &mem, &request));
    CHECK(!all.mask);
    bool found = false; // one of the first five tuples is the first of solidity
    for (int64_t i = 0; i < 10; i += 2)
        found = found || !memcmp(all.frames + i * CLIP * 3, a.frames, 2 * CLIP * 3);
    CHECK(found);
    // `first` counts tuples of each concept: these are the tuples that follow.
    video_set later;
    request.first = 1, request.count = 10;
    CHECK_OK(video_load_world(&later, &mem, &request));
    CHECK(!memcmp(later.frames, all.frames + 10 * CLIP * 3, 10 * CLIP * 3));
    CHECK(video_has_masks(room) && !video_has_masks(world("pendulum")));
    unlink(path);
    rmdir(dir);
    arena_clear(&mem);
}
