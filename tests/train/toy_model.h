// SPDX-License-Identifier: MIT
// A model for tests: each parameter is fitted to a known target from noisy samples, so the optimum
// is known. It has what real models have: several tensors, replicas, terms, a state that feeds
// back, and settings. Faults can be requested by settings.
#ifndef TESTS_TRAIN_TOY_MODEL_H
#define TESTS_TRAIN_TOY_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "math/rng.h"
#include "models/registry.h"

typedef struct toy_settings {
    double noise;
    int64_t length;
    int64_t poison; // the step whose gradient has a NaN; -1 none
    int64_t wreck;  // the step whose loss is infinite
    int64_t refuse; // the step at which it fails
    int64_t pause;  // microseconds a gradient
    int flavour;
    bool feedback;
    const char *remark;
} toy_settings;

static const char *const toy_flavours[] = {"plain", "bitter", "sweet", NULL};

// clang-format off
#define AT(member) offsetof(toy_settings, member)
static const setting_spec toy_specs[] = {
    {{"noise", OPTION_DOUBLE, AT(noise), NULL, 0, 10, "of the samples", NULL}, {"0.1", "0.1", "0.5"}, SETTING_FIXED},
    {{"length", OPTION_INT64, AT(length), NULL, 1, 1000, "frames of a clip", NULL}, {"5", "5", "3"}, SETTING_FIXED},
    {{"poison", OPTION_INT64, AT(poison), NULL, -1, 1e9, "step of a NaN", NULL}, {"-1"}, SETTING_MAY_CHANGE},
    {{"wreck", OPTION_INT64, AT(wreck), NULL, -1, 1e9, "step of an infinite loss", NULL}, {"-1"}, SETTING_MAY_CHANGE},
    {{"refuse", OPTION_INT64, AT(refuse), NULL, -1, 1e9, "step of a failure", NULL}, {"-1"}, SETTING_MAY_CHANGE},
    {{"pause", OPTION_INT64, AT(pause), NULL, 0, 1e6, "microseconds a gradient", NULL}, {"0"}, SETTING_MAY_CHANGE},
    {{"flavour", OPTION_ENUM, AT(flavour), toy_flavours, 0, 0, "of no use", NULL}, {"plain", "sweet"}, SETTING_FIXED},
    {{"feedback", OPTION_BOOL, AT(feedback), NULL, 0, 0, "the state scales the gradient", NULL}, {"on"}, SETTING_FIXED},
    {{"remark", OPTION_STRING, AT(remark), NULL, 0, 0, "any text", NULL}, {""}, SETTING_FIXED},
    {.option = {0}},
};
#undef AT
// clang-format on

enum { TOY_A = 70, TOY_B = 123, TOY_SIZE = TOY_A * TOY_A + TOY_B };

static const model_tensor toy_tensors[] = {
    {"a", 2, {TOY_A, TOY_A}, 0},
    {"b", 1, {TOY_B}, TOY_A *TOY_A},
};
static const char *const toy_terms[] = {"loss", "spread"};
static const char *const toy_states[] = {"average"};

typedef struct toy {
    toy_settings s;
    training_settings training;
    const video_set *videos;
    float value[TOY_SIZE];
    double state[1];
    bool initialised[256];
    trainable_model *model;
} toy;

static double toy_aim(int64_t i)
{
    return sin((double)i);
}

static plumb_status toy_refuse(const char *why);

static plumb_status toy_init_replica(void *context, int64_t replica)
{
    ((toy *)context)->initialised[replica] = true;
    return PLUMB_OK;
}

// Mean over the batch of |value - aim - noise|^2 / 2, this replica's samples of it.
static plumb_status toy_gradient(void *context, int64_t replica, int64_t step, float *gradient,
                                 double *terms)
{
    toy *y = context;
    const int64_t batch = y->training.batch, replicas = y->training.replicas;
    const int64_t first = batch * replica / replicas, end = batch * (replica + 1) / replicas;
    const double scale = y->s.feedback ? 1.0 + 0.1 * fmin(y->state[0], 1.0) : 1.0;
    if (!y->initialised[replica]) return toy_refuse("a replica was not initialised");
    if (step == y->s.refuse) return toy_refuse("the toy refuses");
    memset(gradient, 0, TOY_SIZE * sizeof *gradient);
    terms[0] = terms[1] = 0.0;
    for (int64_t k = first; k < end; k++) {
        const uint8_t *frame = video_window_frames(
            y->videos,
            video_sample_window(y->videos, (uint64_t)y->training.seed, step, k, y->s.length));
        rng r = rng_at((uint64_t)y->training.seed, (uint64_t)(step * batch + k) << 8);
        double square = 0.0;
        for (int i = 0; i < TOY_SIZE; i++) {
            const double noise =
                y->s.noise * (rng_uniform(&r) - 0.5) + 1e-6 * (frame[i % 16] - 128.0);
            const double off = (double)y->value[i] - toy_aim(i) - noise;
            gradient[i] += (float)(scale * off / (double)batch);
            square += off * off;
        }
        terms[0] += square / (2.0 * TOY_SIZE * (double)batch);
        terms[1] += fabs(square) / (double)batch;
    }
    if (step == y->s.poison && replica == replicas - 1) gradient[TOY_A * TOY_A + 7] = NAN;
    if (step == y->s.wreck) terms[1] = INFINITY;
    if (y->s.pause) nanosleep(&(struct timespec){0, y->s.pause * 1000}, NULL);
    return PLUMB_OK;
}

static plumb_status toy_after_step(void *context, int64_t step, const double *terms)
{
    (void)step;
    toy *y = context;
    y->state[0] = 0.9 * y->state[0] + 0.1 * terms[0];
    return PLUMB_OK;
}

static int64_t toy_clip_length(const void *options)
{
    return ((const toy_settings *)options)->length;
}

static plumb_status toy_create(trainable_model *out, arena *mem, const void *options,
                               const training_settings *training, const video_set *videos)
{
    toy *y = ARENA_ALLOC(mem, toy, 1);
    if (!y) return PLUMB_EMEMORY;
    y->s = *(const toy_settings *)options;
    y->training = *training;
    y->videos = videos;
    rng r = rng_at((uint64_t)training->seed, 99);
    for (int i = 0; i < TOY_SIZE; i++) y->value[i] = (float)rng_normal(&r);
    *out = (trainable_model){.name = "toy",
                             .tensor_count = 2,
                             .tensors = toy_tensors,
                             .parameter_count = TOY_SIZE,
                             .parameters = y->value,
                             .replicas = training->replicas,
                             .term_count = 2,
                             .term_names = toy_terms,
                             .state_count = 1,
                             .state_names = toy_states,
                             .state = y->state,
                             .context = y,
                             .init_replica = toy_init_replica,
                             .gradient = toy_gradient,
                             .after_step = toy_after_step};
    return PLUMB_OK;
}

static const char *const toy_cpu[] = {"learning_rate=0.02", "trajectories=4", "frames=8", "image=8",
                                      NULL};

static const registry_entry toy_entry = {
    .name = "toy",
    .summary = "for tests",
    .setting_specs = toy_specs,
    .settings_size = sizeof(toy_settings),
    .preset_changes = {toy_cpu, toy_cpu, toy_cpu},
    .clip_length = toy_clip_length,
    .create = toy_create,
};

__attribute__((constructor)) static void toy_register(void)
{
    registry_add(&toy_entry);
}

#include "base/status.h"
static plumb_status toy_refuse(const char *why)
{
    return fail(PLUMB_EVALUE, "%s", why);
}

#endif
