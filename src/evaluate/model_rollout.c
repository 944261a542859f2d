// SPDX-License-Identifier: MIT
// Rolls out a dynamics model on test videos. A model that needs some frames before it can predict
// starts at its first step; true states and frames before it are dropped.
#include "evaluate/model_rollout.h"

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
                                   .prediction = out->prediction};
    return model->dynamics->rollout(model->context, &job);
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
}

plumb_array model_rollout_frames(void *data, plumb_dtype dtype, const video_set *videos,
                                 int64_t steps)
{
    return plumb_array_view(
        data, dtype, 5,
        (int64_t[]){videos->count, steps, videos->height, videos->width, videos->channels});
}
