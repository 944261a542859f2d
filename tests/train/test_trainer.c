// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "train/trainer.h"

#include <stdlib.h>

#include "support/alloc_failure.h"
#include "train/toy_model.h"

// Behind the others: cmocka has a macro called fail.
#include "support/test.h"

static uint8_t frames[4 * 8 * 16];
static const video_set video = {
    .frames = frames, .count = 4, .steps = 8, .height = 4, .width = 4, .channels = 1};
static arena mem;
static trainable_model model;
static trainer_options opt;
static toy_settings own;
static training_settings training;

static void begin_model(int64_t replicas, int64_t steps)
{
    for (size_t i = 0; i < sizeof frames; i++) frames[i] = (uint8_t)(i * 37);
    arena_clear(&mem);
    own = (toy_settings){
        .noise = 0.2, .length = 3, .poison = -1, .wreck = -1, .refuse = -1, .feedback = true};
    training = (training_settings){.batch = 8, .replicas = replicas, .seed = 3};
    opt = (trainer_options){.adam = {0.9, 0.999, 1e-8},
                            .schedule = {.rate = 0.05,
                                         .steps = steps,
                                         .warmup = 5,
                                         .decay = ADAM_COSINE,
                                         .last = 0.001},
                            .clip_norm = 5.0,
                            .log_steps = 10,
                            .threads = 1};
    CHECK_OK(toy_create(&model, &mem, &own, &training, &video));
}

static double distance_to_optimum(void)
{
    double most = 0.0;
    for (int i = 0; i < TOY_SIZE; i++)
        most = fmax(most, fabs((double)model.parameters[i] - toy_aim(i)));
    return most;
}

TEST(it_finds_the_known_optimum)
{
    begin_model(2, 400);
    trainer_result r;
    CHECK(distance_to_optimum() > 1.0);
    CHECK_OK(trainer_run(&r, &model, NULL, &opt));
    CHECK_EQUAL(r.step, 400);
    CHECK(r.finished);
    CHECK(distance_to_optimum() < 0.03);
    // What is left is the variance of the noise, 0.2^2 / 12, halved.
    CHECK_NEAR(r.loss, 0.04 / 24.0, 1e-4);
    arena_clear(&mem);
}

TEST(threads_change_no_bit_and_replicas_may)
{
    static float first[TOY_SIZE];
    static const int64_t replicas[] = {1, 2, 3, 5, 8};
    double loss[5];
    for (int k = 0; k < 5; k++)
        for (int threads = 1; threads <= 4; threads++) {
            begin_model(replicas[k], 30);
            opt.threads = threads;
            trainer_result r;
            CHECK_OK(trainer_run(&r, &model, NULL, &opt));
            if (threads == 1) {
                memcpy(first, model.parameters, sizeof first);
                loss[k] = r.loss;
            }
            CHECK(!memcmp(first, model.parameters, sizeof first));
            CHECK(r.loss == loss[k]);
            CHECK_NEAR(r.loss, loss[0], 1e-5); // the same training, rounded elsewhere
        }
    arena_clear(&mem);
}

// The tree of three is (0 + 1) + 2, of five ((0 + 1) + (2 + 3)) + 4.
static plumb_status planted_gradient(void *self, int64_t replica, int64_t step, float *gradient,
                                     double *terms)
{
    static const float numbers[] = {1.0f, 0x1p-24f, 0x1p-24f, 0x1p-24f, -1.0f};
    (void)self, (void)step;
    gradient[0] = numbers[replica];
    terms[0] = 0.0;
    return PLUMB_OK;
}

TEST(gradients_are_summed_over_a_tree_of_replicas)
{
    static const model_tensor one = {"x", 1, {1}, 0};
    static const char *const term = "loss";
    const double want[] = {1.0, 1.0, 1.0, 1.0 + 0x1p-23, 0x1p-23};
    for (int64_t replicas = 1; replicas <= 5; replicas++) {
        float value = 0.0f;
        trainable_model t = {.name = "x",
                             .tensor_count = 1,
                             .tensors = &one,
                             .parameter_count = 1,
                             .parameters = &value,
                             .replicas = replicas,
                             .term_count = 1,
                             .term_names = &term,
                             .gradient = planted_gradient};
        // beta 0 and a great epsilon make the step rate * gradient / epsilon.
        const trainer_options plain = {
            .adam = {0.0, 0.0, 0x1p60}, .schedule = {.rate = 0x1p60, .steps = 1}, .threads = 2};
        trainer_result r;
        CHECK_OK(trainer_run(&r, &t, NULL, &plain));
        CHECK_NEAR((double)value, -want[replicas - 1], 1e-12);
    }
}

TEST(a_value_that_is_not_finite_stops_training_and_is_named)
{
    trainer_result r;
    static float before[TOY_SIZE];
    begin_model(3, 50);
    own.poison = 0;
    ((toy *)model.context)->s.poison = 0;
    memcpy(before, model.parameters, sizeof before);
    CHECK_FAILS(trainer_run(&r, &model, NULL, &opt), PLUMB_ENUMERIC,
                "step 0: the gradient of \"b\" is not finite");
    CHECK(!memcmp(before, model.parameters, sizeof before));
    begin_model(3, 50);
    ((toy *)model.context)->s.wreck = 20;
    CHECK_FAILS(trainer_run(&r, &model, NULL, &opt), PLUMB_ENUMERIC,
                "step 20: \"spread\" is infinite");
    begin_model(3, 50);
    opt.threads = 3;
    ((toy *)model.context)->s.poison = ((toy *)model.context)->s.wreck = 7;
    CHECK_FAILS(trainer_run(&r, &model, NULL, &opt), PLUMB_ENUMERIC,
                "step 7: \"spread\" is infinite, and the gradient of \"b\" is not finite");
    begin_model(1, 50);
    model.parameters[3] = INFINITY;
    CHECK_FAILS(trainer_run(&r, &model, NULL, &opt), PLUMB_ENUMERIC, "the parameter \"a\"");
    arena_clear(&mem);
}

TEST(a_failure_on_another_thread_keeps_its_words)
{
    trainer_result r;
    begin_model(4, 50);
    opt.threads = 4;
    ((toy *)model.context)->s.refuse = 9;
    CHECK_FAILS(trainer_run(&r, &model, NULL, &opt), PLUMB_EVALUE, "the toy refuses");
    arena_clear(&mem);
}

static int64_t seen;
static void stop_at_12(void *context, const trainer_progress *report)
{
    (void)context;
    seen = report->step;
    CHECK_EQUAL(report->steps, 50);
    if (report->step == 12) plumb_set_stop(true);
}

TEST(a_request_to_stop_is_met_after_the_step)
{
    trainer_result r;
    begin_model(2, 50);
    opt.report = stop_at_12;
    CHECK_FAILS(trainer_run(&r, &model, NULL, &opt), PLUMB_ESTOPPED, "stopped at step 12");
    plumb_set_stop(false);
    CHECK_EQUAL(seen, 12);
    arena_clear(&mem);
}

TEST(a_time_limit_ends_it_early_and_says_so)
{
    trainer_result r;
    begin_model(2, 1000000);
    opt.seconds = 0.05;
    CHECK_OK(trainer_run(&r, &model, NULL, &opt));
    CHECK(!r.finished && r.step < 1000000 && r.seconds_here >= 0.05);
    arena_clear(&mem);
}

#if STARVE
static void count_requests(void *context, const trainer_progress *report)
{
    (void)context;
    if (report->step == 5) {
        starve_until = 1000000;
        starve_counting = true;
    }
    if (report->step == 45) {
        starve_counting = false;
        CHECK_EQUAL(starve_until, 1000000);
        starve_until = -1;
        seen = 45;
    }
}

TEST(a_step_allocates_nothing)
{
    trainer_result r;
    begin_model(3, 50);
    opt.threads = 2;
    opt.log_steps = 5;
    opt.report = count_requests;
    seen = 0;
    CHECK_OK(trainer_run(&r, &model, NULL, &opt));
    CHECK_EQUAL(seen, 45);
    arena_clear(&mem);
}
#endif
