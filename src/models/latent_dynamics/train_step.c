// SPDX-License-Identifier: MIT
// One training step of the HGN family on a shard of the batch, in three parts: rollout forward,
// decoder forward and backward in groups of frames, rollout backward. Memory does not grow with the
// number of decoded frames.
#include "models/latent_dynamics/train_step.h"

#include <stdlib.h>
#include <string.h>

#include "engine/gradient_sum.h"
#include "models/latent_dynamics/decoder.h"
#include "models/latent_dynamics/encoder.h"
#include "models/latent_dynamics/rollout_graph.h"
#include "models/model_build.h"

struct hgn_step {
    hgn_config config;
    hgn_frame_plan frames;
    hgn_step_spec spec;
    int64_t state_size;   // values of q
    int64_t decoder_size; // values of the decoder's input
    hgn_rollout_graph rollout;
    hgn_decoder_graph decoder;
    graph_program *rollout_program, *decoder_program;
};

struct hgn_replica {
    const hgn_step *step;
    program_instance *rollout, *decoder;
};

// ---- programs ----

plumb_status hgn_step_create(hgn_step **out, params *layout, const hgn_config *config,
                             const hgn_step_spec *spec)
{
    hgn_step *step = calloc(1, sizeof *step);
    if (!step) return fail(PLUMB_EMEMORY, "out of memory for a model");
    const hgn_frame_plan frames = hgn_frame_plan_make(config);
    tensor_shape state = hgn_state_shape(config, 1), input = hgn_decoder_input_shape(config, 1);
    *step = (hgn_step){.config = *config,
                       .frames = frames,
                       .spec = *spec,
                       .state_size = shape_count(&state),
                       .decoder_size = shape_count(&input)};
    // Two graphs: the rollout of the shard, and the decoder of one microbatch of frames.
    hgn_rollout_graph *rollout = &step->rollout;
    hgn_decoder_graph *decoder = &step->decoder;
    plumb_status st = hgn_rollout_build(rollout, layout, config,
                                        &(hgn_rollout_spec){.batch = spec->batch,
                                                            .backward = frames.backward,
                                                            .forward = frames.forward,
                                                            .decode_start = frames.decode_start,
                                                            .masked = spec->nested,
                                                            .train = true});
    if (!st) st = hgn_decoder_build(decoder, layout, config, spec->microbatch, true);
    if (!st)
        st = program_build(&step->rollout_program, rollout->net.g, rollout->outputs,
                           rollout->output_count, PROGRAM_FAST);
    if (!st)
        st = program_build(&step->decoder_program, decoder->net.g, decoder->outputs,
                           decoder->output_count, PROGRAM_FAST);
    if (st) hgn_step_free(step);
    else *out = step;
    return st;
}

void hgn_step_free(hgn_step *step)
{
    if (!step) return;
    program_free(step->rollout_program);
    program_free(step->decoder_program);
    graph_free(step->rollout.net.g);
    graph_free(step->decoder.net.g);
    free(step);
}

const graph_program *hgn_step_rollout_program(const hgn_step *step)
{
    return step->rollout_program;
}

const graph_program *hgn_step_decoder_program(const hgn_step *step)
{
    return step->decoder_program;
}

// Programs are shared by all replicas; instances have memory of their own.
plumb_status hgn_replica_create(hgn_replica **out, const hgn_step *step, const float *parameters)
{
    hgn_replica *r = calloc(1, sizeof *r);
    if (!r) return fail(PLUMB_EMEMORY, "out of memory for a replica");
    r->step = step;
    plumb_status st =
        model_build_instance(&r->rollout, step->rollout_program, &step->rollout.net, parameters);
    if (!st)
        st = model_build_instance(&r->decoder, step->decoder_program, &step->decoder.net,
                                  parameters);
    if (st) hgn_replica_free(r);
    else *out = r;
    return st;
}

void hgn_replica_free(hgn_replica *replica)
{
    if (!replica) return;
    instance_free(replica->rollout);
    instance_free(replica->decoder);
    free(replica);
}

// ---- inputs ----

// A recurrent network takes frame after frame, all but the clip's last one: (time, batch, ..).
static void set_frames(hgn_replica *r, const hgn_item *items)
{
    const hgn_step *step = r->step;
    const hgn_config *config = &step->config;
    int64_t frame = hgn_frame_size(config), B = step->spec.batch;
    float *frames = instance_input(r->rollout, step->rollout.frames);
    for (int64_t t = 0; t < step->rollout.times; t++)
        for (int64_t b = 0; b < B; b++)
            hgn_pack_window(frames + (t * B + b) * frame, items[b].clip + t * frame, config, 1);
}

// The other models take the window at one end of the clip, noise, the direction of time and the
// pairs in use.
static void set_window(hgn_replica *r, const hgn_item *items)
{
    const hgn_step *step = r->step;
    const hgn_config *config = &step->config;
    const hgn_rollout_graph *rollout = &step->rollout;
    int64_t frame = hgn_frame_size(config);
    int64_t window = frame * config->window, pairs = config->latent / 2, n = 2 * step->state_size;
    float *frames = instance_input(r->rollout, rollout->frames);
    float *far = rollout->far_frames ? instance_input(r->rollout, rollout->far_frames) : NULL;
    float *noise = instance_input(r->rollout, rollout->noise);
    float *sign = rollout->sign ? instance_input(r->rollout, rollout->sign) : NULL;
    float *mask = rollout->pair_mask ? instance_input(r->rollout, rollout->pair_mask) : NULL;
    for (int64_t b = 0; b < step->spec.batch; b++) {
        // Backward in time the window is at the end of the clip.
        const int64_t last = step->frames.length - config->window;
        int64_t first = items[b].backward ? last : 0;
        hgn_pack_window(frames + b * window, items[b].clip + first * frame, config, config->window);
        if (far)
            hgn_pack_window(far + b * window, items[b].clip + (last - first) * frame, config,
                            config->window);
        memcpy(noise + b * n, items[b].noise, (size_t)n * sizeof *noise);
        if (sign) sign[b] = items[b].backward ? -1.0f : 1.0f;
        for (int64_t i = 0; mask && i < pairs; i++)
            mask[b * pairs + i] = i < items[b].pairs ? 1.0f : 0.0f;
    }
}

// The frame that target `time` is compared with. Backward in time the clip is read from its end.
static const uint8_t *target_frame(const hgn_step *step, const hgn_item *item, int64_t time)
{
    const hgn_config *config = &step->config;
    int64_t t = step->frames.first_target + time;
    if (item->backward) t = step->frames.length - 1 - t;
    return item->clip + t * hgn_frame_size(config);
}

// ---- the step ----

// Decoded frames are numbered over the shard: frame i is target times[i % decoded] of item
// i / decoded. This decodes frames first .. first + count; the rest of the microbatch has weight 0.
static void decode_microbatch(hgn_replica *r, const hgn_item *items, int64_t first, int64_t count,
                              float *gradient, double *l2)
{
    const hgn_step *step = r->step;
    int64_t n = step->decoder_size, B = step->spec.batch, decoded = step->spec.decoded;
    int64_t frame = hgn_frame_size(&step->config);
    const float *states = instance_output(r->rollout, HGN_DECODER_INPUT); // (times, batch, n)
    float *q = instance_input(r->decoder, step->decoder.q);
    float *target = instance_input(r->decoder, step->decoder.target);
    float *weight = instance_input(r->decoder, step->decoder.weight);
    for (int64_t k = 0; k < step->spec.microbatch; k++) {
        // A microbatch that is not full repeats its first frame.
        int64_t i = first + (k < count ? k : 0), b = i / decoded, j = i % decoded;
        int64_t time = items[b].times[j];
        const uint8_t *bytes = target_frame(step, &items[b], time);
        memcpy(q + k * n, states + (time * B + b) * n, (size_t)n * sizeof *q);
        for (int64_t x = 0; x < frame; x++) target[k * frame + x] = (float)bytes[x] / 255.0f;
        weight[k] = k < count ? (float)items[b].weight[j] : 0.0f;
    }
    instance_run(r->decoder, 0);
    // Errors, and the gradients by the states, which the backward rollout starts from.
    const float *error = instance_output(r->decoder, HGN_L2);
    const float *dq = instance_output(r->decoder, HGN_DECODE_DQ);
    float *state_gradient = instance_input(r->rollout, step->rollout.dq);
    for (int64_t k = 0; k < count; k++) {
        int64_t i = first + k, b = i / decoded, j = i % decoded;
        l2[i] = (double)error[k];
        gradient_add(state_gradient + (items[b].times[j] * B + b) * n, dq + k * n, n);
    }
    model_build_add_gradient(gradient, r->decoder, &step->decoder.net, HGN_DECODE_OUTPUTS);
}

void hgn_replica_run(hgn_replica *r, const hgn_item *items, float *gradient,
                     hgn_step_errors *errors)
{
    const hgn_step *step = r->step;
    const hgn_rollout_graph *rollout = &step->rollout;
    // The rollout, forward.
    if (step->config.dynamics == HGN_RECURRENT) set_frames(r, items);
    else set_window(r, items);
    instance_run(r->rollout, 0);
    // Decoded frames, forward and backward.
    float *dq = instance_input(r->rollout, rollout->dq);
    // Targets that are not decoded have gradient 0.
    memset(dq, 0, (size_t)(rollout->times * step->spec.batch * step->decoder_size) * sizeof *dq);
    int64_t frames = step->spec.batch * step->spec.decoded, most = step->spec.microbatch;
    for (int64_t first = 0; first < frames; first += most)
        decode_microbatch(r, items, first, frames - first < most ? frames - first : most, gradient,
                          errors->l2);
    // The rollout, backward.
    if (rollout->kl_weight)
        *instance_input(r->rollout, rollout->kl_weight) = (float)errors->kl_weight;
    if (rollout->state_weight)
        *instance_input(r->rollout, rollout->state_weight) = (float)errors->state_weight;
    // Stage 1 continues from the values of the forward run, which are still in memory.
    instance_run(r->rollout, 1);
    model_build_add_gradient(gradient, r->rollout, &rollout->net, HGN_ROLLOUT_OUTPUTS);
    const float *divergence = instance_output(r->rollout, HGN_KL);
    const float *state = instance_output(r->rollout, HGN_STATE_ERROR);
    for (int64_t b = 0; b < step->spec.batch; b++) {
        errors->kl[b] = (double)divergence[b];
        errors->state[b] = (double)state[b];
    }
}
