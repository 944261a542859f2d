// SPDX-License-Identifier: MIT
// Times are processor time, not wall-clock time, so that other work on the machine does not count.
#include "train/step_time.h"

#include <math.h>

#include "base/clock.h"
#include "train/trainer.h"

enum { TIMED_STEPS = 4 };

// The least time of a step, of all but the first.
typedef struct stopwatch {
    double last, least; // core seconds
    int steps;
} stopwatch;

// The callback of the trainer after each step.
static void record_step(void *context, const trainer_progress *report)
{
    (void)report;
    stopwatch *watch = context;
    const double now = clock_core_seconds();
    if (watch->steps++) watch->least = fmin(watch->least, now - watch->last);
    watch->last = now;
}

plumb_status step_time_measure(double *out, int64_t *latents, const run_config *config, arena *mem)
{
    video_set videos;
    trainable_model model;
    const training_settings *training = &config->training;
    stopwatch watch = {.least = INFINITY};
    const trainer_options options = {
        .adam = {training->beta1, training->beta2, training->epsilon},
        .schedule = {.rate = training->learning_rate, .steps = TIMED_STEPS},
        .clip_norm = training->clip_norm,
        .log_steps = training->log_steps,
        .threads = 1,
        .report = record_step,
        .context = &watch};
    trainer_result result;
    char chosen[600];
    plumb_status st = run_config_load_video(&videos, mem, config, NULL, 1);
    // Some models take settings from the videos.
    if (!st && config->model->choose)
        st =
            config->model->choose(chosen, sizeof chosen, config->model_settings, training, &videos);
    if (!st) st = config->model->create(&model, mem, config->model_settings, training, &videos);
    if (st) return st;
    st = trainer_run(&result, &model, NULL, &options);
    if (model.destroy) model.destroy(model.context);
    *out = watch.least;
    *latents = model.dynamics ? model.dynamics->latents : 0;
    return st;
}
