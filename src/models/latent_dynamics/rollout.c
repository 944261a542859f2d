// SPDX-License-Identifier: MIT
// Rollouts of a trained model of the HGN family. One video per task: the encoder infers one state,
// the dynamics take it to both ends of the video, the decoder draws the frames.
#include "models/latent_dynamics/rollout.h"

#include <math.h>
#include <string.h>

#include "base/parallel_for.h"
#include "models/latent_dynamics/decoder.h"
#include "models/latent_dynamics/encoder.h"
#include "models/latent_dynamics/rollout_graph.h"
#include "models/model_workers.h"

enum { ADVANCE_STEPS = 16, DECODE_FRAMES = 32 }; // steps, and frames, per program run

// Programs of a worker, in the order in which they are added.
enum { PROGRAM_INFER, PROGRAM_ADVANCE, PROGRAM_DECODE, PROGRAM_MOMENTA };

typedef struct rollout_task {
    const hgn_config *config;
    const model_rollout_job *job;
    const float *pair_mask; // (pairs), 0 for unused ones; NULL: all are used
    int64_t state_size;     // values of q
    int64_t decoder_size;   // values of the decoder's input
    int64_t output_steps;   // per video
    hgn_rollout_graph infer;
    hgn_advance_graph advance;
    hgn_decoder_graph decoder;
    hgn_momenta_graph momenta;
    model_workers workers;
} rollout_task;

// Programs without gradients: one window, ADVANCE_STEPS steps, DECODE_FRAMES frames, momenta.
static plumb_status create_workers(rollout_task *task, params *layout)
{
    const hgn_config *config = task->config;
    model_workers *workers = &task->workers;
    plumb_status st = hgn_rollout_build(&task->infer, layout, config,
                                        &(hgn_rollout_spec){.batch = 1, .decode_start = true});
    if (!st)
        st = model_workers_add(workers, &task->infer.net, task->infer.outputs,
                               task->infer.output_count, false);
    if (!st) st = hgn_advance_build(&task->advance, layout, config, 1, ADVANCE_STEPS);
    if (!st) st = model_workers_add(workers, &task->advance.net, task->advance.outputs, 2, false);
    if (!st) st = hgn_decoder_build(&task->decoder, layout, config, DECODE_FRAMES, false);
    if (!st)
        st = model_workers_add(workers, &task->decoder.net, task->decoder.outputs,
                               task->decoder.output_count, false);
    if (st || !task->job->momenta) return st;
    st = hgn_momenta_build(&task->momenta, layout, config, DECODE_FRAMES);
    return st ? st
              : model_workers_add(workers, &task->momenta.net, &task->momenta.output, 1, false);
}

// ---- inference ----

// (q, p) side by side.
static void store_state(const rollout_task *task, float *latent, const float *q, const float *p)
{
    memcpy(latent, q, (size_t)task->state_size * sizeof *q);
    memcpy(latent + task->state_size, p, (size_t)task->state_size * sizeof *p);
}

// Variances of the posterior. Unused pairs have the prior's variance 1. Where a transform follows
// the posterior the states have none: 0, so that nothing is left out of a measure.
static void store_variance(const rollout_task *task, float *variance, const float *log_scale)
{
    const bool none =
        task->config->state_layout == HGN_STATE_MAP || task->config->transform_layers > 0;
    for (int64_t i = 0; i < 2 * task->state_size; i++) {
        bool used = !task->pair_mask || task->pair_mask[i % task->state_size] != 0.0f;
        variance[i] = none ? 0.0f : used ? expf(2.0f * log_scale[i]) : 1.0f;
    }
}

// Index among the output steps of the state that is inferred.
static int64_t inferred_step(const rollout_task *task)
{
    // The window is at the end of the video if time runs backward. Frames before the first
    // predicted one are not among the output steps.
    int64_t first = task->job->backward ? task->job->steps - task->config->window : 0;
    int64_t dropped = task->job->steps - task->output_steps;
    return first + hgn_frame_plan_make(task->config).inferred - dropped;
}

// Infers one state of one video and stores it at its place in the rollout.
static plumb_status infer_video(void *context, int64_t item, int worker)
{
    const rollout_task *task = context;
    const model_rollout_job *job = task->job;
    const hgn_config *config = task->config;
    program_instance *infer = model_workers_instance(&task->workers, worker, PROGRAM_INFER);
    int64_t frame = hgn_frame_size(config), n = task->state_size;
    int64_t first = job->backward ? job->steps - config->window : 0;
    const uint8_t *video =
        job->frames + item * (job->input_steps ? job->input_steps : job->steps) * frame;
    hgn_pack_window(instance_input(infer, task->infer.frames), video + first * frame, config,
                    config->window);
    // Without noise the sample is the posterior mean.
    memset(instance_input(infer, task->infer.noise), 0, (size_t)(2 * n) * sizeof(float));
    instance_run(infer, 0);
    store_state(task, job->latent + (item * task->output_steps + inferred_step(task)) * 2 * n,
                instance_output(infer, HGN_Q), instance_output(infer, HGN_P));
    if (job->variance)
        store_variance(task, job->variance + item * 2 * n, instance_output(infer, HGN_LOG_SCALE));
    return PLUMB_OK;
}

// An angle is known up to full turns. Inferred angles of all videos are moved to within half a turn
// of their mean direction, so that the cut of the circle is where there are fewest.
static void unwrap_angles(const rollout_task *task)
{
    const double pi = 3.14159265358979323846;
    int64_t n = task->state_size, stride = 2 * n * task->output_steps;
    for (int64_t i = 0; i < n; i++) {
        float *angle = task->job->latent + inferred_step(task) * 2 * n + i;
        // Mean direction of this angle over all videos.
        double sine = 0.0, cosine = 0.0;
        for (int64_t k = 0; k < task->job->count; k++) {
            sine += sin((double)angle[k * stride]);
            cosine += cos((double)angle[k * stride]);
        }
        double mean = atan2(sine, cosine);
        for (int64_t k = 0; k < task->job->count; k++) {
            // Whole turns away from it.
            double turns = round(((double)angle[k * stride] - mean) / (2.0 * pi));
            angle[k * stride] = (float)((double)angle[k * stride] - 2.0 * pi * turns);
        }
    }
}

// ---- rollout ----

// Computes `count` states after the one at `latent`, in steps of `direction` (1 or -1).
static void advance_states(const rollout_task *task, program_instance *instance, float *latent,
                           int64_t count, int direction)
{
    int64_t n = task->state_size, row = 2 * n * direction;
    float *q = instance_input(instance, task->advance.q),
          *p = instance_input(instance, task->advance.p);
    float *sign = instance_input(instance, task->advance.sign);
    if (sign) *sign = (float)direction; // a map has no direction
    while (count > 0 && !status_stopped()) {
        // From the last state that is known; steps beyond `count` are computed and dropped.
        memcpy(q, latent, (size_t)n * sizeof *q);
        memcpy(p, latent + n, (size_t)n * sizeof *p);
        instance_run(instance, 0);
        int64_t steps = count < ADVANCE_STEPS ? count : ADVANCE_STEPS;
        for (int64_t t = 0; t < steps; t++) {
            latent += row;
            store_state(task, latent, instance_output(instance, 0) + t * n,
                        instance_output(instance, 1) + t * n);
        }
        count -= steps;
    }
}

// What the decoder takes of a state: q or its cosines and sines, and p if it takes the whole state.
static void pack_decoder_input(const rollout_task *task, float *input, const float *latent)
{
    int64_t n = task->state_size;
    if (task->config->angular_positions) {
        for (int64_t i = 0; i < n; i++) {
            const bool used = !task->pair_mask || task->pair_mask[i] != 0.0f;
            input[i] = used ? cosf(latent[i]) : 0.0f;
            input[n + i] = used ? sinf(latent[i]) : 0.0f;
        }
        input += n;
    } else memcpy(input, latent, (size_t)n * sizeof *input);
    if (task->config->decoder_input == HGN_DECODE_STATE)
        memcpy(input + n, latent + n, (size_t)n * sizeof *input);
}

// Decodes all states of a video, DECODE_FRAMES at a time.
static void decode_states(const rollout_task *task, program_instance *instance, const float *latent,
                          float *frames)
{
    int64_t n = task->state_size, steps = task->output_steps;
    int64_t frame = hgn_frame_size(task->config);
    float *input = instance_input(instance, task->decoder.q);
    for (int64_t t = 0; t < steps; t += DECODE_FRAMES) {
        int64_t count = steps - t < DECODE_FRAMES ? steps - t : DECODE_FRAMES;
        for (int64_t k = 0; k < count; k++)
            pack_decoder_input(task, input + k * task->decoder_size, latent + (t + k) * 2 * n);
        instance_run(instance, 0);
        memcpy(frames + t * frame, instance_output(instance, HGN_FRAMES),
               (size_t)(count * frame) * sizeof *frames);
    }
}

// Momenta of states (q, v) of a Lagrangian model.
static void compute_momenta(const rollout_task *task, program_instance *instance,
                            const float *latent, float *momenta)
{
    int64_t n = task->state_size, steps = task->output_steps;
    float *q = instance_input(instance, task->momenta.q),
          *v = instance_input(instance, task->momenta.v);
    for (int64_t t = 0; t < steps && !status_stopped(); t += DECODE_FRAMES) {
        int64_t count = steps - t < DECODE_FRAMES ? steps - t : DECODE_FRAMES;
        for (int64_t k = 0; k < count; k++) {
            memcpy(q + k * n, latent + (t + k) * 2 * n, (size_t)n * sizeof *q);
            memcpy(v + k * n, latent + (t + k) * 2 * n + n, (size_t)n * sizeof *v);
        }
        instance_run(instance, 0);
        memcpy(momenta + t * n, instance_output(instance, 0),
               (size_t)(count * n) * sizeof *momenta);
    }
}

// Rolls one video out to both ends, then decodes its states.
static plumb_status roll_out_video(void *context, int64_t item, int worker)
{
    const rollout_task *task = context;
    const model_rollout_job *job = task->job;
    const model_workers *workers = &task->workers;
    int64_t frame = hgn_frame_size(task->config);
    int64_t n = task->state_size, steps = task->output_steps;
    float *latent = job->latent + item * steps * 2 * n;
    if (job->frames) {
        program_instance *advance = model_workers_instance(workers, worker, PROGRAM_ADVANCE);
        int64_t at = inferred_step(task);
        advance_states(task, advance, latent + at * 2 * n, at, -1);
        advance_states(task, advance, latent + at * 2 * n, steps - 1 - at, 1);
    } else if (job->advance) {
        advance_states(task, model_workers_instance(workers, worker, PROGRAM_ADVANCE), latent,
                       steps - 1, 1);
    }
    if (job->prediction)
        decode_states(task, model_workers_instance(workers, worker, PROGRAM_DECODE), latent,
                      job->prediction + item * steps * frame);
    if (job->momenta)
        compute_momenta(task, model_workers_instance(workers, worker, PROGRAM_MOMENTA), latent,
                        job->momenta + item * steps * n);
    return PLUMB_OK;
}

plumb_status hgn_rollout(const hgn_config *config, params *layout, const float *parameters,
                         const model_rollout_job *job)
{
    tensor_shape state = hgn_state_shape(config, 1), input = hgn_decoder_input_shape(config, 1);
    const int mask = params_find(layout, "pair_mask");
    rollout_task task = {.config = config,
                         .job = job,
                         .pair_mask = mask < 0 ? NULL : parameters + layout->at[mask].offset,
                         .state_size = shape_count(&state),
                         .decoder_size = shape_count(&input),
                         .output_steps = job->steps - (job->frames ? hgn_first_step(config) : 0),
                         .workers = {.count = job->threads, .parameters = parameters}};
    if (job->backward && !hgn_config_reversible(config))
        return fail(PLUMB_EVALUE, "this model cannot be run backward in time");
    if (job->frames && job->steps < config->window)
        return fail(PLUMB_ESHAPE, "videos of %lld frames; the model takes %lld as input",
                    (long long)job->steps, (long long)config->window);
    plumb_status st = create_workers(&task, layout);
    // All states are inferred first: angles are unwrapped over all videos.
    if (!st && job->frames) {
        st = parallel_for(job->count, job->threads, infer_video, &task);
        if (!st && config->angular_positions) unwrap_angles(&task);
    }
    if (!st) st = parallel_for(job->count, job->threads, roll_out_video, &task);
    if (!st) st = status_check_stop();
    model_workers_clear(&task.workers);
    return st;
}
