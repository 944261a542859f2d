// SPDX-License-Identifier: MIT
// Rollouts of AR, one video per task: encode a frame, advance the cores, decode the next frame.
#include "models/latent_dynamics/autoregressive_rollout.h"

#include <string.h>

#include "base/parallel_for.h"
#include "models/latent_dynamics/autoregressive.h"
#include "models/latent_dynamics/decoder.h"
#include "models/latent_dynamics/encoder.h"
#include "models/model_workers.h"

// Programs of a worker, in the order in which they are added.
enum { PROGRAM_STEP, PROGRAM_DECODE };

typedef struct rollout_task {
    const hgn_config *config;
    const model_rollout_job *job;
    autoregressive_step step;
    hgn_decoder_graph decoder;
    model_workers workers;
} rollout_task;

// Programs of one step and of one decoded frame, one instance of each per worker.
static plumb_status create_workers(rollout_task *task, params *layout)
{
    plumb_status st = autoregressive_step_build(&task->step, layout, task->config);
    if (!st) st = model_workers_add(&task->workers, &task->step.net, task->step.outputs, 2, false);
    if (!st) st = hgn_decoder_build(&task->decoder, layout, task->config, 1, false);
    if (!st)
        st = model_workers_add(&task->workers, &task->decoder.net, task->decoder.outputs, 1, false);
    return st;
}

// The frame (height, width, channels) of one state. Valid until the next call of this worker.
static const float *decode_frame(const rollout_task *task, int worker, const float *latent)
{
    program_instance *decode = model_workers_instance(&task->workers, worker, PROGRAM_DECODE);
    memcpy(instance_input(decode, task->decoder.q), latent,
           (size_t)task->config->latent * sizeof *latent);
    instance_run(decode, 0);
    return instance_output(decode, HGN_FRAMES);
}

// Latents are given: decodes them.
static void decode_latents(const rollout_task *task, int worker, const float *latent, float *frames,
                           int64_t steps)
{
    const hgn_config *config = task->config;
    int64_t frame = hgn_frame_size(config);
    for (int64_t t = 0; t < steps; t++)
        memcpy(frames + t * frame, decode_frame(task, worker, latent + t * config->latent),
               (size_t)frame * sizeof *frames);
}

// One video. The prediction of frame t + 1 is at index t: the first frame has none.
static plumb_status roll_out_video(void *context, int64_t item, int worker)
{
    const rollout_task *task = context;
    const model_rollout_job *job = task->job;
    const hgn_config *config = task->config;
    int64_t frame = hgn_frame_size(config), L = config->latent;
    int64_t steps = job->steps - (job->frames ? 1 : 0);
    // Outputs of this video: (steps, latent) and (steps, height, width, channels).
    float *latent = job->latent + item * steps * L;
    float *frames = job->prediction ? job->prediction + item * steps * frame : NULL;
    if (!job->frames) {
        decode_latents(task, worker, latent, frames, steps);
        return PLUMB_OK;
    }
    program_instance *step = model_workers_instance(&task->workers, worker, PROGRAM_STEP);
    const uint8_t *video =
        job->frames + item * (job->input_steps ? job->input_steps : job->steps) * frame;
    float *state = instance_input(step, task->step.state),
          *input = instance_input(step, task->step.frame);
    size_t state_bytes = (size_t)task->step.state_size * sizeof *state;
    const float *predicted = NULL;
    // The state is zero before the first frame.
    memset(state, 0, state_bytes);
    for (int64_t t = 0; t < steps && !status_stopped(); t++) {
        // True frames within the window, then the last prediction.
        if (t < config->window) hgn_pack_window(input, video + t * frame, config, 1);
        else memcpy(input, predicted, (size_t)frame * sizeof *input);
        // Encode, advance the cores, keep latents and state.
        instance_run(step, 0);
        memcpy(latent + t * L, instance_output(step, 0), (size_t)L * sizeof *latent);
        memcpy(state, instance_output(step, 1), state_bytes);
        // Within the window a prediction is needed only if it was asked for.
        if (t + 1 < config->window && !frames) continue;
        predicted = decode_frame(task, worker, latent + t * L);
        if (frames) memcpy(frames + t * frame, predicted, (size_t)frame * sizeof *frames);
    }
    // There is no posterior, so its variance is 0.
    if (job->variance) memset(job->variance + item * L, 0, (size_t)L * sizeof *job->variance);
    return PLUMB_OK;
}

plumb_status autoregressive_rollout(const hgn_config *config, params *layout,
                                    const float *parameters, const model_rollout_job *job)
{
    rollout_task task = {
        .config = config, .job = job, .workers = {.count = job->threads, .parameters = parameters}};
    if (job->backward) return fail(PLUMB_EVALUE, "this model cannot be run backward in time");
    if (job->frames && job->steps <= config->window)
        return fail(PLUMB_ESHAPE,
                    "videos of %lld frames; the model takes %lld as input and predicts the next",
                    (long long)job->steps, (long long)config->window);
    plumb_status st = create_workers(&task, layout);
    if (!st) st = parallel_for(job->count, job->threads, roll_out_video, &task);
    if (!st) st = status_check_stop();
    model_workers_clear(&task.workers);
    return st;
}
