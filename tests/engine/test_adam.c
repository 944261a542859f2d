// SPDX-License-Identifier: MIT
#include "engine/adam.h"

#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "support/test.h"

static const adam_options usual = {0.9, 0.999, 1e-8};

TEST(the_first_step_goes_by_the_rate_against_the_sign)
{
    // m^ = g and v^ = g^2 at time 1, whatever the size of g.
    double value[3] = {1.0, 1.0, 1.0}, m[3] = {0}, v[3] = {0};
    const double g[3] = {1e-3, -50.0, 0.0};
    adam_step_reference(value, m, v, g, 3, &(adam_update){&usual, 0.1, 1.0, 1});
    CHECK_NEAR(value[0], 0.9, 1e-6);
    CHECK_NEAR(value[1], 1.1, 1e-9);
    CHECK(value[2] == 1.0);
}

TEST(three_steps_by_hand)
{
    // g = 1, 2, -1: m = .1, .29, .161; v = .001, .004999, .005994001.
    double value = 0.0, m = 0.0, v = 0.0;
    const double g[3] = {1.0, 2.0, -1.0};
    double want = 0.0;
    const double ms[3] = {0.1, 0.29, 0.161}, vs[3] = {0.001, 0.004999, 0.005994001};
    for (int t = 1; t <= 3; t++) {
        adam_step_reference(&value, &m, &v, &g[t - 1], 1, &(adam_update){&usual, 0.01, 1.0, t});
        CHECK_NEAR(m, ms[t - 1], 1e-15);
        CHECK_NEAR(v, vs[t - 1], 1e-15);
        const double first = t == 1 ? 0.1 : t == 2 ? 0.19 : 0.271;
        const double second = t == 1 ? 0.001 : t == 2 ? 0.001999 : 0.002997001;
        want -= 0.01 * (ms[t - 1] / first) / (sqrt(vs[t - 1] / second) + 1e-8);
        CHECK_NEAR(value, want, 1e-14);
    }
}

TEST(epsilon_stands_outside_the_root)
{
    // With g = epsilon the step is half the rate; under the root it would be near the whole.
    const adam_options a = {0.9, 0.999, 1e-3};
    double value = 0.0, m = 0.0, v = 0.0;
    const double g = 1e-3;
    adam_step_reference(&value, &m, &v, &g, 1, &(adam_update){&a, 1.0, 1.0, 1});
    CHECK_NEAR(value, -0.5, 1e-12);
}

enum { MANY = 4999 };
static float value[4][MANY], m[4][MANY], v[4][MANY], gradient[MANY];

static void reset_copy(int copy)
{
    rng r = rng_at(7, 1);
    for (int i = 0; i < MANY; i++) value[copy][i] = (float)rng_normal(&r);
    memset(m[copy], 0, sizeof m[copy]);
    memset(v[copy], 0, sizeof v[copy]);
}

static void draw_gradient(int time)
{
    rng r = rng_at(8, (uint64_t)time);
    for (int i = 0; i < MANY; i++) gradient[i] = (float)(rng_normal(&r) * 0.1);
}

TEST(every_instruction_set_and_every_slicing_gives_the_same_bits)
{
    static const char *const sets[] = {"portable", "avx2", "avx512"};
    for (int s = 0; s < 3; s++) {
        if (!adam_select(sets[s])) continue;
        reset_copy(s);
        for (int t = 1; t <= 5; t++) {
            draw_gradient(t);
            // In one piece by the first set, in uneven slices by the others.
            const int cuts[4] = {0, s ? 1000 + s : MANY, s ? 1001 + s : MANY, MANY};
            for (int k = 0; k < 3; k++)
                adam_step(value[s] + cuts[k], m[s] + cuts[k], v[s] + cuts[k], gradient + cuts[k],
                          cuts[k + 1] - cuts[k], &(adam_update){&usual, 1e-3, 0.7, t});
        }
        CHECK(!memcmp(value[s], value[0], sizeof value[0]));
        CHECK(!memcmp(v[s], v[0], sizeof v[0]));
    }
    CHECK(adam_select("portable"));
    CHECK(!adam_select("abacus"));
    adam_select("avx2");
    adam_select("avx512");
}

TEST(float_follows_the_reference)
{
    static double value8[MANY], m8[MANY], v8[MANY], g8[MANY];
    reset_copy(0);
    for (int i = 0; i < MANY; i++) value8[i] = (double)value[0][i];
    for (int t = 1; t <= 20; t++) {
        draw_gradient(t);
        for (int i = 0; i < MANY; i++) g8[i] = (double)gradient[i];
        adam_step(value[0], m[0], v[0], gradient, MANY, &(adam_update){&usual, 1e-2, 0.5, t});
        adam_step_reference(value8, m8, v8, g8, MANY, &(adam_update){&usual, 1e-2, 0.5, t});
    }
    for (int i = 0; i < MANY; i++) CHECK_NEAR((double)value[0][i], value8[i], 2e-6);
}

TEST(clipping_makes_long_gradients_short_and_leaves_short_ones)
{
    CHECK(adam_clip_factor(0.5, 1.0) == 1.0);
    CHECK(adam_clip_factor(4.0, 1.0) == 0.25);
    CHECK(adam_clip_factor(4.0, 0.0) == 1.0);
    CHECK(adam_clip_factor(0.0, 1.0) == 1.0);
}

TEST(rates_warm_up_hold_and_fall_along_a_cosine)
{
    adam_schedule s = {.rate = 2.0, .steps = 1000, .warmup = 100};
    CHECK_NEAR(adam_schedule_rate(&s, 0), 0.02, 1e-15);
    CHECK_NEAR(adam_schedule_rate(&s, 99), 2.0, 1e-15);
    CHECK(adam_schedule_rate(&s, 500) == 2.0 && adam_schedule_rate(&s, 999) == 2.0);
    s.decay = ADAM_COSINE;
    s.last = 0.01;
    CHECK(adam_schedule_rate(&s, 100) == 2.0);
    CHECK_NEAR(adam_schedule_rate(&s, 550), 2.0 * (0.01 + 0.99 * 0.5), 1e-14);
    CHECK_NEAR(adam_schedule_rate(&s, 1000), 0.02, 1e-14);
    CHECK_NEAR(adam_schedule_rate(&s, 5000), 0.02, 1e-14);
    s.hold = 0.4;
    CHECK(adam_schedule_rate(&s, 399) == 2.0);
    CHECK_NEAR(adam_schedule_rate(&s, 700), 2.0 * (0.01 + 0.99 * 0.5), 1e-14);
    s.hold = 1.0;
    CHECK(adam_schedule_rate(&s, 999) == 2.0);
    s = (adam_schedule){.rate = 1.0, .steps = 10, .warmup = 0};
    CHECK(adam_schedule_rate(&s, 0) == 1.0);
}
