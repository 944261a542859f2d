// SPDX-License-Identifier: MIT
// A few clips are predicted at a time, so that memory does not bound their number.
#include "train/validation.h"

#include <math.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "dataset/video_load.h"

enum { CLIPS_AT_ONCE = 32 };

// Training has the items from 0 on, tests those from VIDEO_TEST_FIRST on.
static const int64_t validation_first = VIDEO_TEST_FIRST / 2;

plumb_status validation_load(video_set *out, arena *mem, const run_config *config, int threads)
{
    *out = (video_set){0};
    if (!config->training.validation_clips || !config->data.world[0]) return PLUMB_OK;
    video_request request = {.seed = (uint64_t)config->data.data_seed,
                             .first = validation_first,
                             .count = config->training.validation_clips,
                             .steps = run_config_clip_length(config),
                             .image = config->data.image,
                             .masks = config->model->needs_masks,
                             .threads = threads};
    const plumb_status st = plumb_world_find(&request.world, config->data.world);
    return st ? st : video_load_world(out, mem, &request);
}

// Frames of some clips, their first `steps`.
typedef struct validation_part {
    int64_t count, steps, first; // `first` is the first step that is predicted
    uint8_t *frames, *mask;
    float *prediction, *latent;
    double *error;
} validation_part;

static plumb_status allocate_part(validation_part *part, arena *mem, const trainable_model *model,
                                  const video_set *clips)
{
    const int64_t pixels = clips->height * clips->width, frame = pixels * clips->channels;
    const int64_t latents = model->dynamics ? model->dynamics->latents : 0;
    part->frames = ARENA_ALLOC(mem, uint8_t, CLIPS_AT_ONCE * part->steps * frame);
    part->mask = ARENA_ALLOC(mem, uint8_t, clips->mask ? CLIPS_AT_ONCE * part->steps * pixels : 0);
    part->prediction = ARENA_ALLOC(mem, float, CLIPS_AT_ONCE *(part->steps - part->first) * frame);
    part->latent = ARENA_ALLOC(mem, float, CLIPS_AT_ONCE *(part->steps - part->first) * latents);
    part->error = ARENA_ALLOC(mem, double, CLIPS_AT_ONCE * part->steps);
    return part->frames && part->mask && part->prediction && part->latent && part->error
               ? PLUMB_OK
               : PLUMB_EMEMORY;
}

static void copy_part(validation_part *part, const video_set *clips, int64_t from)
{
    const int64_t pixels = clips->height * clips->width, frame = pixels * clips->channels;
    for (int64_t i = 0; i < part->count; i++) {
        memcpy(part->frames + i * part->steps * frame,
               clips->frames + (from + i) * clips->steps * frame, (size_t)(part->steps * frame));
        if (clips->mask)
            memcpy(part->mask + i * part->steps * pixels,
                   clips->mask + (from + i) * clips->steps * pixels,
                   (size_t)(part->steps * pixels));
    }
}

static plumb_status predict_part(validation_part *part, const trainable_model *model,
                                 const video_set *clips, int threads)
{
    if (model->dynamics)
        return model->dynamics->rollout(model->context,
                                        &(model_rollout_job){.frames = part->frames,
                                                             .count = part->count,
                                                             .steps = part->steps,
                                                             .threads = threads,
                                                             .latent = part->latent,
                                                             .prediction = part->prediction});
    return model->video->predict(model->context,
                                 &(model_predict_job){.frames = part->frames,
                                                      .mask = clips->mask ? part->mask : NULL,
                                                      .count = part->count,
                                                      .steps = part->steps,
                                                      .threads = threads,
                                                      .error = part->error,
                                                      .prediction = part->prediction});
}

// Sum of squared errors of the predicted frames.
static double sum_errors(const validation_part *part, int64_t frame)
{
    const int64_t values = (part->steps - part->first) * frame;
    double sum = 0.0;
    for (int64_t i = 0; i < part->count; i++) {
        const uint8_t *truth = part->frames + (i * part->steps + part->first) * frame;
        const float *guess = part->prediction + i * values;
        for (int64_t k = 0; k < values; k++) {
            const double off = truth[k] / 255.0 - (double)guess[k];
            sum += off * off;
        }
    }
    return sum;
}

plumb_status validation_measure(double *loss, const trainable_model *model, const video_set *clips,
                                int64_t clip_length, int threads)
{
    *loss = (double)NAN;
    const int64_t frame = clips->height * clips->width * clips->channels;
    validation_part part = {.steps = clip_length < clips->steps ? clip_length : clips->steps,
                            .first = model->dynamics ? model->dynamics->first_step : 1};
    if (!clips->count || (!model->dynamics && !model->video) || part.steps <= part.first)
        return PLUMB_OK;
    if (threads < 1) threads = parallel_threads();
    arena mem = {0};
    plumb_status st = allocate_part(&part, &mem, model, clips);
    double sum = 0.0;
    for (int64_t from = 0; from < clips->count && !st; from += part.count) {
        const int64_t left = clips->count - from;
        part.count = left < CLIPS_AT_ONCE ? left : CLIPS_AT_ONCE;
        copy_part(&part, clips, from);
        st = predict_part(&part, model, clips, threads);
        if (!st) sum += sum_errors(&part, frame);
    }
    arena_clear(&mem);
    if (!st) *loss = sum / (double)(clips->count * (part.steps - part.first) * frame);
    return st;
}
