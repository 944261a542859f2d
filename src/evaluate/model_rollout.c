// SPDX-License-Identifier: MIT
// Rolls out a dynamics model on test videos. A model that needs some frames before it can predict
// starts at its first step; true states and frames before it are dropped.
#include "evaluate/model_rollout.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

plumb_status model_rollout_run(rollout_arrays *out, trained_model *trained, const video_set *videos,
                               const rollout_request *request)
{
    const trainable_model *model = &trained->model;
    const int64_t frame = videos->height * videos->width * videos->channels;
    const int64_t steps = request->steps - model->dynamics->first_step,
                  latents = model->dynamics->latents;
    const int64_t rows = videos->count * steps;
    if (request->backward && model->dynamics->forward_only)
        return fail(PLUMB_EVALUE, "%s cannot be run backward in time", model->name);
    if (steps < 1)
        return fail(PLUMB_ESHAPE, "videos of %lld frames; %s predicts from frame %lld on",
                    (long long)request->steps, model->name, (long long)model->dynamics->first_step);
    // All arrays are allocated in the arena of the run.
    *out = (rollout_arrays){.steps = steps};
    arena *mem = &trained->mem;
    out->latent = ARENA_ALLOC(mem, float, (rows * latents));
    out->variance = ARENA_ALLOC(mem, float, (videos->count * latents));
    if (request->decode_frames) out->prediction = ARENA_ALLOC(mem, float, (rows * frame));
    if (model->dynamics->has_momenta)
        out->momenta = ARENA_ALLOC(mem, float, (rows * (latents / 2)));
    const int64_t objects = request->decode_frames ? model->dynamics->objects : 0;
    if (objects) out->tracks = ARENA_ALLOC(mem, float, rows *objects * 2);
    if (objects && !out->tracks) return PLUMB_EMEMORY;
    if (!out->latent || !out->variance || (request->decode_frames && !out->prediction) ||
        (model->dynamics->has_momenta && !out->momenta))
        return PLUMB_EMEMORY;
    const model_rollout_job job = {.frames = videos->frames,
                                   .count = videos->count,
                                   .steps = request->steps,
                                   .input_steps = videos->steps,
                                   .backward = request->backward,
                                   .threads = request->threads,
                                   .latent = out->latent,
                                   .variance = out->variance,
                                   .momenta = out->momenta,
                                   .prediction = out->prediction,
                                   .tracks = out->tracks};
    return model->dynamics->rollout(model->context, &job);
}

// Copies the windows of input frames of one video side by side: (places, window, frame).
static void copy_windows(uint8_t *out, const uint8_t *video, int64_t places, size_t window_size,
                         size_t frame)
{
    for (int64_t k = 0; k < places; k++)
        memcpy(out + (size_t)k * window_size, video + (size_t)k * frame, window_size);
}

plumb_status model_rollout_encode(float **out, trained_model *trained, const video_set *videos,
                                  int64_t steps, int threads)
{
    const trainable_model *model = &trained->model;
    const model_dynamics *dynamics = model->dynamics;
    const int64_t window = dynamics->window, first = dynamics->first_step, n = dynamics->latents;
    const int64_t inferred = dynamics->inferred_step, places = videos->steps - window + 1;
    // Enough steps to reach the state that is inferred, and one to predict.
    const int64_t least = first + inferred + 1, job_steps = window < least ? least : window + 1;
    const int64_t rolled = job_steps - first;
    const size_t frame = (size_t)(videos->height * videos->width * videos->channels);
    const size_t window_size = (size_t)window * frame;
    *out = NULL;
    if (places < 1)
        return fail(PLUMB_ESHAPE, "videos of %lld frames; %s infers a state from %lld",
                    (long long)videos->steps, model->name, (long long)window);
    float *encoded = ARENA_ALLOC(&trained->mem, float, (videos->count * steps * n));
    uint8_t *windows = ARENA_ALLOC(&trained->mem, uint8_t, (places * (int64_t)window_size));
    float *latent = ARENA_ALLOC(&trained->mem, float, (places * rolled * n));
    if (!encoded || !windows || !latent) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < videos->count * steps * n; i++) encoded[i] = NAN;
    // The rollout of each window is thrown away but for the state that was inferred.
    const model_rollout_job job = {.frames = windows,
                                   .count = places,
                                   .steps = job_steps,
                                   .input_steps = window,
                                   .threads = threads,
                                   .latent = latent};
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; !st && i < videos->count; i++) {
        copy_windows(windows, videos->frames + (size_t)(i * videos->steps) * frame, places,
                     window_size, frame);
        st = model->dynamics->rollout(model->context, &job);
        for (int64_t k = 0; !st && k < places && k + inferred < steps; k++)
            memcpy(encoded + (i * steps + k + inferred) * n, latent + (k * rolled + inferred) * n,
                   (size_t)n * sizeof *encoded);
    }
    if (!st) *out = encoded;
    return st;
}

// Moves the rows of every item forward, so that the first `first` steps are dropped.
void model_rollout_drop_first(void *data, int64_t count, int64_t steps, size_t row_size,
                              int64_t first)
{
    char *bytes = data;
    const size_t from = (size_t)steps * row_size, to = (size_t)(steps - first) * row_size;
    for (int64_t i = 0; bytes && first && i < count; i++)
        memmove(bytes + (size_t)i * to, bytes + (size_t)i * from + (from - to), to);
}

// Drops the states before the first step that the model predicts.
void model_rollout_drop_states(test_videos *test, const trained_model *trained, int64_t steps)
{
    const int64_t count = test->videos.count, first = trained->model.dynamics->first_step;
    model_rollout_drop_first(test->state, count, steps, (size_t)test->state_dims * sizeof(double),
                             first);
    model_rollout_drop_first(test->canonical, count, steps,
                             (size_t)test->canonical_dims * sizeof(double), first);
    model_rollout_drop_first(test->energy, count, steps, sizeof(double), first);
    model_rollout_drop_first(test->action, count, steps, (size_t)test->action_dims * sizeof(double),
                             first);
}

plumb_array model_rollout_frames(void *data, plumb_dtype dtype, const video_set *videos,
                                 int64_t steps)
{
    return plumb_array_view(
        data, dtype, 5,
        (int64_t[]){videos->count, steps, videos->height, videos->width, videos->channels});
}
