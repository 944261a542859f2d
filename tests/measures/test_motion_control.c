// SPDX-License-Identifier: MIT
// Motion held fixed: a score that is motion alone keeps nothing, one that has a signal of its own
// keeps it.
#include <math.h>
#include <stdlib.h>

#include "math/rng.h"
#include "plumb/surprise.h"
#include "support/test.h"

enum { TUPLES = 2000 };

typedef struct moving_clips {
    double score[TUPLES * 4], motion[TUPLES * 4 * 2];
} moving_clips;

// Impossible clips move more. The score is `by_motion` of it and `own`, which is larger for them.
static plumb_surprise_motion control(double by_motion, double own, double more)
{
    moving_clips *clips = calloc(1, sizeof *clips);
    rng r = rng_at(6, 1);
    for (int i = 0; i < TUPLES * 4; i++) {
        const double motion = rng_normal(&r) + (i % 4 >= 2 ? more : 0.0);
        clips->motion[2 * i] = motion;
        clips->motion[2 * i + 1] = 0.3 * motion + rng_normal(&r);
        clips->score[i] = by_motion * motion + (i % 4 >= 2 ? own : 0.0) + 0.1 * rng_normal(&r);
    }
    const plumb_array score =
                          plumb_array_view(clips->score, PLUMB_FLOAT64, 2, (int64_t[]){TUPLES, 4}),
                      motion = plumb_array_view(clips->motion, PLUMB_FLOAT64, 3,
                                                (int64_t[]){TUPLES, 4, 2});
    const plumb_surprise_input in = {.size = sizeof in, .surprise = &score, .motion = &motion};
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.resamples = 0;
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &in, &opt));
    const plumb_surprise_motion found = result.scorers[PLUMB_SCORER_PLAIN].motion;
    CHECK(found.measured && found.tuples == TUPLES);
    plumb_surprise_clear(&result);
    free(clips);
    return found;
}

TEST(a_score_that_is_motion_keeps_nothing)
{
    const plumb_surprise_motion found = control(1.0, 0.0, 1.0);
    CHECK(found.alone_accuracy > 0.7);
    CHECK_NEAR(found.adjusted_accuracy, 0.5, 0.04);
    // Of matched tuples some difference within the caliper remains.
    CHECK(found.matched > 20 && found.matched < TUPLES / 4);
    CHECK(found.matched_accuracy < 0.75);
    CHECK(found.matched_wilson.low < found.matched_accuracy &&
          found.matched_accuracy < found.matched_wilson.high);
}

TEST(a_score_with_a_signal_of_its_own_keeps_it)
{
    const plumb_surprise_motion found = control(1.0, 0.5, 1.0);
    CHECK(found.adjusted_accuracy > 0.99);
    CHECK(found.matched_accuracy > 0.95);
    // Motion against the answer hides a signal, and holding it fixed shows it.
    const plumb_surprise_motion hidden = control(1.0, 0.5, -1.0);
    CHECK(hidden.adjusted_accuracy > 0.99);
}

TEST(frames_give_their_own_motion_and_clips_of_a_splice_move_alike)
{
    enum { N = 3, FRAMES = 6, PIXELS = 16 };
    static uint8_t truth[N * 4 * FRAMES * PIXELS];
    static float guess[N * 4 * FRAMES * PIXELS];
    rng r = rng_at(2, 0);
    for (int t = 0; t < N; t++)
        for (int k = 0; k < FRAMES; k++)
            for (int i = 0; i < PIXELS; i++) {
                const uint8_t a = (uint8_t)rng_below(&r, 256),
                              b = k == 2 ? a : (uint8_t)rng_below(&r, 256);
                for (int c = 0; c < 4; c++)
                    truth[((t * 4 + c) * FRAMES + k) * PIXELS + i] =
                        c == 0 || (c == 2 && k <= 2) || (c == 3 && k > 2) ? a : b;
            }
    const plumb_array frames = plumb_array_view(truth, PLUMB_UINT8, 6,
                                                (int64_t[]){N, 4, FRAMES, 4, 4, 1}),
                      prediction = plumb_array_view(guess, PLUMB_FLOAT32, 6,
                                                    (int64_t[]){N, 4, FRAMES, 4, 4, 1});
    const plumb_surprise_input in = {
        .size = sizeof in, .truth = &frames, .prediction = &prediction};
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &in, NULL));
    const plumb_surprise_motion *motion = &result.scorers[0].motion;
    CHECK(motion->measured);
    CHECK_EQUAL(motion->matched, N);
    CHECK_NEAR(motion->alone_accuracy, 0.0, 0);
    plumb_surprise_clear(&result);
    const plumb_array wrong = plumb_array_view(guess, PLUMB_FLOAT32, 2, (int64_t[]){N, 3});
    plumb_surprise_input bad = in;
    bad.motion = &wrong;
    CHECK_FAILS(plumb_surprise_measure(&result, &bad, NULL), PLUMB_ESHAPE, "motion is (3, 3)");
}
