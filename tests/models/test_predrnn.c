// SPDX-License-Identifier: MIT
// What the golden files of PredRNN do not cover: prediction has the errors of training, equal
// beginnings have bit-identical errors, clips may be longer, gates are fused, and it learns.
#include "models/predrnn/predrnn.h"

#include <stdlib.h>
#include <string.h>

#include "engine/adam.h"
#include "engine/gradient_sum.h"
#include "math/rng.h"
#include "models/model_build.h"
#include "models/predrnn/predict.h"
#include "models/registry.h"
#include "support/test.h"

enum { CLIPS = 20, STEPS = 9 };

static const predrnn_config small = {.height = 16,
                                     .width = 24,
                                     .channels = 3,
                                     .patch = 4,
                                     .layers = 2,
                                     .hidden = 6,
                                     .kernel = 3,
                                     .clip_length = STEPS};

static int64_t frame_of(const predrnn_config *c)
{
    return c->height * c->width * c->channels;
}

static void *alloc_zeros(int64_t bytes)
{
    void *p = calloc((size_t)bytes + 1, 1);
    CHECK(p != NULL);
    return p;
}

// Noise; clip k begins as clip k % 2 does, for k frames.
static uint8_t *make_video(const predrnn_config *c, int64_t steps)
{
    int64_t frame = frame_of(c), clip = steps * frame;
    uint8_t *video = alloc_zeros(CLIPS * clip);
    rng r = rng_at(3, 1);
    for (int64_t i = 0; i < CLIPS * clip; i++) video[i] = (uint8_t)rng_below(&r, 256);
    for (int64_t k = 2; k < CLIPS; k++)
        memcpy(video + k * clip, video + k % 2 * clip, (size_t)((k < steps ? k : steps) * frame));
    return video;
}

typedef struct predictions {
    double *error;
    float *feature;
} predictions;

static predictions predict_clips(const predrnn_config *c, params *p, const float *value,
                                 const uint8_t *video, int64_t clips, int64_t steps, int threads)
{
    predictions s = {alloc_zeros(clips * (steps - 1) * 8), alloc_zeros(clips * c->hidden * 4)};
    const model_predict_job job = {.frames = video,
                                   .count = clips,
                                   .steps = steps,
                                   .threads = threads,
                                   .error = s.error,
                                   .feature = s.feature};
    CHECK_OK(predrnn_predict_clips(c, p, value, &job));
    return s;
}

static void free_predictions(predictions s)
{
    free(s.error);
    free(s.feature);
}

// Parameters of a model, drawn.
static float *draw_params(params *p, const predrnn_config *c)
{
    predrnn_step s;
    CHECK_OK(predrnn_step_build(&s, p, c, 1, true));
    graph_free(s.net.g);
    float *value = alloc_zeros(p->size * 4);
    params_init_values(p, value, 5);
    return value;
}

TEST(prediction_has_the_errors_of_training)
{
    const predrnn_config *c = &small;
    params p = {0};
    float *value = draw_params(&p, c);
    uint8_t *video = make_video(c, STEPS);
    predictions s = predict_clips(c, &p, value, video, 3, STEPS, 1);
    predrnn_clip k;
    graph_program *ready;
    program_instance *i;
    CHECK_OK(predrnn_clip_build(&k, &p, c, 3, 0));
    CHECK_OK(program_build(&ready, k.net.g, &k.error, 1, PROGRAM_FAST));
    CHECK_OK(model_build_instance(&i, ready, &k.net, value));
    int64_t frame = frame_of(c);
    for (int64_t t = 0; t < STEPS; t++)
        for (int64_t b = 0; b < 3; b++)
            predrnn_patch(instance_input(i, k.frame[t]) + b * frame,
                          video + (b * STEPS + t) * frame, c);
    instance_run(i, 0);
    const float *error = instance_output(i, 0);
    for (int64_t t = 0; t < STEPS - 1; t++)
        for (int64_t b = 0; b < 3; b++)
            CHECK_NEAR(s.error[b * (STEPS - 1) + t], (double)error[t * 3 + b] / (double)frame,
                       1e-6);
    instance_free(i), program_free(ready), graph_free(k.net.g);
    free_predictions(s), free(video), free(value), params_clear(&p);
}

TEST(equal_beginnings_have_bit_identical_errors)
{
    const predrnn_config *c = &small;
    params p = {0};
    float *value = draw_params(&p, c);
    uint8_t *video = make_video(c, STEPS);
    predictions one = predict_clips(c, &p, value, video, CLIPS, STEPS, 1);
    predictions two = predict_clips(c, &p, value, video, CLIPS, STEPS, 3);
    CHECK(!memcmp(one.error, two.error, (size_t)(CLIPS * (STEPS - 1)) * sizeof *one.error));
    CHECK(!memcmp(one.feature, two.feature, (size_t)(CLIPS * c->hidden) * sizeof *one.feature));
    for (int64_t k = 2; k < 16; k++) { // of one group
        const double *mine = one.error + k * (STEPS - 1), *theirs = one.error + k % 2 * (STEPS - 1);
        int64_t same = k < STEPS ? k - 1 : STEPS - 1; // predictions of frames that are the same
        CHECK(!memcmp(mine, theirs, (size_t)same * sizeof *mine));
        if (same < STEPS - 1) CHECK(fabs(mine[same] - theirs[same]) > 1e-6);
    }
    free_predictions(one), free_predictions(two), free(video), free(value), params_clear(&p);
}

TEST(a_clip_alone_has_the_bits_of_a_clip_among_others)
{
    const predrnn_config *c = &small;
    params p = {0};
    float *value = draw_params(&p, c);
    uint8_t *video = make_video(c, STEPS);
    predictions all = predict_clips(c, &p, value, video, CLIPS, STEPS, 2);
    for (int64_t k = 0; k < CLIPS; k += 3) {
        predictions one = predict_clips(c, &p, value, video + k * STEPS * frame_of(c), 1, STEPS, 1);
        CHECK(!memcmp(one.error, all.error + k * (STEPS - 1), (STEPS - 1) * sizeof *one.error));
        CHECK(!memcmp(one.feature, all.feature + k * c->hidden,
                      (size_t)c->hidden * sizeof *one.feature));
        free_predictions(one);
    }
    free_predictions(all), free(video), free(value), params_clear(&p);
}

TEST(clips_may_be_longer_than_in_training)
{
    predrnn_config c = small;
    params p = {0};
    float *value = draw_params(&p, &c);
    uint8_t *video = make_video(&c, 2 * STEPS);
    predictions s = predict_clips(&c, &p, value, video, 2, 2 * STEPS, 1);
    for (int64_t i = 0; i < 2 * (2 * STEPS - 1); i++) CHECK(s.error[i] > 0.0 && s.error[i] < 10.0);
    free_predictions(s), free(video), free(value), params_clear(&p);
}

TEST(sizes_that_do_not_fit_are_refused)
{
    predrnn_config c = small;
    c.width = 22;
    CHECK_FAILS(predrnn_check(&c), PLUMB_ESHAPE, "patches of 4");
    c = small, c.kernel = 4;
    CHECK_FAILS(predrnn_check(&c), PLUMB_EVALUE, "kernel=4");
    c = small, c.sampling = PREDRNN_SCHEDULED, c.input_frames = STEPS;
    CHECK_FAILS(predrnn_check(&c), PLUMB_EVALUE, "input_frames=9");
}

// A layer has two convolutions of gates, one loop for both memories, a concatenation, two more
// convolutions and one loop for h. Every operation that is not fused is one step more.
TEST(gates_of_a_layer_are_few_loops)
{
    predrnn_config c = small;
    c.layers = 1;
    params p = {0};
    predrnn_step s;
    graph_program *ready;
    CHECK_OK(predrnn_step_build(&s, &p, &c, 2, false));
    graph_node *out[] = {s.prediction, s.after[0].h, s.after[0].c, s.after[0].m};
    CHECK_OK(program_build(&ready, s.net.g, out, 4, PROGRAM_FAST));
    program_statistics r = program_stats(ready);
    CHECK(r.fused_loops <= 3);
    CHECK(r.steps <= 11);
    CHECK(r.fused_ops >= 17);
    program_free(ready), graph_free(s.net.g), params_clear(&p);
}

// A bright bar that moves and turns at the edges: copying the last frame is wrong, and the motion
// can be learnt.
static void make_walk(uint8_t *video, int64_t clips, int64_t steps, int64_t size)
{
    for (int64_t k = 0; k < clips; k++)
        for (int64_t t = 0; t < steps; t++)
            for (int64_t y = 0; y < size; y++)
                for (int64_t x = 0; x < size; x++) {
                    int64_t at = (2 * t + 3 * k) % (2 * size),
                            edge = at < size ? at : 2 * size - 1 - at;
                    *video++ = x / 2 == edge / 2 ? 230 : 20;
                }
}

TEST(it_learns_to_beat_the_last_frame)
{
    enum { SIZE = 16, VIDEOS = 8, LONG = 15, ROUNDS = 150 };
    const registry_entry *row;
    arena mem = {0};
    CHECK_OK(registry_find(&row, "predrnn"));
    void *own = arena_alloc(&mem, 1, row->settings_size);
    settings all = {.mem = &mem, .count = 1, .part = {{"settings", row->setting_specs, own}}};
    CHECK_OK(settings_apply_preset(&all, SETTINGS_TINY));
    CHECK_OK(settings_set(&all, "hidden=8"));
    CHECK_OK(settings_set(&all, "clip_length=8"));
    uint8_t *frames = alloc_zeros(VIDEOS * LONG * SIZE * SIZE);
    make_walk(frames, VIDEOS, LONG, SIZE);
    video_set video = {.frames = frames,
                       .count = VIDEOS,
                       .steps = LONG,
                       .height = SIZE,
                       .width = SIZE,
                       .channels = 1};
    training_settings training = {.steps = ROUNDS, .batch = 4, .replicas = 2, .seed = 1};
    trainable_model t;
    CHECK_OK(row->create(&t, &mem, own, &training, &video));
    CHECK(t.video && !t.dynamics && t.video->features == 8);
    float *d = alloc_zeros(2 * t.parameter_count * 4), *m = alloc_zeros(t.parameter_count * 4),
          *v = alloc_zeros(t.parameter_count * 4);
    for (int r = 0; r < 2; r++) CHECK_OK(t.init_replica(t.context, r));
    adam_options a = {0.9, 0.95, 1e-8};
    double first = 0.0, last = 0.0, terms[2][3];
    for (int64_t step = 0; step < ROUNDS; step++) {
        for (int r = 0; r < 2; r++)
            CHECK_OK(t.gradient(t.context, r, step, d + r * t.parameter_count, terms[r]));
        gradient_add(d, d + t.parameter_count, t.parameter_count);
        adam_step(t.parameters, m, v, d, t.parameter_count,
                  &(adam_update){&a, 1e-2, 1.0, step + 1});
        last = terms[0][0] + terms[1][0];
        if (!step) first = last;
    }
    double copy = 0.0, model = 0.0;
    double *error = alloc_zeros(VIDEOS * (LONG - 1) * 8);
    const model_predict_job job = {
        .frames = frames, .count = VIDEOS, .steps = LONG, .threads = 1, .error = error};
    CHECK_OK(t.video->predict(t.context, &job));
    for (int64_t i = 0; i < VIDEOS * (LONG - 1); i++) model += error[i];
    for (int64_t k = 0; k < VIDEOS; k++)
        for (int64_t i = SIZE * SIZE; i < LONG * SIZE * SIZE; i++) {
            double x = frames[k * LONG * SIZE * SIZE + i],
                   y = frames[k * LONG * SIZE * SIZE + i - SIZE * SIZE];
            copy += (x - y) * (x - y) / (255.0 * 255.0 * SIZE * SIZE);
        }
    CHECK(last < 0.2 * first);
    CHECK(model < 0.5 * copy);
    t.destroy(t.context);
    free(frames), free(d), free(m), free(v), free(error);
    arena_clear(&mem);
}
