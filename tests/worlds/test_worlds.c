// SPDX-License-Identifier: MIT
// The table, the options, and the promise that an item is always the same.
#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "worlds/world.h"
#include "worlds/world_fixtures.h"

TEST(each_constant_is_a_real_parameter_of_a_world)
{
    int64_t count = 0;
    for (const char *name; (name = plumb_world_constant_name(count)); count++) {
        bool found = false;
        for (int64_t w = 0; w < plumb_world_count(); w++) {
            const plumb_world_info *info = plumb_world_get_info(plumb_world_at(w));
            for (int64_t i = 0; i < info->parameter_count; i++)
                found = found ||
                        (!strcmp(info->parameters[i].name, name) && !info->parameters[i].integer);
        }
        CHECK(found);
    }
    CHECK_EQUAL(count, 8);
    CHECK(!plumb_world_constant_name(-1));
}

TEST(there_are_thirteen_and_eight)
{
    static const char *const names[] = {"mass-spring",
                                        "mass-spring+c",
                                        "pendulum",
                                        "pendulum+c",
                                        "double-pendulum",
                                        "double-pendulum+c",
                                        "two-body",
                                        "two-body+c",
                                        "matching-pennies",
                                        "rock-paper-scissors",
                                        "room-circle",
                                        "md-4",
                                        "md-16",
                                        "mass-spring+c-friction",
                                        "pendulum+c-friction",
                                        "double-pendulum+c-friction",
                                        "room-spiral",
                                        "henon-heiles-low",
                                        "henon-heiles-middle",
                                        "henon-heiles-high",
                                        "pendulum-torque"};
    CHECK_EQUAL(walk_count(), 21);
    CHECK_EQUAL(plumb_world_count(), 21 + 6);
    for (int i = 0; i < 21; i++)
        CHECK_TEXT(plumb_world_get_info(plumb_world_at(i))->name, names[i]);
}

TEST(facts_are_whole)
{
    for (int64_t w = 0; w < walk_count(); w++) {
        const plumb_world *world = plumb_world_at(w), *found = NULL;
        const plumb_world_info *f = plumb_world_get_info(world);
        CHECK_OK(plumb_world_find(&found, f->name));
        CHECK(found == world);
        CHECK(f->n >= f->canonical_n && f->canonical_n > 0 && 2 * f->n <= WALK_NUMBERS);
        CHECK(f->dt > 0.0 && f->height == 32 && f->width == 32 && f->channels == 3);
        CHECK(strlen(f->summary) > 10);
        for (int64_t i = 0; i < 2 * f->n; i++) CHECK(strlen(f->state_names[i]) > 0);
        for (int64_t i = 0; i < 2 * f->canonical_n; i++) CHECK(strlen(f->canonical_names[i]) > 0);
        int64_t total = 0;
        for (int64_t i = 0; i < f->parameter_count; i++) total += f->parameters[i].count;
        CHECK_EQUAL(f->parameter_total, total);
        CHECK(total <= WALK_PARAMETERS);
        CHECK(f->kind == PLUMB_WORLD_TRAJECTORY && f->clips == 1 && f->steps == 0);
        CHECK(!f->concept_name && !f->event_names);
    }
}

TEST(a_world_that_is_not_there_is_answered_with_the_nearest)
{
    const plumb_world *world;
    CHECK_FAILS(plumb_world_find(&world, "pendlum"), PLUMB_EVALUE, "\"pendulum\"");
    CHECK_FAILS(plumb_world_find(&world, "two_body_c"), PLUMB_EVALUE, "\"two-body+c\"");
    CHECK_FAILS(plumb_world_find(&world, ""), PLUMB_EVALUE, "no world");
}

enum { FRAMES = 6, BYTES = 32 * 32 * 3 };

// Everything a trajectory has.
typedef struct whole {
    double time[FRAMES], state[FRAMES * 64], derivative[FRAMES * 64], canonical[FRAMES * 64];
    double energy[FRAMES], parameters[WALK_PARAMETERS];
    uint8_t frames[FRAMES * BYTES];
} whole;

static plumb_status make(whole *out, const plumb_world *world, uint64_t seed, int64_t item,
                         int64_t steps, const plumb_world_options *opt)
{
    memset(out, 0, sizeof *out);
    const plumb_world_item to = {.time = out->time,
                                 .state = out->state,
                                 .derivative = out->derivative,
                                 .canonical = out->canonical,
                                 .energy = out->energy,
                                 .parameters = out->parameters,
                                 .frames = out->frames};
    return plumb_world_simulate(&to, world, seed, item, steps, opt);
}

typedef struct crowd {
    const plumb_world *world;
    whole *out;
    int64_t count;
} crowd;

static plumb_status make_one(void *context, int64_t k, int worker)
{
    (void)worker;
    const crowd *c = context;
    const int64_t item = c->count - 1 - k; // the other way round
    make(&c->out[item], c->world, 11, item, FRAMES, NULL);
    return PLUMB_OK;
}

TEST(an_item_is_the_same_alone_in_any_order_and_on_any_thread)
{
    enum { COUNT = 6 };
    whole *many = malloc(COUNT * sizeof *many), *one = malloc(sizeof *one);
    for (int64_t w = 0; w < walk_count(); w++) {
        const plumb_world *world = plumb_world_at(w);
        crowd c = {world, many, walk_is(world, "md-16") ? 2 : COUNT};
        CHECK_OK(parallel_for(c.count, 2, make_one, &c));
        for (int64_t i = 0; i < c.count; i++) {
            CHECK_OK(make(one, world, 11, i, FRAMES, NULL));
            CHECK(!memcmp(one, &many[i], sizeof *one));
            if (i > 0) CHECK(memcmp(many[i].state, many[i - 1].state, sizeof one->state) != 0);
        }
        CHECK_OK(make(one, world, 12, 0, FRAMES, NULL));
        CHECK(memcmp(one->state, many[0].state, sizeof one->state) != 0);
    }
    free(many);
    free(one);
}

TEST(worlds_of_one_seed_have_random_numbers_of_their_own)
{
    double x[8], y[8], par[WALK_PARAMETERS];
    walk_begin(x, par, walk_world("pendulum+c"), 1, 0);
    walk_begin(y, par, walk_world("pendulum+c-friction"), 1, 0);
    CHECK(x[0] != y[0]);
}

TEST(a_trajectory_does_not_depend_on_its_length)
{
    static double a[400 * 64], b[400 * 64];
    for (int64_t w = 0; w < walk_count(); w++) {
        const plumb_world *world = plumb_world_at(w);
        const int64_t n2 = 2 * plumb_world_get_info(world)->n;
        plumb_world_options opt = plumb_world_defaults();
        opt.reject_steps = 400; // else two-body+c would
        const plumb_world_item to_a = {.state = a}, to_b = {.state = b};
        CHECK_OK(plumb_world_simulate(&to_a, world, 2, 5, 400, &opt));
        CHECK_OK(plumb_world_simulate(&to_b, world, 2, 5, 50, &opt));
        CHECK(!memcmp(a, b, (size_t)(50 * n2) * sizeof(double)));
    }
}

TEST(leaving_out_the_first_frames_changes_no_bit)
{
    whole *all = malloc(sizeof *all), *rest = malloc(sizeof *rest);
    for (int64_t w = 0; w < walk_count(); w++) {
        const plumb_world *world = plumb_world_at(w);
        const int64_t n2 = 2 * plumb_world_get_info(world)->n;
        plumb_world_options opt = plumb_world_defaults();
        CHECK_OK(make(all, world, 2, 3, FRAMES, &opt));
        opt.first = 4;
        CHECK_OK(make(rest, world, 2, 3, FRAMES - 4, &opt));
        CHECK(!memcmp(all->state + 4 * n2, rest->state, (size_t)(2 * n2) * sizeof(double)));
        CHECK(!memcmp(all->time + 4, rest->time, 2 * sizeof(double)));
        CHECK(!memcmp(all->frames + 4 * BYTES, rest->frames, 2 * BYTES));
    }
    free(all);
    free(rest);
}

TEST(following_an_item_from_its_state_repeats_it)
{
    whole *made = malloc(sizeof *made), *followed = malloc(sizeof *followed);
    for (int64_t w = 0; w < walk_count(); w++) {
        const plumb_world *world = plumb_world_at(w);
        CHECK_OK(make(made, world, 9, 1, FRAMES, NULL));
        memset(followed, 0, sizeof *followed);
        const plumb_world_item to = {.time = followed->time,
                                     .state = followed->state,
                                     .derivative = followed->derivative,
                                     .canonical = followed->canonical,
                                     .energy = followed->energy,
                                     .parameters = followed->parameters,
                                     .frames = followed->frames};
        CHECK_OK(
            plumb_world_simulate_from(&to, world, made->state, made->parameters, FRAMES, NULL));
        CHECK(!memcmp(made, followed, sizeof *made));
        uint8_t frame[BYTES];
        const int64_t n2 = 2 * plumb_world_get_info(world)->n;
        CHECK_OK(world_render(frame, world, made->state + 2 * n2, made->parameters, NULL));
        CHECK(!memcmp(frame, made->frames + 2 * BYTES, BYTES));
    }
    free(made);
    free(followed);
}

TEST(stride_keeps_every_so_manieth_frame)
{
    static double fine[61 * 64], coarse[7 * 64], time[7];
    for (int64_t w = 0; w < walk_count(); w++) {
        const plumb_world *world = plumb_world_at(w);
        const int64_t n2 = 2 * plumb_world_get_info(world)->n;
        const bool md = walk_is(world, "md-");
        if (plumb_world_get_info(world)->actions) continue; // test_driven.c
        plumb_world_options opt = plumb_world_defaults();
        opt.reject_steps = 1;
        opt.stride = md ? 1 : 0;
        const plumb_world_item to_fine = {.state = fine},
                               to_coarse = {.state = coarse, .time = time};
        CHECK_OK(plumb_world_simulate(&to_fine, world, 2, 0, 61, &opt));
        opt.stride = 10;
        CHECK_OK(plumb_world_simulate(&to_coarse, world, 2, 0, 7, &opt));
        for (int64_t t = 0; t < 7; t++) {
            for (int64_t i = 0; i < n2; i++)
                CHECK_NEAR(coarse[t * n2 + i], fine[10 * t * n2 + i], 1e-13);
            CHECK_NEAR(time[t], (double)t * (md ? 0.02 : 10.0 * plumb_world_get_info(world)->dt),
                       1e-12);
        }
    }
}

TEST(backward_is_the_mirror_of_forward)
{
    const plumb_world *world = walk_world("pendulum");
    double forth[10], back[10], time[5];
    const double state[2] = {1.0, 0.7}, mirrored[2] = {1.0, -0.7};
    const double par[6] = {0.5, 1.0, 3.0, 0.0, 0.0, 0.0};
    plumb_world_options opt = plumb_world_defaults();
    const plumb_world_item to_forth = {.state = forth}, to_back = {.state = back, .time = time};
    CHECK_OK(plumb_world_simulate_from(&to_forth, world, mirrored, par, 5, &opt));
    opt.backward = true;
    CHECK_OK(plumb_world_simulate_from(&to_back, world, state, par, 5, &opt));
    for (int t = 0; t < 5; t++) {
        CHECK_NEAR(back[2 * t], forth[2 * t], 1e-15);
        CHECK_NEAR(back[2 * t + 1], -forth[2 * t + 1], 1e-15);
        CHECK_NEAR(time[t], -0.05 * t, 1e-15);
    }
}

// Where the colours stand among the parameters.
static int64_t find_color(const plumb_world_info *info)
{
    int64_t at = 0;
    for (int64_t i = 0; strcmp(info->parameters[i].name, "color_index"); i++)
        at += info->parameters[i].count;
    return at;
}

TEST(a_colour_rule_moves_nothing)
{
    whole *plain = malloc(sizeof *plain), *other = malloc(sizeof *other);
    for (int64_t w = 0; w < walk_count(); w++) {
        const plumb_world *world = plumb_world_at(w);
        plumb_world_options opt = plumb_world_defaults();
        opt.colors = PLUMB_WORLD_COLORS_FIXED;
        if (make(other, world, 1, 0, FRAMES, &opt)) {
            CHECK_FAILS(make(other, world, 1, 0, FRAMES, &opt), PLUMB_EVALUE, "no colours");
            continue;
        }
        const int64_t count = walk_is(world, "double") || walk_is(world, "two") ? 2 : 1;
        const double *color = other->parameters + find_color(plumb_world_get_info(world));
        for (int64_t i = 0; i < 20; i++) {
            CHECK_OK(make(plain, world, 1, i, FRAMES, NULL));
            CHECK_OK(make(other, world, 1, i, FRAMES, &opt));
            CHECK(!memcmp(plain->state, other->state, sizeof plain->state));
            for (int64_t k = 0; k < count; k++) CHECK(color[k] == (double)k);
        }
        opt.colors = PLUMB_WORLD_COLORS_SIX;
        bool beyond = false;
        for (int64_t i = 0; i < 20; i++) {
            CHECK_OK(make(other, world, 1, i, FRAMES, &opt));
            CHECK(color[0] >= 0.0 && color[0] < 6.0);
            beyond |= color[0] >= 2.0;
            if (count == 2) CHECK(color[0] != color[1]);
        }
        CHECK(beyond);
    }
    free(plain);
    free(other);
}

TEST(a_look_changes_frames_and_nothing_else)
{
    whole *plain = malloc(sizeof *plain), *other = malloc(sizeof *other);
    const plumb_world *world = walk_world("two-body");
    for (int look = 0; look < 4; look++) {
        plumb_world_options opt = plumb_world_defaults();
        if (look == 0) opt.colors = PLUMB_WORLD_COLORS_WHITE;
        if (look == 1) opt.background = PLUMB_WORLD_BACKGROUND_TEXTURE;
        if (look == 2) opt.profile = PLUMB_WORLD_PROFILE_RING;
        if (look == 3) opt.profile = PLUMB_WORLD_PROFILE_BLOB;
        for (int64_t i = 0; i < 10; i++) {
            CHECK_OK(make(plain, world, 1, i, FRAMES, NULL));
            CHECK_OK(make(other, world, 1, i, FRAMES, &opt));
            CHECK(!memcmp(plain->state, other->state, sizeof plain->state));
            CHECK(memcmp(plain->frames, other->frames, 32 * 32 * 3));
            // White bodies: the one further left at time 0, relative to the other.
            if (!look) CHECK(other->canonical[0] < 0.0);
        }
    }
    plumb_world_options opt = plumb_world_defaults();
    opt.profile = PLUMB_WORLD_PROFILE_RING;
    CHECK_FAILS(make(other, walk_world("matching-pennies"), 1, 0, FRAMES, &opt), PLUMB_EVALUE,
                "no background or profile");
    free(plain);
    free(other);
}

TEST(images_have_any_size_that_four_divides)
{
    static uint8_t frame[128 * 128 * 3];
    for (int64_t w = 0; w < walk_count(); w++) {
        const plumb_world *world = plumb_world_at(w);
        for (int64_t size = 4; size <= 128; size += 4) {
            if (walk_is(world, "room") && size > 40 && size != 128) continue; // slow, all alike
            double state[WALK_NUMBERS], par[WALK_PARAMETERS];
            if (size == 4) walk_begin(state, par, world, 1, 0);
            plumb_world_options opt = plumb_world_defaults();
            opt.image = size;
            const plumb_world_item out = {.frames = frame};
            if (walk_is(world, "md-")) continue; // drawn as the rest
            CHECK_OK(plumb_world_simulate(&out, world, 1, 0, 1, &opt));
        }
    }
}

TEST(options_out_of_range_are_refused)
{
    const plumb_world *world = walk_world("pendulum");
    double state[2 * 4];
    const plumb_world_item out = {.state = state};
    plumb_world_options opt = plumb_world_defaults();
#define REFUSED(field, value, words)                                                        \
    do {                                                                                    \
        opt = plumb_world_defaults();                                                       \
        opt.field = value;                                                                  \
        CHECK_FAILS(plumb_world_simulate(&out, world, 1, 0, 4, &opt), PLUMB_EVALUE, words); \
    } while (0)
    REFUSED(dt, -0.1, "dt is -0.1");
    REFUSED(dt, (double)NAN, "dt is");
    REFUSED(dt, (double)INFINITY, "dt is");
    REFUSED(stride, -1, "stride is -1");
    REFUSED(image, 30, "image is 30");
    REFUSED(image, -4, "image is -4");
    REFUSED(image, 2048, "image is 2048");
    REFUSED(first, -1, "first");
    REFUSED(reject_steps, -1, "reject_steps");
    REFUSED(size, 3, "plumb_world_options.size");
    REFUSED(colors, (plumb_world_colors)9, "colors is 9; it must be world, fixed, six or white");
    CHECK_FAILS(plumb_world_simulate(&out, world, 1, -1, 4, NULL), PLUMB_EVALUE, "item is -1");
    CHECK_FAILS(plumb_world_simulate(&out, world, 1, (int64_t)1 << 48, 4, NULL), PLUMB_EVALUE,
                "item");
    CHECK_FAILS(plumb_world_simulate(&out, world, 1, 0, -1, NULL), PLUMB_EVALUE, "steps");
    world = walk_world("mass-spring+c-friction");
    REFUSED(backward, true, "backward");
#undef REFUSED
    opt = plumb_world_defaults();
    opt.dt = 0.02;
    opt.stride = 2;
    world = walk_world("md-4");
    CHECK_FAILS(plumb_world_simulate(&out, world, 1, 0, 4, &opt), PLUMB_EVALUE, "integration step");
    opt.dt = 1e6; // 5e8 steps a frame
    opt.stride = 0;
    CHECK_FAILS(plumb_world_simulate(&out, world, 1, 0, 4, &opt), PLUMB_EVALUE, "at most 1000000");
}

TEST(times_at_which_rounding_would_decide_are_refused)
{
    static const char *const names[] = {"mass-spring", "double-pendulum", "rock-paper-scissors"};
    double state[3 * 8];
    const plumb_world_item out = {.state = state};
    plumb_world_options opt = plumb_world_defaults();
    opt.dt = 1e6;
    opt.stride = 1000000;
    for (int i = 0; i < 3; i++)
        CHECK_FAILS(plumb_world_simulate(&out, walk_world(names[i]), 1, 0, 3, &opt), PLUMB_EVALUE,
                    "the last frame is at time 3e+12");
}

TEST(a_request_to_stop_ends_a_trajectory_of_hours)
{
    static const char *const names[] = {"double-pendulum", "pendulum+c-friction",
                                        "rock-paper-scissors"};
    double state[3 * 8];
    const plumb_world_item out = {.state = state};
    plumb_world_options opt = plumb_world_defaults();
    opt.dt = 1e6;
    opt.stride = 1000; // 1e9 units of time a frame
    plumb_set_stop(true);
    for (int i = 0; i < 3; i++)
        CHECK_FAILS(plumb_world_simulate(&out, walk_world(names[i]), 1, 0, 3, &opt), PLUMB_ESTOPPED,
                    "stopped");
    plumb_set_stop(false);
}

TEST(states_and_parameters_of_the_caller_are_looked_at)
{
    double out[8], par[7] = {0.5, 1.0, 3.0, 0.0, 0.0, 0.0};
    const plumb_world_item to = {.state = out};
    const plumb_world *world = walk_world("pendulum");
    const double good[2] = {1.0, 1.0}, bad[2] = {(double)NAN, 1.0}, huge[2] = {1.0, 1e7};
    CHECK_OK(plumb_world_simulate_from(&to, world, good, par, 2, NULL));
    CHECK_OK(plumb_world_simulate_from(&to, world, good, NULL, 2, NULL));
    CHECK_FAILS(plumb_world_simulate_from(&to, world, bad, par, 2, NULL), PLUMB_EVALUE, "number 0");
    CHECK_FAILS(plumb_world_simulate_from(&to, world, huge, par, 2, NULL), PLUMB_EVALUE,
                "number 1");
    par[0] = 0.0;
    CHECK_FAILS(plumb_world_simulate_from(&to, world, good, par, 2, NULL), PLUMB_EVALUE,
                "parameters is 0");
    const double edge[4] = {0.0, 1.0, 0.5, 0.5};
    CHECK_FAILS(plumb_world_simulate_from(&to, walk_world("matching-pennies"), edge, NULL, 1, NULL),
                PLUMB_EVALUE, "above 0");
}
