// SPDX-License-Identifier: MIT
// The whole measure: predictors with a known score get it, and invalid input is rejected with one
// line.
#include "plumb/surprise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "measures/surprise/counterexample.h"
#include "support/test.h"

enum { TUPLES = 60, D = 6, SEEN = 200 };

typedef struct probes {
    double surprise[TUPLES * 4], voe[TUPLES * 4], feature[TUPLES * 4 * D], seen[SEEN * D];
    int64_t concept[TUPLES];
    plumb_array arrays[5];
    plumb_surprise_input in;
} probes;

// Surprise is a little higher for impossible clips; their features lie near those seen.
static void forge_probes(probes *p, uint64_t seed)
{
    rng r = rng_at(seed, 7);
    for (int i = 0; i < TUPLES * 4; i++) {
        p->surprise[i] = 0.01 * rng_uniform(&r) + (i % 4 >= 2 ? 0.002 : 0.0);
        p->voe[i] = 0.01 * rng_uniform(&r);
        for (int j = 0; j < D; j++)
            p->feature[i * D + j] = rng_normal(&r) + (i % 4 >= 2 && !j ? 2.0 : 0.0);
    }
    for (int i = 0; i < SEEN * D; i++) p->seen[i] = rng_normal(&r) + (i % D ? 0.0 : 2.0);
    for (int i = 0; i < TUPLES; i++) p->concept[i] = 10 * (i % 3);
    p->arrays[0] = plumb_array_view(p->surprise, PLUMB_FLOAT64, 2, (int64_t[]){TUPLES, 4});
    p->arrays[1] = plumb_array_view(p->feature, PLUMB_FLOAT64, 3, (int64_t[]){TUPLES, 4, D});
    p->arrays[2] = plumb_array_view(p->seen, PLUMB_FLOAT64, 2, (int64_t[]){SEEN, D});
    p->arrays[3] = plumb_array_view(p->voe, PLUMB_FLOAT64, 2, (int64_t[]){TUPLES, 4});
    p->arrays[4] = plumb_array_view(p->concept, PLUMB_INT64, 1, (int64_t[]){TUPLES});
    p->in = (plumb_surprise_input){.size = sizeof p->in,
                                   .surprise = &p->arrays[0],
                                   .feature = &p->arrays[1],
                                   .observation = &p->arrays[2],
                                   .surprise_naive = &p->arrays[3],
                                   .concepts = &p->arrays[4]};
}

static plumb_surprise_options quick(void)
{
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = 5;
    opt.resamples = 100;
    return opt;
}

TEST(features_near_the_seen_ones_raise_the_score)
{
    probes p;
    forge_probes(&p, 1);
    plumb_surprise_options opt = quick();
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &p.in, &opt));
    const plumb_surprise_score *plain = &result.scorers[PLUMB_SCORER_PLAIN];
    const plumb_surprise_score *knn = &result.scorers[PLUMB_SCORER_KNN];
    CHECK(knn->all.accuracy > plain->all.accuracy);
    for (int i = 0; i < TUPLES * 4; i++) {
        CHECK(plain->score[i] == p.surprise[i]);
        CHECK_NEAR(knn->score[i], p.surprise[i] - 0.01 * knn->distance[i], 1e-15);
        CHECK_NEAR(result.scorers[PLUMB_SCORER_NAIVE].score[i], p.surprise[i] - p.voe[i], 1e-15);
    }
    CHECK_EQUAL(result.concept_count, 3);
    CHECK_TEXT(result.concept_names[1], "10");
    // Over concepts of one size the mean of means is the mean.
    CHECK_NEAR(plain->all.accuracy, (double)plain->all.correct / TUPLES, 1e-15);
    CHECK_EQUAL(result.tested, TUPLES);
    CHECK(!result.split && result.uniformity.measured && result.ratio.measured);
    CHECK(!result.scorers[PLUMB_SCORER_KNN_LOG].measured);
    plumb_surprise_clear(&result);
}

TEST(gamma_zero_is_plain_surprise_for_every_scorer)
{
    probes p;
    forge_probes(&p, 2);
    plumb_surprise_options opt = quick();
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) opt.gammas[i] = 0.0;
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &p.in, &opt));
    // The likelihood ratio has no gamma.
    for (int s = 0; s < PLUMB_SCORER_LR; s++)
        for (int i = 0; result.scorers[s].measured && i < TUPLES * 4; i++)
            CHECK(result.scorers[s].score[i] == p.surprise[i]);
    for (int64_t i = 0; i < result.pair_count; i++)
        CHECK(result.pairs[i].second == PLUMB_SCORER_LR || result.pairs[i].p == 1.0);
    plumb_surprise_clear(&result);
}

TEST(without_observation_a_fifth_of_each_concept_is_set_apart)
{
    probes p;
    forge_probes(&p, 3);
    p.in.observation = NULL;
    plumb_surprise_options opt = quick();
    plumb_surprise a, b;
    CHECK_OK(plumb_surprise_measure(&a, &p.in, &opt));
    CHECK(a.split);
    CHECK_EQUAL(a.tested, 48);
    CHECK_EQUAL(a.observed, 24);
    int64_t per[3] = {0};
    for (int64_t i = 0; i < a.tested; i++) per[a.concept_of[i]]++;
    for (int i = 0; i < 3; i++) CHECK_EQUAL(per[i], 16);
    // The same split of the same seed, another one of another; the same bits on any threads.
    opt.threads = 3;
    CHECK_OK(plumb_surprise_measure(&b, &p.in, &opt));
    for (int s = 0; s < PLUMB_SCORER_COUNT; s++)
        if (a.scorers[s].measured)
            CHECK(memcmp(a.scorers[s].score, b.scorers[s].score, sizeof(double) * 4 * 48) == 0);
    plumb_surprise_clear(&b);
    opt.seed = 2;
    CHECK_OK(plumb_surprise_measure(&b, &p.in, &opt));
    CHECK(memcmp(a.tested_tuple, b.tested_tuple, sizeof(int64_t) * 48) != 0);
    plumb_surprise_clear(&a);
    plumb_surprise_clear(&b);
}

TEST(plain_surprise_alone_is_judged_on_all_tuples)
{
    probes p;
    forge_probes(&p, 4);
    p.in.observation = NULL;
    plumb_surprise_options opt = quick();
    opt.scorers[PLUMB_SCORER_PLAIN] = true;
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &p.in, &opt));
    CHECK_EQUAL(result.tested, TUPLES);
    plumb_surprise_clear(&result);
}

// ---- frames ----

enum { FRAMES = 5, SIDE = 4 };

typedef struct clip_frames {
    uint8_t truth[2 * 4 * FRAMES * SIDE * SIDE];
    float guess[2 * 4 * FRAMES * SIDE * SIDE];
} clip_frames;

static plumb_status watch_as(plumb_surprise *out, clip_frames *f, int64_t guessed,
                             const plumb_surprise_options *opt)
{
    plumb_array truth =
        plumb_array_view(f->truth, PLUMB_UINT8, 6, (int64_t[]){2, 4, FRAMES, SIDE, SIDE, 1});
    plumb_array guess =
        plumb_array_view(f->guess, PLUMB_FLOAT32, 6, (int64_t[]){2, 4, guessed, SIDE, SIDE, 1});
    const plumb_surprise_input in = {.size = sizeof in, .truth = &truth, .prediction = &guess};
    return plumb_surprise_measure(out, &in, opt);
}

static plumb_status watch(plumb_surprise *out, clip_frames *f, int64_t guessed)
{
    return watch_as(out, f, guessed, NULL);
}

TEST(surprise_of_frames_is_the_sum_of_equation_1_and_the_mean_on_request)
{
    // Every pixel of frame 3 of the impossible clips is off by 1, every one of frame 4 by 0.5.
    clip_frames f = {0};
    const int pixels = SIDE * SIDE;
    for (int c = 0; c < 8; c++)
        for (int i = 0; c % 4 >= 2 && i < pixels; i++) {
            f.truth[(c * FRAMES + 3) * pixels + i] = 255;
            f.guess[(c * FRAMES + 4) * pixels + i] = 0.5f;
        }
    plumb_surprise result;
    CHECK_OK(watch(&result, &f, FRAMES));
    CHECK_NEAR(result.scorers[0].score[2], 1.25 * pixels, 1e-12);
    CHECK_NEAR(result.frame_surprise[2 * FRAMES + 4], 0.25 * pixels, 1e-12);
    CHECK_EQUAL((int)result.error_unit, (int)PLUMB_SURPRISE_UNIT_SUM);
    CHECK_EQUAL((int)result.joined, (int)PLUMB_SURPRISE_FRAMES_SUM);
    plumb_surprise_clear(&result);
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.error_unit = PLUMB_SURPRISE_UNIT_MEAN;
    CHECK_OK(watch_as(&result, &f, FRAMES, &opt));
    CHECK_NEAR(result.scorers[0].score[2], 1.25 / FRAMES, 1e-15);
    plumb_surprise_clear(&result);
    // frames decides the reduction over frames alone.
    opt.frames = PLUMB_SURPRISE_FRAMES_SUM;
    CHECK_OK(watch_as(&result, &f, FRAMES, &opt));
    CHECK_NEAR(result.scorers[0].score[2], 1.25, 1e-15);
    plumb_surprise_clear(&result);
    opt.error_unit = PLUMB_SURPRISE_UNIT_SUM;
    opt.frames = PLUMB_SURPRISE_FRAMES_MEAN;
    CHECK_OK(watch_as(&result, &f, FRAMES, &opt));
    CHECK_NEAR(result.scorers[0].score[2], 1.25 * pixels / FRAMES, 1e-12);
    plumb_surprise_clear(&result);
}

TEST(surprise_that_is_given_is_never_rescaled)
{
    double x[2 * 4 * 3];
    for (int i = 0; i < 24; i++) x[i] = i % 12 >= 6 ? 3.0 : 1.0;
    const plumb_array surprise = plumb_array_view(x, PLUMB_FLOAT64, 3, (int64_t[]){2, 4, 3});
    char sum[] = "sum", word[] = "total";
    const plumb_array error_unit = plumb_array_view(sum, PLUMB_UINT8, 1, (int64_t[]){3}),
                      wrong = plumb_array_view(word, PLUMB_UINT8, 1, (int64_t[]){5});
    plumb_surprise_input in = {.size = sizeof in, .surprise = &surprise};
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &in, NULL));
    CHECK_NEAR(result.scorers[0].score[2], 3.0, 0);
    CHECK_EQUAL((int)result.error_unit, (int)PLUMB_SURPRISE_UNIT_GIVEN);
    plumb_surprise_clear(&result);
    // The file of plumb evaluate says what it holds.
    in.error_unit = &error_unit;
    CHECK_OK(plumb_surprise_measure(&result, &in, NULL));
    CHECK_NEAR(result.scorers[0].score[2], 9.0, 0);
    CHECK_EQUAL((int)result.error_unit, (int)PLUMB_SURPRISE_UNIT_SUM);
    plumb_surprise_clear(&result);
    in.error_unit = &wrong;
    CHECK_FAILS(plumb_surprise_measure(&result, &in, NULL), PLUMB_EVALUE, "unit is not the text");
}

TEST(an_oracle_of_frames_is_right_and_a_constant_picture_ties)
{
    // Impossible clips flicker at frame 3; possible ones are black.
    clip_frames f = {0};
    const int pixels = SIDE * SIDE;
    for (int c = 0; c < 8; c++)
        for (int i = 0; c % 4 >= 2 && i < pixels; i++) f.truth[(c * FRAMES + 3) * pixels + i] = 255;
    plumb_surprise result;
    CHECK_OK(watch(&result, &f, FRAMES)); // black everywhere is what possible clips are
    CHECK_NEAR(result.scorers[0].all.accuracy, 1.0, 0);
    CHECK_NEAR(result.scorers[0].score[2], pixels, 0);
    CHECK_NEAR(result.scorers[0].maximum.difference, pixels, 0);
    CHECK_NEAR(result.frame_surprise[2 * FRAMES + 3], pixels, 0);
    plumb_surprise_clear(&result);

    for (int i = 0; i < 8 * FRAMES * pixels; i++) f.guess[i] = 0.5f; // half way to both
    CHECK_OK(watch(&result, &f, FRAMES));
    CHECK_NEAR(result.scorers[0].all.accuracy, 0.0, 0);
    CHECK_EQUAL(result.scorers[0].all.ties, 2);
    CHECK_NEAR(result.scorers[0].all.auroc, 0.5, 0);
    plumb_surprise_clear(&result);
}

TEST(copying_the_last_frame_is_chance_where_clips_share_their_frames)
{
    // Two possible clips A B and their splices A|B, B|A at a shared frame: the same pairs of
    // frames in both, so that a copy of the last frame cannot tell.
    clip_frames f = {0};
    const int pixels = SIDE * SIDE, cut = 2;
    uint8_t a[FRAMES][SIDE * SIDE], b[FRAMES][SIDE * SIDE];
    rng r = rng_at(12, 0);
    for (int t = 0; t < FRAMES; t++)
        for (int i = 0; i < pixels; i++) {
            a[t][i] = (uint8_t)rng_below(&r, 256);
            b[t][i] = t == cut ? a[t][i] : (uint8_t)rng_below(&r, 256);
        }
    for (int tuple = 0; tuple < 2; tuple++)
        for (int c = 0; c < 4; c++)
            for (int t = 0; t < FRAMES; t++) {
                const bool from_a = c == 0 || (c == 2 && t <= cut) || (c == 3 && t > cut);
                uint8_t *to = f.truth + ((tuple * 4 + c) * FRAMES + t) * pixels;
                memcpy(to, from_a ? a[t] : b[t], (size_t)pixels);
                float *guess = f.guess + ((tuple * 4 + c) * (FRAMES - 1) + t) * pixels;
                for (int i = 0; t + 1 < FRAMES && i < pixels; i++) guess[i] = to[i] / 255.0f;
            }
    plumb_surprise result;
    CHECK_OK(watch(&result, &f, FRAMES - 1)); // one frame less: of all but the first
    CHECK_EQUAL(result.frames, FRAMES - 1);
    for (int i = 0; i < 2; i++) {
        const double *s = result.scorers[0].score + 4 * i;
        CHECK_NEAR(s[0] + s[1], s[2] + s[3], 1e-12);
    }
    CHECK_NEAR(result.scorers[0].all.relative_surprise, 0.0, 1e-14);
    plumb_surprise_clear(&result);
}

// ---- one line each ----

TEST(what_cannot_be_judged_is_refused_in_one_line)
{
    probes p;
    plumb_surprise result;
    plumb_surprise_options opt = quick();
    forge_probes(&p, 5);
    opt.k = SEEN + 1;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_EVALUE, "k is 201");
    opt.k = SEEN; // the farthest is legal
    CHECK_OK(plumb_surprise_measure(&result, &p.in, &opt));
    plumb_surprise_clear(&result);
    opt.k = -1;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_EVALUE, "k is -1");
    opt = quick();

    p.feature[7 * D + 2] = (double)NAN;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ENUMERIC, "NaN at (1, 3, 2)");
    forge_probes(&p, 5);
    p.seen[5] = (double)INFINITY;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ENUMERIC, "observation");
    forge_probes(&p, 5);
    p.surprise[9] = (double)NAN;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ENUMERIC, "surprise");

    forge_probes(&p, 5);
    memcpy(p.seen + 3 * D, p.feature + 13 * D, D * sizeof(double));
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ENUMERIC,
                "overlaps the test set: its row 3 is the feature of tuple 3, clip 1");

    forge_probes(&p, 5);
    p.arrays[0].shape[0] = TUPLES * 4 / 5;
    p.arrays[0].shape[1] = 5;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ESHAPE, "has 4 clips");
    forge_probes(&p, 5);
    p.arrays[2].shape[0] = SEEN * D / (D + 1);
    p.arrays[2].shape[1] = D + 1;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ESHAPE, "6 dimensions");
    forge_probes(&p, 5);
    p.arrays[4].shape[0] = TUPLES - 1;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ESHAPE, "concept is (59,)");
    p.in.concepts = NULL;
    p.in.feature = NULL;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ESHAPE, "without feature");
    p.in.observation = NULL;
    opt.scorers[PLUMB_SCORER_KNN] = true;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ESHAPE, "knn needs feature");
    p.in.surprise = NULL;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ESHAPE, "neither surprise nor");
    opt.size = 3;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_EVALUE,
                "plumb_surprise_options.size is 3");
}

static char said[400];

static void listen(void *context, const char *line)
{
    (void)context;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

TEST(k_is_a_share_of_the_observed_clips_by_default)
{
    probes p;
    plumb_surprise result;
    plumb_surprise_options opt = quick();
    forge_probes(&p, 8);
    opt.k = 0;
    CHECK_OK(plumb_surprise_measure(&result, &p.in, &opt));
    CHECK_EQUAL(result.k, 5); // 0.025 of 200, as 50 of 2000 in the paper
    CHECK_EQUAL(result.least_observed, SEEN);
    plumb_surprise_clear(&result);
    // 8 clips of each concept are observed: 0.2, which is no neighbour, becomes the nearest.
    p.in.observation = NULL;
    CHECK_OK(plumb_surprise_measure(&result, &p.in, &opt));
    CHECK_EQUAL(result.k, 1);
    CHECK_EQUAL(result.least_observed, 8);
    plumb_surprise_clear(&result);
}

TEST(a_default_that_cannot_be_met_leaves_out_its_scorer_alone)
{
    probes p;
    plumb_surprise result;
    plumb_surprise_options opt = quick();
    opt.k = 0;
    forge_probes(&p, 9);
    // One tuple of the last concept: it cannot be split.
    for (int i = 0; i < TUPLES; i++) p.concept[i] = i == 5 ? 2 : 1;
    p.in.observation = NULL;
    CHECK_OK(plumb_surprise_measure(&result, &p.in, &opt));
    CHECK(result.scorers[PLUMB_SCORER_PLAIN].measured &&
          !result.scorers[PLUMB_SCORER_KNN].measured);
    CHECK(strstr(result.scorers[PLUMB_SCORER_KNN].why, "there is one of 2"));
    CHECK_EQUAL(result.tested, TUPLES);
    plumb_surprise_clear(&result);
    opt.scorers[PLUMB_SCORER_KNN] = true;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_EVALUE, "has one tuple");
    // Observed clips that are all equal have no covariance.
    opt = quick();
    forge_probes(&p, 9);
    for (int i = 0; i < SEEN * D; i++) p.seen[i] = i % D ? 0.0 : 1.0;
    CHECK_OK(plumb_surprise_measure(&result, &p.in, &opt));
    CHECK(result.scorers[PLUMB_SCORER_KNN].measured);
    CHECK(strstr(result.scorers[PLUMB_SCORER_MAHALANOBIS].why, "are equal"));
    CHECK(strstr(result.scorers[PLUMB_SCORER_PCA].why, "are equal"));
    plumb_surprise_clear(&result);
    opt.scorers[PLUMB_SCORER_PCA] = true;
    CHECK_FAILS(plumb_surprise_measure(&result, &p.in, &opt), PLUMB_ENUMERIC, "are equal");
}

TEST(zero_vectors_and_repeats_are_counted_and_said)
{
    probes p;
    forge_probes(&p, 6);
    for (int j = 0; j < D; j++) {
        p.feature[j] = p.seen[j] = 0.0;
        p.seen[5 * D + j] = p.seen[6 * D + j];
    }
    plumb_surprise_options opt = quick();
    opt.scorers[PLUMB_SCORER_KNN] = true;
    plumb_surprise result;
    said[0] = 0;
    plumb_set_log(listen, NULL);
    CHECK_OK(plumb_surprise_measure(&result, &p.in, &opt));
    plumb_set_log(NULL, NULL);
    CHECK_EQUAL(result.zero_features, 2);
    CHECK_EQUAL(result.equal_observations, 1);
    CHECK(strstr(said, "2 features are zero vectors"));
    CHECK(strstr(said, "1 of 200 observed features repeat another"));
    CHECK_NEAR(result.scorers[PLUMB_SCORER_KNN].distance[0], 1.0, 1e-15);
    plumb_surprise_clear(&result);
}

TEST(the_counter_example_turns_round)
{
    const plumb_surprise_counterexample e = plumb_surprise_counterexample_compute(sqrt(0.001));
    CHECK(e.surprise[1] > e.surprise[0] && e.log_ratio[1] < e.log_ratio[0]);
    CHECK_NEAR(e.log_ratio[0], 3.453878, 1e-6);
    CHECK_NEAR(counterexample_log_ratio(e.even, e.deviation), 0.0, 1e-12);
}
