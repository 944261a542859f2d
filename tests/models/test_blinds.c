// SPDX-License-Identifier: MIT
#include "models/blinds.h"

#include <string.h>

#include "support/test.h"

enum { STEPS = 6, SIZE = 12, CHANNELS = 3, FRAME = SIZE * SIZE * CHANNELS };

static uint8_t clip[STEPS * FRAME], again[STEPS * FRAME];

static int64_t hidden(int t)
{
    int64_t sum = 0;
    for (int k = 0; k < FRAME; k += CHANNELS) sum += clip[t * FRAME + k] != 0;
    return sum;
}

TEST(a_blind_hides_a_part_of_a_clip_and_stands_or_passes)
{
    int stands = 0, passes = 0;
    for (int i = 0; i < 200; i++) {
        rng r = rng_at(1, (uint64_t)i), same = r;
        memset(clip, 0, sizeof clip);
        memset(again, 0, sizeof again);
        blinds_hang(clip, STEPS, SIZE, SIZE, CHANNELS, 1, &r);
        blinds_hang(again, STEPS, SIZE, SIZE, CHANNELS, 1, &same);
        CHECK(!memcmp(clip, again, sizeof clip));
        int64_t most = 0;
        bool still = true;
        for (int t = 0; t < STEPS; t++) {
            if (hidden(t) > most) most = hidden(t);
            still &= !memcmp(clip, clip + t * FRAME, FRAME);
        }
        CHECK(most > 0 && most <= SIZE * SIZE / 3); // some of it, and never all
        stands += still;
        passes += !still;
    }
    CHECK(stands > 100 && passes > 40);
}

TEST(no_blinds_change_nothing)
{
    rng r = rng_at(1, 2);
    memset(clip, 7, sizeof clip);
    blinds_hang(clip, STEPS, SIZE, SIZE, CHANNELS, 0, &r);
    for (size_t k = 0; k < sizeof clip; k++) CHECK_EQUAL(clip[k], 7);
}
