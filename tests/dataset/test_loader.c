// SPDX-License-Identifier: MIT
// Batches of the data loader do not depend on the number of threads and equal the world's own
// output.
#include "plumb/loader.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static const plumb_world *world(const char *name)
{
    const plumb_world *found;
    CHECK_OK(plumb_world_find(&found, name));
    return found;
}

static plumb_world_options images_of(int64_t image)
{
    plumb_world_options opt = plumb_world_defaults();
    opt.image = image;
    return opt;
}

static plumb_loader_options small(int threads)
{
    static plumb_world_options world_options;
    world_options = images_of(8);
    plumb_loader_options opt = plumb_loader_defaults();
    opt.batch = 5;
    opt.window = 4;
    opt.steps = 30;
    opt.seed = 11;
    opt.states = true;
    opt.threads = threads;
    opt.world = &world_options;
    return opt;
}

enum { FRAMES = 5 * 4 * 8 * 8 * 3, BATCHES = 9 };

TEST(batches_do_not_depend_on_the_number_of_threads)
{
    uint8_t *seen = malloc(BATCHES * FRAMES);
    double states[BATCHES][5 * 4 * 2];
    CHECK(seen);
    for (int threads = 1; threads <= 4; threads++) {
        plumb_loader_options opt = small(threads);
        opt.ahead = threads; // nor on how many are made ahead
        plumb_loader *s;
        CHECK_OK(plumb_loader_open(&s, world("pendulum+c"), &opt));
        for (int b = 0; b < BATCHES; b++) {
            plumb_loader_batch batch;
            CHECK_OK(plumb_loader_next(&batch, s));
            CHECK_EQUAL(batch.index, b);
            if (threads == 1) {
                memcpy(seen + b * FRAMES, batch.frames, FRAMES);
                memcpy(states[b], batch.state, sizeof states[b]);
            }
            CHECK(!memcmp(seen + b * FRAMES, batch.frames, FRAMES));
            CHECK(!memcmp(states[b], batch.state, sizeof states[b]));
        }
        plumb_loader_close(s);
    }
    free(seen);
}

// The window is a piece of the trajectory that the world makes for the same seed and item.
TEST(a_window_is_cut_from_the_trajectory_of_its_item)
{
    const plumb_world *w = world("two-body+c");
    plumb_loader_options opt = small(2);
    opt.steps = 300; // long enough that trajectories are thrown away for leaving the canvas
    opt.first = 40;
    plumb_loader *s;
    plumb_loader_batch batch;
    CHECK_OK(plumb_loader_open(&s, w, &opt));
    double *state = malloc(300 * 8 * sizeof *state);
    uint8_t *frames = malloc(300 * 8 * 8 * 3);
    CHECK(state && frames);
    for (int b = 0; b < 3; b++) {
        CHECK_OK(plumb_loader_next(&batch, s));
        for (int i = 0; i < 5; i++) {
            const plumb_world_item whole = {.state = state, .frames = frames};
            CHECK_OK(plumb_world_simulate(&whole, w, 11, 40 + 5 * b + i, 300, opt.world));
            int at = -1;
            for (int t = 0; t + 4 <= 300 && at < 0; t++)
                if (!memcmp(state + 8 * t, batch.state + 8 * 4 * i, 4 * 8 * sizeof *state)) at = t;
            CHECK(at >= 0);
            CHECK(!memcmp(frames + at * 192, batch.frames + 4 * 192 * i, 4 * 192));
            CHECK_NEAR(batch.time[4 * i], at * 0.05, 1e-12);
        }
    }
    free(frames);
    free(state);
    plumb_loader_close(s);
}

TEST(cuts_are_uniform)
{
    plumb_loader_options opt = small(2);
    opt.batch = 500;
    opt.window = 1;
    opt.steps = 10;
    const plumb_world_options tiny = images_of(4);
    opt.world = &tiny;
    int count[10] = {0};
    plumb_loader *s;
    plumb_loader_batch batch;
    CHECK_OK(plumb_loader_open(&s, world("mass-spring"), &opt));
    for (int b = 0; b < 4; b++) {
        CHECK_OK(plumb_loader_next(&batch, s));
        for (int i = 0; i < 500; i++) {
            const int at = (int)(batch.time[i] / 0.05 + 0.5);
            CHECK(at >= 0 && at < 10);
            count[at]++;
        }
    }
    double chi2 = 0.0;
    for (int i = 0; i < 10; i++) chi2 += (count[i] - 200.0) * (count[i] - 200.0) / 200.0;
    CHECK(chi2 < 27.9); // 9 degrees of freedom: one in a thousand is above
    plumb_loader_close(s);
}

TEST(a_stream_can_be_closed_at_any_time)
{
    for (int used = 0; used < 4; used++)
        for (int threads = 1; threads < 4; threads++) {
            plumb_loader_options opt = small(threads);
            plumb_loader *s;
            plumb_loader_batch batch;
            CHECK_OK(plumb_loader_open(&s, world("mass-spring"), &opt));
            for (int i = 0; i < used; i++) CHECK_OK(plumb_loader_next(&batch, s));
            plumb_loader_close(s);
        }
    plumb_loader_close(NULL);
}

TEST(without_states_only_frames_come)
{
    plumb_loader *s;
    plumb_loader_batch batch;
    CHECK_OK(plumb_loader_open(&s, world("mass-spring"), NULL));
    CHECK_OK(plumb_loader_next(&batch, s));
    CHECK(batch.frames && !batch.state && !batch.canonical && !batch.time);
    plumb_loader_close(s);
}

TEST(options_out_of_range_are_refused)
{
    const plumb_world *w = world("mass-spring");
    plumb_loader *s;
    plumb_loader_options opt = small(1);
    opt.batch = 0;
    CHECK_FAILS(plumb_loader_open(&s, w, &opt), PLUMB_EVALUE, "batch is 0");
    opt = small(1);
    opt.steps = 3;
    CHECK_FAILS(plumb_loader_open(&s, w, &opt), PLUMB_EVALUE,
                "steps is 3; it must be at least the window, 4");
    opt = small(1);
    opt.ahead = 0;
    CHECK_FAILS(plumb_loader_open(&s, w, &opt), PLUMB_EVALUE, "ahead is 0");
    opt = small(1);
    const plumb_world_options odd = images_of(7);
    opt.world = &odd;
    CHECK_FAILS(plumb_loader_open(&s, w, &opt), PLUMB_EVALUE, "");
    opt = small(1);
    opt.batch = opt.window = opt.steps = (int64_t)1 << 31;
    CHECK_FAILS(plumb_loader_open(&s, w, &opt), PLUMB_EVALUE, "any memory");
}

TEST(a_stop_reaches_the_consumer)
{
    plumb_loader *s;
    plumb_loader_batch batch;
    plumb_loader_options opt = small(2);
    CHECK_OK(plumb_loader_open(&s, world("mass-spring"), &opt));
    CHECK_OK(plumb_loader_next(&batch, s));
    plumb_set_stop(true);
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < 10 && !st; i++) st = plumb_loader_next(&batch, s);
    CHECK_FAILS(st, PLUMB_ESTOPPED, "stopped");
    CHECK_FAILS(plumb_loader_next(&batch, s), PLUMB_ESTOPPED, "stopped");
    plumb_set_stop(false);
    plumb_loader_close(s);
}
