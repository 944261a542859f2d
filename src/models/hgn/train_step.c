// SPDX-License-Identifier: MIT
#include "models/hgn/train_step.h"

#include <stdlib.h>
#include <string.h>

#include "engine/gradient_sum.h"

struct hgn_step {
    const params *params;
    hgn_config config;
    hgn_frame_plan times;
    int64_t batch, decoded, group, state, seen; // numbers of q, and of what is decoded
    hgn_rollout_graph roll;
    hgn_decode decode;
    graph_program *roll_program, *decode_program;
};

struct hgn_replica {
    const hgn_step *s;
    program_instance *roll, *decode;
};

plumb_status hgn_step_create(hgn_step **out, params *p, const hgn_config *c, int64_t batch,
                             int64_t decoded, int64_t group, bool nested)
{
    hgn_step *s = calloc(1, sizeof *s);
    if (!s) return fail(PLUMB_EMEMORY, "no memory for a model");
    hgn_frame_plan t = hgn_frame_plan_make(c);
    tensor_shape one = hgn_state_shape(c, 1), seen = hgn_decoder_input_shape(c, 1);
    *s = (hgn_step){.params = p,
                    .config = *c,
                    .times = t,
                    .batch = batch,
                    .decoded = decoded,
                    .group = group,
                    .state = shape_count(&one),
                    .seen = shape_count(&seen)};
    plumb_status st =
        hgn_rollout_build(&s->roll, p, c, batch, t.back, t.forward, t.now, nested, true);
    if (!st) st = hgn_decode_build(&s->decode, p, c, group, true);
    if (!st)
        st = program_build(&s->roll_program, s->roll.net.g, s->roll.output, s->roll.outputs,
                           PROGRAM_FAST);
    if (!st)
        st = program_build(&s->decode_program, s->decode.net.g, s->decode.output, s->decode.outputs,
                           PROGRAM_FAST);
    if (st) hgn_step_free(s);
    else *out = s;
    return st;
}

void hgn_step_free(hgn_step *s)
{
    if (!s) return;
    program_free(s->roll_program);
    program_free(s->decode_program);
    graph_free(s->roll.net.g);
    graph_free(s->decode.net.g);
    free(s);
}

const graph_program *hgn_step_program(const hgn_step *s, bool decoder)
{
    return decoder ? s->decode_program : s->roll_program;
}

static void bind(program_instance *i, const network_builder *n, const float *value)
{
    for (int k = 0; k < n->leaves; k++)
        instance_bind(i, n->leaf[k].leaf, value + n->params->at[n->leaf[k].param].offset);
}

plumb_status hgn_replica_create(hgn_replica **out, const hgn_step *s, const float *value)
{
    hgn_replica *r = calloc(1, sizeof *r);
    if (!r) return fail(PLUMB_EMEMORY, "no memory for a replica");
    r->s = s;
    plumb_status st = instance_create(&r->roll, s->roll_program);
    if (!st) st = instance_create(&r->decode, s->decode_program);
    if (st) {
        hgn_replica_free(r);
        return st;
    }
    bind(r->roll, &s->roll.net, value);
    bind(r->decode, &s->decode.net, value);
    *out = r;
    return PLUMB_OK;
}

void hgn_replica_free(hgn_replica *r)
{
    if (!r) return;
    instance_free(r->roll);
    instance_free(r->decode);
    free(r);
}

void hgn_pack_window(float *out, const uint8_t *frames, const hgn_config *c, int64_t count)
{
    int64_t pixels = c->image * c->image, C = c->channels;
    for (int64_t t = 0; t < count; t++)
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t k = 0; k < C; k++)
                out[(i * count + t) * C + k] = (float)frames[(t * pixels + i) * C + k] / 255.0f;
}

// A recurrent net sees frame after frame, all but the clip's last one: (time, batch, ..).
static void show_frames(hgn_replica *r, const hgn_item *item)
{
    const hgn_step *s = r->s;
    int64_t frame = s->config.image * s->config.image * s->config.channels;
    float *frames = instance_input(r->roll, s->roll.frames);
    for (int64_t t = 0; t < s->roll.times; t++)
        for (int64_t b = 0; b < s->batch; b++)
            hgn_pack_window(frames + (t * s->batch + b) * frame, item[b].clip + t * frame,
                            &s->config, 1);
}

static void set_inputs(hgn_replica *r, const hgn_item *item)
{
    const hgn_step *s = r->s;
    const hgn_config *c = &s->config;
    int64_t window = c->image * c->image * c->window * c->channels, pairs = c->latent / 2;
    int64_t frame = c->image * c->image * c->channels;
    float *frames = instance_input(r->roll, s->roll.frames);
    float *noise = instance_input(r->roll, s->roll.noise);
    float *sign = s->roll.sign ? instance_input(r->roll, s->roll.sign) : NULL;
    float *keep = s->roll.keep ? instance_input(r->roll, s->roll.keep) : NULL;
    for (int64_t b = 0; b < s->batch; b++) {
        int64_t first = item[b].backward ? s->times.length - c->window : 0;
        hgn_pack_window(frames + b * window, item[b].clip + first * frame, c, c->window);
        memcpy(noise + b * 2 * s->state, item[b].noise, (size_t)(2 * s->state) * sizeof *noise);
        if (sign) sign[b] = item[b].backward ? -1.0f : 1.0f;
        for (int64_t i = 0; keep && i < pairs; i++)
            keep[b * pairs + i] = i < item[b].pairs ? 1.0f : 0.0f;
    }
}

// The frame of the clip that target `time` is compared with; backwards, the clip is read from its
// end.
static const uint8_t *target_of(const hgn_step *s, const hgn_item *item, int64_t time)
{
    const hgn_config *c = &s->config;
    int64_t t = s->times.first_target + time;
    if (item->backward) t = s->times.length - 1 - t;
    return item->clip + t * c->image * c->image * c->channels;
}

static void add_gradients(program_instance *i, const network_builder *n, int first, float *gradient)
{
    for (int k = 0; k < n->leaves; k++) {
        const param *p = &n->params->at[n->leaf[k].param];
        gradient_add(gradient + p->offset, instance_output(i, first + k), shape_count(&p->shape));
    }
}

// Frames first .. first + count of the share, in groups; those beyond the end weigh nothing.
static void decode_group(hgn_replica *r, const hgn_item *item, int64_t first, int64_t count,
                         float *dq_all, float *gradient, double *l2)
{
    const hgn_step *s = r->s;
    int64_t n = s->seen, B = s->batch;
    int64_t frame = s->config.image * s->config.image * s->config.channels;
    const float *seen = instance_output(r->roll, HGN_DECODER_INPUT);
    float *q = instance_input(r->decode, s->decode.q);
    float *target = instance_input(r->decode, s->decode.target);
    float *weight = instance_input(r->decode, s->decode.weight);
    for (int64_t k = 0; k < s->group; k++) {
        int64_t which = first + (k < count ? k : 0), b = which / s->decoded, j = which % s->decoded;
        int64_t time = item[b].times[j];
        const uint8_t *bytes = target_of(s, &item[b], time);
        memcpy(q + k * n, seen + (time * B + b) * n, (size_t)n * sizeof *q);
        for (int64_t i = 0; i < frame; i++) target[k * frame + i] = (float)bytes[i] / 255.0f;
        weight[k] = k < count ? (float)item[b].weight[j] : 0.0f;
    }
    instance_run(r->decode, 0);
    const float *error = instance_output(r->decode, HGN_L2);
    const float *dq = instance_output(r->decode, HGN_DQ);
    for (int64_t k = 0; k < count; k++) {
        int64_t which = first + k, b = which / s->decoded, j = which % s->decoded;
        l2[which] = (double)error[k];
        gradient_add(dq_all + (item[b].times[j] * B + b) * n, dq + k * n, n);
    }
    add_gradients(r->decode, &s->decode.net, HGN_DECODE_OUTPUTS, gradient);
}

void hgn_replica_run(hgn_replica *r, const hgn_item *item, double kl_weight, float *gradient,
                     double *l2, double *kl)
{
    const hgn_step *s = r->s;
    if (s->config.dynamics == HGN_RECURRENT) show_frames(r, item);
    else set_inputs(r, item);
    instance_run(r->roll, 0);
    float *dq = instance_input(r->roll, s->roll.dq);
    memset(dq, 0, (size_t)(s->roll.times * s->batch * s->seen) * sizeof *dq);
    int64_t frames = s->batch * s->decoded;
    for (int64_t first = 0; first < frames; first += s->group) {
        int64_t count = frames - first < s->group ? frames - first : s->group;
        decode_group(r, item, first, count, dq, gradient, l2);
    }
    if (s->roll.kl_weight) *instance_input(r->roll, s->roll.kl_weight) = (float)kl_weight;
    instance_run(r->roll, 1);
    add_gradients(r->roll, &s->roll.net, HGN_ROLL_OUTPUTS, gradient);
    const float *divergence = instance_output(r->roll, HGN_KL);
    for (int64_t b = 0; b < s->batch; b++) kl[b] = (double)divergence[b];
}
