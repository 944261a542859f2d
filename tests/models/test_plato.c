// SPDX-License-Identifier: MIT
// What the golden files of PLATO do not cover: its input, equal predictions for clips with equal
// beginnings, and that both parts learn.
#include "models/plato/plato.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/adam.h"
#include "engine/gradient_sum.h"
#include "math/rng.h"
#include "models/registry.h"
#include "support/simulate.h"
#include "support/test.h"

enum { SIZE = 16, VIDEOS = 6, STEPS = 15, FRAME = SIZE * SIZE * 3, CLIP = STEPS * FRAME };

static void *alloc_zeros(int64_t bytes)
{
    void *p = calloc((size_t)bytes + 1, 1);
    CHECK(p != NULL);
    return p;
}

TEST(a_slot_is_shown_its_own_pixels)
{
    plato_config c = {.height = 16, .width = 16, .slots = 3};
    uint8_t frame[FRAME], mask[SIZE * SIZE];
    float *seen = alloc_zeros(3 * SIZE * SIZE * 4 * 4);
    for (int i = 0; i < SIZE * SIZE; i++) {
        mask[i] = (uint8_t)(i % 5); // 3 and 4 have no slot of their own
        for (int k = 0; k < 3; k++) frame[3 * i + k] = (uint8_t)(i % 200 + k);
    }
    plato_pack_input(seen, frame, mask, &c);
    for (int i = 0; i < SIZE * SIZE; i++)
        for (int s = 0; s < 3; s++) {
            const float *x = seen + (s * SIZE * SIZE + i) * 4;
            bool mine = s == (mask[i] < 2 ? mask[i] : 2);
            CHECK(x[3] == (mine ? 1.0f : 0.0f));
            CHECK(x[0] == (mine ? (float)frame[3 * i] / 255.0f : 0.0f));
        }
    free(seen);
}

TEST(any_height_and_width_of_two_or_more_are_taken)
{
    plato_config c = {.height = 25, .width = 14, .slots = 3, .clip_length = 5};
    CHECK_OK(plato_check(&c));
    c.width = 1;
    CHECK_FAILS(plato_check(&c), PLUMB_ESHAPE, "frames of 25 x 1; PLATO needs 2 x 2 or more");
}

typedef struct bench {
    arena mem;
    video_set video;
    uint8_t *frames, *mask;
    trainable_model t;
} bench;

static void begin_bench_with(bench *b, int64_t perception, const char *set)
{
    *b = (bench){.frames = alloc_zeros(4 * VIDEOS * CLIP),
                 .mask = alloc_zeros(4 * VIDEOS * CLIP / 3)};
    const plumb_world *solid;
    const registry_entry *row;
    CHECK_OK(plumb_world_find(&solid, "rooms/solidity"));
    for (int64_t i = 0; i < VIDEOS; i++) {
        const plumb_world_item item = {.frames = b->frames + 4 * i * CLIP,
                                       .mask = b->mask + 4 * i * CLIP / 3};
        CHECK_OK(simulate_room(&item, solid, 2, i, SIZE));
    }
    b->video = (video_set){.frames = b->frames,
                           .mask = b->mask,
                           .count = 4 * VIDEOS,
                           .steps = STEPS,
                           .height = SIZE,
                           .width = SIZE,
                           .channels = 3};
    CHECK_OK(registry_find(&row, "plato"));
    CHECK(row->needs_masks);
    void *own = arena_alloc(&b->mem, 1, row->settings_size);
    settings all = {.mem = &b->mem, .count = 1, .part = {{"settings", row->setting_specs, own}}};
    char text[64];
    snprintf(text, sizeof text, "perception_steps=%d", (int)perception);
    CHECK_OK(settings_apply_preset(&all, SETTINGS_TINY));
    CHECK_OK(settings_set(&all, text));
    CHECK_OK(settings_set(&all, set));
    training_settings training = {.steps = 100, .batch = 4, .replicas = 2, .seed = 1};
    CHECK_OK(row->create(&b->t, &b->mem, own, &training, &b->video));
    for (int r = 0; r < 2; r++) CHECK_OK(b->t.init_replica(b->t.context, r));
}

static void begin_bench(bench *b, int64_t perception)
{
    begin_bench_with(b, perception, "residual=on");
}

static void end_bench(bench *b)
{
    b->t.destroy(b->t.context);
    free(b->frames), free(b->mask);
    arena_clear(&b->mem);
}

// Mean of the loss over the first and the last ten of `rounds` steps from `from` on.
static void train_steps(bench *b, int64_t from, int64_t rounds, double *first, double *last)
{
    int64_t n = b->t.parameter_count;
    float *d = alloc_zeros(2 * n * 4), *m = alloc_zeros(n * 4), *v = alloc_zeros(n * 4);
    adam_options a = {0.9, 0.999, 1e-8};
    double terms[2][8];
    *first = *last = 0.0;
    for (int64_t i = 0; i < rounds; i++) {
        for (int r = 0; r < 2; r++)
            CHECK_OK(b->t.gradient(b->t.context, r, from + i, d + r * n, terms[r]));
        gradient_add(d, d + n, n);
        adam_step(b->t.parameters, m, v, d, n, &(adam_update){&a, 3e-3, 1.0, i + 1});
        double loss = terms[0][0] + terms[1][0];
        if (i < 10) *first += loss / 10;
        if (i >= rounds - 10) *last += loss / 10;
    }
    free(d), free(m), free(v);
}

TEST(perception_learns_and_then_the_dynamics)
{
    bench b;
    double first, last;
    begin_bench(&b, 100);
    train_steps(&b, 0, 100, &first, &last);
    CHECK(last < 0.5 * first);
    train_steps(&b, 100, 100, &first, &last);
    CHECK(last < 0.7 * first);
    end_bench(&b);
}

TEST(equal_beginnings_have_bit_identical_errors)
{
    bench b;
    begin_bench(&b, 10);
    enum { ALL = 4 * VIDEOS * (STEPS - 1), CUT = 9 };
    double *one = alloc_zeros(ALL * 8), *two = alloc_zeros(ALL * 8);
    model_predict_job job = {.frames = b.frames,
                             .mask = b.mask,
                             .count = 4 * VIDEOS,
                             .steps = STEPS,
                             .threads = 1,
                             .error = one};
    CHECK_OK(b.t.video->predict(b.t.context, &job));
    job.threads = 3;
    job.error = two;
    CHECK_OK(b.t.video->predict(b.t.context, &job));
    CHECK(!memcmp(one, two, ALL * sizeof *one));
    // Clip 2 of a tuple is clip 0 up to the cut, and another from there on.
    for (int64_t i = 0; i < VIDEOS; i++) {
        const double *a = one + 4 * i * (STEPS - 1), *c = a + 2 * (STEPS - 1);
        CHECK(!memcmp(a, c, CUT * sizeof *a));
        CHECK(memcmp(a + CUT, c + CUT, (STEPS - 1 - CUT) * sizeof *a));
    }
    free(one), free(two);
    end_bench(&b);
}

// How much a clip in which nothing moves surprises a model whose head says nothing.
static double surprise_of_a_still(const char *set)
{
    bench b;
    begin_bench_with(&b, 10, set);
    for (int64_t i = 0; i < b.t.tensor_count; i++) {
        const model_tensor *t = &b.t.tensors[i];
        const int64_t last =
            i + 1 < b.t.tensor_count ? b.t.tensors[i + 1].offset : b.t.parameter_count;
        if (strstr(t->name, "head"))
            memset(b.t.parameters + t->offset, 0,
                   (size_t)(last - t->offset) * sizeof *b.t.parameters);
    }
    for (int64_t t = 1; t < STEPS; t++) {
        memcpy(b.frames + t * CLIP / STEPS, b.frames, CLIP / STEPS);
        memcpy(b.mask + t * CLIP / STEPS / 3, b.mask, CLIP / STEPS / 3);
    }
    double error[STEPS - 1], sum = 0.0;
    model_predict_job job = {.frames = b.frames,
                             .mask = b.mask,
                             .count = 1,
                             .steps = STEPS,
                             .threads = 1,
                             .error = error};
    CHECK_OK(b.t.video->predict(b.t.context, &job));
    for (int t = 0; t < STEPS - 1; t++) sum += error[t];
    end_bench(&b);
    return sum;
}

TEST(a_residual_mind_begins_with_what_it_saw_last)
{
    CHECK(surprise_of_a_still("residual=on") == 0.0);
    CHECK(surprise_of_a_still("residual=off") > 0.0);
}
