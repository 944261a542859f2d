// SPDX-License-Identifier: MIT
// What predictors that know nothing, and one that knows all, must score on honest probes.
//
// A constant predictor's surprise is a function of single frames, and that of one who copies the
// last frame a function of pairs. Both are the same, added up, over the possible and the impossible
// clips of a tuple: every tuple is a tie, relative surprise is 0, and as a tie is wrong so is
// accuracy. An oracle, who knows how each opening goes on, is surprised by the impossible alone.
#include "evaluate/probe_fixtures.h"

static const char *const names[] = {"rooms/continuity", "rooms/directional-inertia",
                                    "rooms/object-persistence", "rooms/solidity",
                                    "rooms/unchangeableness"};
enum { TUPLES = 12 };

static plumb_surprise_metrics score(const probes *p, const plumb_array *prediction)
{
    const plumb_array truth = probes_array(p);
    const plumb_surprise_input in = {.size = sizeof in, .truth = &truth, .prediction = prediction};
    plumb_surprise result;
    CHECK_OK(plumb_surprise_measure(&result, &in, NULL));
    const plumb_surprise_metrics m = result.scorers[PLUMB_SCORER_PLAIN].all;
    plumb_surprise_clear(&result);
    return m;
}

static void check_tie(const plumb_surprise_metrics *m)
{
    CHECK_NEAR(m->accuracy, 0.0, 0.0);
    CHECK_EQUAL(m->ties, TUPLES);
    CHECK_NEAR(m->relative_surprise, 0.0, 0.0);
    CHECK_NEAR(m->difference, 0.0, 0.0);
    CHECK_NEAR(m->pairwise, 0.5, 0.0);
}

TEST(a_constant_predictor_ties_on_every_tuple)
{
    for (int i = 0; i < 5; i++) {
        probes p = probes_make(names[i], TUPLES);
        plumb_array prediction = probes_array(&p);
        const int64_t count = plumb_array_count(&prediction);
        float *grey = malloc((size_t)count * sizeof *grey);
        for (int64_t k = 0; k < count; k++) grey[k] = 0.37f;
        prediction.dtype = PLUMB_FLOAT32;
        prediction.data = grey;
        const plumb_surprise_metrics m = score(&p, &prediction);
        CHECK_NEAR(m.accuracy, 0.0, 0.0);
        CHECK_EQUAL(m.ties, TUPLES);
        CHECK_NEAR(m.relative_surprise, 0.0, 0.0);
        free(grey);
        probes_free(&p);
    }
}

TEST(copying_the_last_frame_ties_on_every_tuple)
{
    for (int i = 0; i < 5; i++) {
        probes p = probes_make(names[i], TUPLES);
        const size_t clip = (size_t)(PROBES_STEPS * PROBES_FRAME);
        uint8_t *copy = malloc((size_t)TUPLES * 4 * clip);
        for (size_t c = 0; c < (size_t)TUPLES * 4; c++) {
            memcpy(copy + c * clip, p.frames + c * clip, (size_t)PROBES_FRAME);
            memcpy(copy + c * clip + PROBES_FRAME, p.frames + c * clip,
                   clip - (size_t)PROBES_FRAME);
        }
        plumb_array prediction = probes_array(&p);
        prediction.data = copy;
        const plumb_surprise_metrics m = score(&p, &prediction);
        check_tie(&m);
        free(copy);
        probes_free(&p);
    }
}

// Each impossible clip is expected to go on as the possible one it began as.
TEST(an_oracle_is_surprised_by_the_impossible_alone)
{
    for (int i = 0; i < 5; i++) {
        probes p = probes_make(names[i], TUPLES);
        const size_t half = (size_t)(2 * PROBES_STEPS * PROBES_FRAME);
        uint8_t *known = malloc((size_t)TUPLES * 2 * half);
        for (size_t k = 0; k < TUPLES; k++)
            for (size_t j = 0; j < 2; j++)
                memcpy(known + (2 * k + j) * half, p.frames + 2 * k * half, half);
        plumb_array prediction = probes_array(&p);
        prediction.data = known;
        const plumb_surprise_metrics m = score(&p, &prediction);
        CHECK_NEAR(m.accuracy, 1.0, 0.0);
        CHECK_NEAR(m.relative_surprise, 1.0, 0.0);
        CHECK_NEAR(m.auroc, 1.0, 0.0);
        CHECK(m.chance_p < 1e-3);
        free(known);
        probes_free(&p);
    }
}

// The other way round: who expects only the impossible is always wrong.
TEST(who_expects_the_impossible_is_always_wrong)
{
    probes p = probes_make("rooms/solidity", TUPLES);
    const size_t half = (size_t)(2 * PROBES_STEPS * PROBES_FRAME);
    uint8_t *known = malloc((size_t)TUPLES * 2 * half);
    for (size_t k = 0; k < TUPLES; k++)
        for (size_t j = 0; j < 2; j++)
            memcpy(known + (2 * k + j) * half, p.frames + (2 * k + 1) * half, half);
    plumb_array prediction = probes_array(&p);
    prediction.data = known;
    const plumb_surprise_metrics m = score(&p, &prediction);
    CHECK_NEAR(m.accuracy, 0.0, 0.0);
    CHECK_NEAR(m.relative_surprise, -1.0, 0.0);
    CHECK_EQUAL(m.ties, 0);
    free(known);
    probes_free(&p);
}
