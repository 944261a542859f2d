// SPDX-License-Identifier: MIT
// The audit gives exactly one half for probes without a leak, and finds every leak that is planted.
#include "evaluate/probe_fixtures.h"

enum { TUPLES = 60 };

static plumb_audit audit(const probes *p)
{
    char path[64];
    plumb_dataset *d = NULL;
    plumb_audit result = {0};
    snprintf(path, sizeof path, "/tmp/plumb-audit-%d.npz", (int)getpid());
    const plumb_named_array frames = {"frames", probes_array(p)};
    CHECK_OK(plumb_file_write(path, &frames, 1, false));
    CHECK_OK(plumb_dataset_open(&d, path, NULL));
    const plumb_status st = plumb_audit_measure(&result, d, NULL);
    plumb_dataset_close(d);
    unlink(path);
    CHECK_OK(st);
    return result;
}

TEST(honest_probes_are_at_one_half_exactly)
{
    static const char *const names[] = {"rooms/continuity", "rooms/directional-inertia",
                                        "rooms/object-persistence", "rooms/solidity",
                                        "rooms/unchangeableness"};
    for (int i = 0; i < 5; i++) {
        probes p = probes_make(names[i], i ? 20 : TUPLES);
        const plumb_audit a = audit(&p);
        CHECK(a.clean);
        CHECK_EQUAL(a.frames.pairs_hold, p.tuples);
        CHECK_EQUAL(a.judged, p.tuples);
        CHECK_NEAR(a.frame.accuracy, 0.5, 1e-12);
        CHECK_NEAR(a.pair.accuracy, 0.5, 1e-12);
        CHECK_NEAR(a.frame.tuple_accuracy, 0.5, 1e-12);
        CHECK_NEAR(a.pair.tuple_accuracy, 0.5, 1e-12);
        CHECK(a.frame.accuracy_ci.low <= 0.5 && a.frame.accuracy_ci.high >= 0.5);
        CHECK(!a.mask.present && !a.identical);
        probes_free(&p);
    }
}

// One grey level more in every impossible frame, which no eye sees.
TEST(a_grey_level_is_caught)
{
    probes p = probes_make("rooms/continuity", TUPLES);
    for (int64_t i = 0; i < TUPLES; i++)
        for (int64_t k = 0; k < 2 * PROBES_STEPS * PROBES_FRAME; k++) {
            uint8_t *byte = probes_at(&p, i, 2, 0) + k;
            if (*byte < 255) (*byte)++;
        }
    const plumb_audit a = audit(&p);
    CHECK(!a.clean && a.frame.leak && a.pair.leak);
    CHECK(a.frame.accuracy > 0.9);
    CHECK_EQUAL(a.frames.frames_hold, 0);
    CHECK_EQUAL(a.frames.bad_tuple, 0);
    probes_free(&p);
}

// The lowest bits are cleared, as if impossible clips had been packed once more.
TEST(clipped_low_bits_are_caught)
{
    probes p = probes_make("rooms/solidity", TUPLES);
    for (int64_t i = 0; i < TUPLES; i++)
        for (int64_t k = 0; k < 2 * PROBES_STEPS * PROBES_FRAME; k++)
            probes_at(&p, i, 2, 0)[k] &= 0xfe;
    const plumb_audit a = audit(&p);
    CHECK(!a.clean && a.frame.leak);
    CHECK(a.frame.tuple_accuracy > 0.95);
    probes_free(&p);
}

// A mark in a corner of one frame only.
TEST(a_mark_in_one_frame_is_caught)
{
    probes p = probes_make("rooms/solidity", TUPLES);
    for (int64_t i = 0; i < TUPLES; i++)
        for (int k = 0; k < 2; k++) memset(probes_at(&p, i, 2 + k, 11), 255, 6);
    const plumb_audit a = audit(&p);
    CHECK(!a.clean && a.frame.leak);
    CHECK_EQUAL(a.frames.bad_time, 11);
    probes_free(&p);
}

// Cut two frames late, where the pictures differ: single frames are balanced, pairs jump.
TEST(a_cut_in_the_wrong_place_is_seen_by_pairs_alone)
{
    probes p = probes_make("rooms/directional-inertia", TUPLES);
    for (int64_t i = 0; i < TUPLES; i++)
        for (int64_t t = 0; t < PROBES_STEPS; t++)
            for (int k = 0; k < 2; k++)
                memcpy(probes_at(&p, i, 2 + k, t), probes_at(&p, i, t < 10 ? k : 1 - k, t),
                       (size_t)PROBES_FRAME);
    const plumb_audit a = audit(&p);
    CHECK_EQUAL(a.frames.frames_hold, TUPLES);
    CHECK_EQUAL(a.frames.pairs_hold, 0);
    CHECK_EQUAL(a.frames.bad_time, 10);
    CHECK_NEAR(a.frame.accuracy, 0.5, 1e-12);
    CHECK(!a.frame.leak && a.pair.leak && !a.clean);
    CHECK(a.pair.tuple_accuracy > 0.9);
    probes_free(&p);
}

TEST(a_tuple_in_which_nothing_is_impossible_is_idle)
{
    probes p = probes_make("rooms/solidity", 10);
    memcpy(probes_at(&p, 3, 2, 0), probes_at(&p, 3, 0, 0),
           (size_t)(2 * PROBES_STEPS * PROBES_FRAME));
    const plumb_audit a = audit(&p);
    CHECK_EQUAL(a.identical, 1);
    CHECK_EQUAL(a.frames.pairs_hold, 10);
    CHECK(!a.clean);
    probes_free(&p);
}

TEST(too_few_tuples_are_compared_and_not_judged)
{
    probes p = probes_make("rooms/solidity", 3);
    const plumb_audit a = audit(&p);
    CHECK(a.clean);
    CHECK_EQUAL(a.judged, 0);
    CHECK(isnan(a.frame.accuracy));
    probes_free(&p);
}
