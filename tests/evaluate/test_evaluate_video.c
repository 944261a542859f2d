// SPDX-License-Identifier: MIT
// Video models evaluated on probes: baselines score what theory says, a file of probes gives the
// same as the rooms, threads do not affect the result, and data of the wrong shape are rejected.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate/baselines.h"
#include "evaluate/probe_source.h"
#include "measures/surprise/scorers.h"
#include "plumb/plumb.h"
#include "support/simulate.h"
#include "support/test.h"

enum { TUPLES = 10 };
static char folder[] = "/tmp/plumb-expect-XXXXXX";
static bool made;

static const char *path_of(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

// A tiny run of that model, trained once.
static void train(const char *name, const char *model, const char *world)
{
    char path[128];
    if (!made) CHECK(mkdtemp(folder));
    made = true;
    plumb_training_options o = plumb_training_defaults();
    o.model = model;
    o.world = world;
    o.preset = "tiny";
    o.out = path_of(path, name);
    o.steps = 12;
    o.force = true;
    plumb_training r;
    CHECK_OK(plumb_training_run(&r, &o));
}

static plumb_evaluation_options few(void)
{
    static plumb_surprise_options surprise;
    surprise = plumb_surprise_defaults();
    surprise.k = 3;
    surprise.resamples = 50;
    plumb_evaluation_options o = plumb_evaluation_defaults();
    o.tuples = TUPLES;
    o.free_clips = 4;
    o.threads = 1;
    o.surprise = &surprise;
    return o;
}

static const plumb_surprise_metrics *plain(const plumb_surprise *s)
{
    return &s->scorers[PLUMB_SCORER_PLAIN].all;
}

static void check_baselines(const plumb_evaluation_video *r)
{
    const plumb_surprise_metrics *copy = plain(&r->baselines[PLUMB_BASELINE_COPY]);
    const plumb_surprise_metrics *oracle = plain(&r->baselines[PLUMB_BASELINE_ORACLE]);
    CHECK_EQUAL(copy->ties, copy->tuples);
    CHECK_EQUAL(copy->tuples, r->surprise.tested);
    CHECK_NEAR(copy->accuracy, 0.0, 0.0);
    CHECK_NEAR(oracle->accuracy, 1.0, 0.0);
    CHECK_NEAR(oracle->relative_surprise, 1.0, 0.0);
    // A pixel that goes on as it went knows that a ball does not turn back, and nothing of what is
    // behind a pillar.
    const plumb_surprise_score *linear =
        &r->baselines[PLUMB_BASELINE_LINEAR].scorers[PLUMB_SCORER_PLAIN];
    CHECK_NEAR(linear->concepts[0].accuracy, 0.0, 0.0);
    CHECK(linear->concepts[1].accuracy > 0.9);
    for (int64_t i = 0; i < r->surprise.concept_count; i++) {
        CHECK(r->possible[i].model > 0.0);
        CHECK(r->possible[i].baselines[PLUMB_BASELINE_COPY] > 0.0);
        CHECK_NEAR(r->possible[i].baselines[PLUMB_BASELINE_ORACLE], 0.0, 0.0);
    }
}

TEST(references_score_what_theory_says_and_every_scorer_scores)
{
    char path[128], other[128];
    train("run", "predrnn", "rooms/freeform");
    train("naive", "predrnn", "rooms/impossible");
    plumb_evaluation_options o = few();
    o.naive = path_of(other, "naive");
    plumb_evaluation r;
    CHECK_OK(plumb_evaluation_measure(&r, path_of(path, "run"), &o));
    CHECK(!strcmp(r.model, "predrnn") && !strcmp(r.world, "rooms/freeform"));
    CHECK_EQUAL(r.training_steps, 12);
    CHECK_EQUAL(r.video.surprise.concept_count, 5);
    CHECK_EQUAL(r.video.surprise.tuples, 5 * TUPLES);
    CHECK_EQUAL(r.video.surprise.dims, 4);
    CHECK_EQUAL(r.video.free_clips.clips, 4);
    CHECK(isnan(r.video.free_clips.baselines[PLUMB_BASELINE_ORACLE]));
    for (int k = 0; k < PLUMB_SCORER_COUNT; k++)
        CHECK(r.video.surprise.scorers[k].measured ==
              (k != PLUMB_SCORER_KNN_LOG && scorer_available((plumb_scorer)k)));
    CHECK(r.video.surprise.uniformity.measured);
    check_baselines(&r.video);
    plumb_evaluation_clear(&r);
}

TEST(threads_change_no_number)
{
    char path[128];
    train("run", "predrnn", "rooms/freeform");
    plumb_evaluation_options o = few();
    plumb_evaluation a, b;
    CHECK_OK(plumb_evaluation_measure(&a, path_of(path, "run"), &o));
    o.threads = 3;
    CHECK_OK(plumb_evaluation_measure(&b, path, &o));
    CHECK(!strcmp(a.video.surprise.input_hash, b.video.surprise.input_hash));
    CHECK_NEAR(a.video.free_clips.model, b.video.free_clips.model, 0.0);
    plumb_evaluation_clear(&a), plumb_evaluation_clear(&b);
}

// The rooms' own probes through a file, with masks: the same bytes; and what was saved is read.
TEST(a_file_of_probes_is_as_good_as_the_room)
{
    enum { CLIP = PLUMB_ROOM_STEPS * 16 * 16 };
    static uint8_t frames[2][4 * CLIP * 3], mask[2][4 * CLIP], names[2][PROBE_SOURCE_NAME_SIZE];
    char path[128], file[128], saved[128];
    train("run", "plato", "rooms/freeform");
    probe_source own, filed;
    for (int64_t i = 0; probe_source_room(&own, i, 16); i++)
        if (!strcmp(plumb_world_get_info(own.world)->name, "rooms/solidity")) break;
    own.seed = 1;
    CHECK_OK(write_room(path_of(file, "solid.npz"), own.world,
                        (room_file){.count = TUPLES, .seed = 1, .image = 16, .threads = 1}, NULL));
    CHECK_OK(probe_source_open(&filed, file, 0, 1000));
    CHECK_EQUAL(filed.tuples, TUPLES);
    CHECK_OK(probe_source_read(&own, 3, 1, frames[0], mask[0], names[0], 1));
    CHECK_OK(probe_source_read(&filed, 3, 1, frames[1], mask[1], names[1], 1));
    CHECK(!memcmp(frames[0], frames[1], sizeof frames[0]));
    CHECK(!memcmp(mask[0], mask[1], sizeof mask[0]));
    CHECK(!strcmp((char *)names[0], "solidity") && !strcmp((char *)names[1], "solidity"));
    probe_source_close(&filed);
    const char *files[] = {file};
    plumb_evaluation_options o = few();
    plumb_evaluation r;
    o.probes = files;
    o.probe_count = 1;
    o.free_clips = 0;
    o.save = path_of(saved, "saved.npz");
    CHECK_OK(plumb_evaluation_measure(&r, path_of(path, "run"), &o));
    CHECK_EQUAL(r.video.surprise.concept_count, 1);
    CHECK_EQUAL(r.video.free_clips.clips, 0);
    CHECK(!strcmp(r.video.surprise.concept_names[0], "solidity"));
    plumb_file *f;
    plumb_array x;
    CHECK_OK(plumb_file_open(&f, saved));
    CHECK_OK(plumb_file_read_array(&x, f, "surprise"));
    CHECK(x.ndim == 3 && x.shape[0] == TUPLES && x.shape[1] == 4 && x.shape[2] == 14);
    plumb_file_close(f);
    plumb_evaluation_clear(&r);
}

// Frames of twice the size: their 2x2 pixels are averaged, and masks have the object at the middle.
TEST(larger_probes_are_resized_on_request)
{
    enum { CLIP = PLUMB_ROOM_STEPS * 16 * 16 };
    static uint8_t frames[4 * CLIP * 3], mask[4 * CLIP], name[PROBE_SOURCE_NAME_SIZE];
    static uint8_t large[16 * CLIP * 3], large_mask[16 * CLIP];
    char path[128], file[128];
    train("run", "plato", "rooms/freeform");
    const plumb_world *solid;
    CHECK_OK(plumb_world_find(&solid, "rooms/solidity"));
    CHECK_OK(write_room(path_of(file, "twice.npz"), solid,
                        (room_file){.count = TUPLES, .seed = 1, .image = 32, .threads = 1}, NULL));
    probe_source source;
    CHECK_OK(probe_source_open(&source, file, 0, TUPLES));
    CHECK_OK(probe_source_read(&source, 2, 1, large, large_mask, name, 1));
    CHECK_FAILS(probe_source_resize(&source, 16, 32), PLUMB_ESHAPE, "cannot be resized to 16x32");
    CHECK_FAILS(probe_source_resize(&source, 64, 64), PLUMB_ESHAPE, "cannot be resized to 64x64");
    CHECK_OK(probe_source_resize(&source, 16, 16));
    CHECK_OK(probe_source_read(&source, 2, 1, frames, mask, name, 1));
    for (int64_t t = 0; t < 4 * PLUMB_ROOM_STEPS; t++)
        for (int64_t y = 0; y < 16; y++)
            for (int64_t x = 0; x < 16; x++) {
                const int64_t at = (t * 32 + 2 * y) * 32 + 2 * x, to = (t * 16 + y) * 16 + x;
                for (int64_t c = 0; c < 3; c++) {
                    const int sum = large[3 * at + c] + large[3 * (at + 1) + c] +
                                    large[3 * (at + 32) + c] + large[3 * (at + 33) + c];
                    CHECK_EQUAL(frames[3 * to + c], (sum + 2) / 4);
                }
                CHECK_EQUAL(mask[to], large_mask[at + 33]);
            }
    probe_source_close(&source);
    const char *files[] = {file};
    plumb_evaluation_options o = few();
    plumb_evaluation r;
    o.probes = files;
    o.probe_count = 1;
    o.free_clips = 0;
    CHECK_FAILS(plumb_evaluation_measure(&r, path_of(path, "run"), &o), PLUMB_ESHAPE, "resize");
    o.resize = true;
    CHECK_OK(plumb_evaluation_measure(&r, path, &o));
    CHECK_EQUAL(r.video.surprise.concept_count, 1);
    plumb_evaluation_clear(&r);
}

TEST(what_does_not_fit_is_refused)
{
    char path[128], file[128], other[128];
    train("run", "predrnn", "rooms/freeform");
    plumb_evaluation_options o = few();
    plumb_evaluation r;
    plumb_evaluation_kind kind = PLUMB_EVALUATION_DYNAMICS;
    CHECK_OK(plumb_evaluation_find_kind(&kind, path_of(path, "run")));
    CHECK_EQUAL(kind, PLUMB_EVALUATION_VIDEO);
    CHECK_FAILS(plumb_evaluation_find_kind(&kind, path_of(other, "nowhere")), PLUMB_EFILE,
                "nowhere");
    train("hamilton", "hgn++", "mass-spring");
    CHECK_OK(plumb_evaluation_find_kind(&kind, path_of(other, "hamilton")));
    CHECK_EQUAL(kind, PLUMB_EVALUATION_DYNAMICS);
    o.naive = other;
    CHECK_FAILS(plumb_evaluation_measure(&r, path, &o), PLUMB_EVALUE, "not a video model");
    o.naive = NULL;
    o.data = "some.npz";
    CHECK_FAILS(plumb_evaluation_measure(&r, path, &o), PLUMB_EVALUE, "not by data");
    o.data = NULL;
    const plumb_world *solid;
    CHECK_OK(plumb_world_find(&solid, "rooms/solidity"));
    CHECK_OK(write_room(path_of(file, "large.npz"), solid,
                        (room_file){.count = 3, .seed = 1, .image = 32, .threads = 1}, NULL));
    const char *files[] = {file};
    o.probes = files;
    o.probe_count = 1;
    CHECK_FAILS(plumb_evaluation_measure(&r, path, &o), PLUMB_ESHAPE, "trained on 16x16x3");
    CHECK_OK(plumb_world_find(&solid, "rooms/freeform"));
    CHECK_OK(write_room(path_of(file, "free.npz"), solid,
                        (room_file){.count = 3, .seed = 1, .image = 16, .threads = 1}, NULL));
    CHECK_FAILS(plumb_evaluation_measure(&r, path, &o), PLUMB_ESHAPE, "wanted u1 (4, steps");
    o.tuples = 1;
    CHECK_FAILS(plumb_evaluation_measure(&r, path, &o), PLUMB_EVALUE, "tuples is 1");
    // PLATO needs object masks.
    plumb_training_options t = plumb_training_defaults();
    plumb_training result;
    t.model = "plato", t.world = "mass-spring", t.preset = "tiny";
    t.out = path_of(other, "blind");
    CHECK_FAILS(plumb_training_run(&result, &t), PLUMB_EVALUE, "needs object masks");
    t.model = "predrnn", t.world = "rooms/kitchen";
    CHECK_FAILS(plumb_training_run(&result, &t), PLUMB_EVALUE, "rooms/kitchen");
    const char *longer[] = {"frames=20"};
    t.world = "rooms/freeform", t.set = longer, t.set_count = 1;
    CHECK_FAILS(plumb_training_run(&result, &t), PLUMB_EVALUE, "has 15 frames per clip");
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(!system(command));
    made = false;
    strcpy(folder, "/tmp/plumb-expect-XXXXXX");
}

// Errors of references by hand: two pixels, three frames.
TEST(references_are_what_they_say)
{
    const uint8_t tuple[4][3][2] = {{{0, 0}, {10, 0}, {20, 5}},
                                    {{0, 0}, {10, 0}, {10, 0}},
                                    {{0, 0}, {10, 0}, {10, 0}},
                                    {{0, 0}, {10, 0}, {20, 5}}};
    double e[4][2], unit = 255.0 * 255.0 * 2.0;
    baseline_errors(e[0], PLUMB_BASELINE_COPY, tuple[0][0], 4, 3, 2);
    CHECK_NEAR(e[0][0] * unit, 100.0, 1e-9);
    CHECK_NEAR(e[0][1] * unit, 125.0, 1e-9);
    CHECK_NEAR(e[1][1], 0.0, 0.0);
    baseline_errors(e[0], PLUMB_BASELINE_LINEAR, tuple[0][0], 4, 3, 2);
    CHECK_NEAR(e[0][1] * unit, 25.0, 1e-9); // 20 was expected, and 0 where 5 came
    CHECK_NEAR(e[1][1] * unit, 100.0, 1e-9);
    baseline_errors(e[0], PLUMB_BASELINE_ORACLE, tuple[0][0], 4, 3, 2);
    CHECK_NEAR(e[0][1] + e[1][1] + e[2][0], 0.0, 0.0);
    CHECK_NEAR(e[2][1] * unit, 125.0, 1e-9);
    CHECK_NEAR(e[3][1] * unit, 125.0, 1e-9);
}
