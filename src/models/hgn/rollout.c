// SPDX-License-Identifier: MIT
#include "models/hgn/rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "models/hgn/train_step.h"

enum { CARRY = 16, GROUP = 32 }; // steps, and frames, that one run of a program makes

// One program and its graph; every worker has an instance of it.
typedef struct part {
    graph *g;
    graph_program *p;
    const network_builder *net;
} part;

typedef struct worker {
    program_instance *infer, *carry, *decode, *momenta;
} worker;

typedef struct player {
    const hgn_config *c;
    const model_rollout_job *job;
    const float *value;
    int64_t state, seen; // numbers of q, and of what the decoder reads
    int64_t told;        // frames of each film
    hgn_rollout_graph infer;
    hgn_advance carry;
    hgn_decode decode;
    hgn_momenta momenta;
    part part[4];
    worker *worker;
    int workers;
} player;

static plumb_status make(part *out, const network_builder *n, graph_node *const *output,
                         int outputs)
{
    *out = (part){.g = n->g, .net = n};
    return program_build(&out->p, n->g, output, outputs, PROGRAM_FAST);
}

static plumb_status enter(program_instance **out, const part *p, const float *value)
{
    plumb_status st = instance_create(out, p->p);
    for (int k = 0; !st && k < p->net->leaves; k++)
        instance_bind(*out, p->net->leaf[k].leaf,
                      value + p->net->params->at[p->net->leaf[k].param].offset);
    return st;
}

static plumb_status prepare(player *x, params *p)
{
    const hgn_config *c = x->c;
    plumb_status st = hgn_rollout_build(&x->infer, p, c, 1, 0, 0, true, false, false);
    if (!st) st = hgn_advance_build(&x->carry, p, c, 1, CARRY);
    if (!st) st = hgn_decode_build(&x->decode, p, c, GROUP, false);
    if (!st) st = make(&x->part[0], &x->infer.net, x->infer.output, x->infer.outputs);
    if (!st) st = make(&x->part[1], &x->carry.net, x->carry.output, 2);
    if (!st) st = make(&x->part[2], &x->decode.net, x->decode.output, x->decode.outputs);
    if (!st && x->job->momenta) st = hgn_momenta_build(&x->momenta, p, c, GROUP);
    if (!st && x->job->momenta) st = make(&x->part[3], &x->momenta.net, &x->momenta.output, 1);
    x->worker = calloc((size_t)x->workers, sizeof *x->worker);
    if (!st && !x->worker) st = fail(PLUMB_EMEMORY, "no memory for %d workers", x->workers);
    for (int i = 0; !st && i < x->workers; i++) {
        st = enter(&x->worker[i].infer, &x->part[0], x->value);
        if (!st) st = enter(&x->worker[i].carry, &x->part[1], x->value);
        if (!st) st = enter(&x->worker[i].decode, &x->part[2], x->value);
        if (!st && x->job->momenta) st = enter(&x->worker[i].momenta, &x->part[3], x->value);
    }
    return st;
}

static void finish(player *x)
{
    for (int i = 0; x->worker && i < x->workers; i++) {
        instance_free(x->worker[i].infer);
        instance_free(x->worker[i].carry);
        instance_free(x->worker[i].decode);
        instance_free(x->worker[i].momenta);
    }
    free(x->worker);
    for (int i = 0; i < 4; i++) program_free(x->part[i].p);
    graph_free(x->infer.net.g);
    graph_free(x->carry.net.g);
    graph_free(x->decode.net.g);
    graph_free(x->momenta.net.g);
}

// q then p of a state, whatever its layout.
static void put_state(const player *x, float *latent, const float *q, const float *p)
{
    memcpy(latent, q, (size_t)x->state * sizeof *q);
    memcpy(latent + x->state, p, (size_t)x->state * sizeof *p);
}

// `count` states after the one in `latent`, forward or backward in time.
static void carry_on(const player *x, program_instance *i, float *latent, int64_t count,
                     int direction)
{
    int64_t n = x->state, row = 2 * n * direction;
    float *q = instance_input(i, x->carry.q), *p = instance_input(i, x->carry.p);
    float *sign = instance_input(i, x->carry.sign);
    if (sign) *sign = (float)direction; // a map knows no direction
    while (count > 0 && !status_stopped()) {
        memcpy(q, latent, (size_t)n * sizeof *q);
        memcpy(p, latent + n, (size_t)n * sizeof *p);
        instance_run(i, 0);
        int64_t now = count < CARRY ? count : CARRY;
        for (int64_t t = 0; t < now; t++) {
            latent += row;
            put_state(x, latent, instance_output(i, 0) + t * n, instance_output(i, 1) + t * n);
        }
        count -= now;
    }
}

// What the decoder sees of a state.
static void see(const player *x, float *seen, const float *latent)
{
    int64_t n = x->state;
    if (x->c->angles) {
        int keep = params_find(x->decode.net.params, "keep");
        const float *used = keep < 0 ? NULL : x->value + x->decode.net.params->at[keep].offset;
        for (int64_t i = 0; i < n; i++) {
            seen[i] = used && used[i] == 0.0f ? 0.0f : cosf(latent[i]);
            seen[n + i] = used && used[i] == 0.0f ? 0.0f : sinf(latent[i]);
        }
        seen += n;
    } else memcpy(seen, latent, (size_t)n * sizeof *seen);
    if (x->c->whole) memcpy(seen + n, latent + n, (size_t)n * sizeof *seen);
}

static void decode_all(const player *x, program_instance *i, const float *latent, float *frames)
{
    int64_t n = x->state, steps = x->told;
    int64_t frame = x->c->image * x->c->image * x->c->channels;
    float *q = instance_input(i, x->decode.q);
    for (int64_t t = 0; t < steps; t += GROUP) {
        int64_t now = steps - t < GROUP ? steps - t : GROUP;
        for (int64_t k = 0; k < now; k++) see(x, q + k * x->seen, latent + (t + k) * 2 * n);
        instance_run(i, 0);
        memcpy(frames + t * frame, instance_output(i, HGN_FRAMES),
               (size_t)(now * frame) * sizeof *frames);
    }
}

static void momenta_of(const player *x, program_instance *i, const float *latent, float *momenta)
{
    int64_t n = x->state;
    float *q = instance_input(i, x->momenta.q), *v = instance_input(i, x->momenta.v);
    for (int64_t t = 0; t < x->told && !status_stopped(); t += GROUP) {
        int64_t now = x->told - t < GROUP ? x->told - t : GROUP;
        for (int64_t k = 0; k < now; k++) {
            memcpy(q + k * n, latent + (t + k) * 2 * n, (size_t)n * sizeof *q);
            memcpy(v + k * n, latent + (t + k) * 2 * n + n, (size_t)n * sizeof *v);
        }
        instance_run(i, 0);
        memcpy(momenta + t * n, instance_output(i, 0), (size_t)(now * n) * sizeof *momenta);
    }
}

// Of pairs that are not in use nothing is known: the prior's variance. The transform of a latent
// map has no posterior of its own; then nothing is left out.
static void put_variance(const player *x, const params *p, float *variance, const float *log_scale)
{
    int keep = params_find(p, "keep");
    for (int64_t i = 0; i < 2 * x->state; i++) {
        bool used = keep < 0 || x->value[p->at[keep].offset + i % x->state] != 0.0f;
        variance[i] = x->c->maps || x->c->transform_layers ? 0.0f
                      : used                               ? expf(2.0f * log_scale[i])
                                                           : 1.0f;
    }
}

// Where among the frames that are told of a state is inferred.
static int64_t inferred(const player *x)
{
    int64_t first = x->job->backward ? x->job->steps - x->c->window : 0;
    return first + hgn_frame_plan_make(x->c).at - (x->job->steps - x->told);
}

static plumb_status infer_one(void *context, int64_t item, int which)
{
    const player *x = context;
    const model_rollout_job *job = x->job;
    const hgn_config *c = x->c;
    program_instance *infer = x->worker[which].infer;
    int64_t frame = c->image * c->image * c->channels, K = c->window, n = x->state;
    int64_t first = job->backward ? job->steps - K : 0;
    const uint8_t *clip = job->frames + item * (job->filmed ? job->filmed : job->steps) * frame;
    hgn_pack_window(instance_input(infer, x->infer.frames), clip + first * frame, c, K);
    memset(instance_input(infer, x->infer.noise), 0, (size_t)(2 * n) * sizeof(float));
    instance_run(infer, 0);
    put_state(x, job->latent + (item * x->told + inferred(x)) * 2 * n,
              instance_output(infer, HGN_Q), instance_output(infer, HGN_P));
    if (job->variance)
        put_variance(x, x->infer.net.params, job->variance + item * 2 * n,
                     instance_output(infer, HGN_LOG_SCALE));
    return PLUMB_OK;
}

// An angle is known up to whole turns. All films begin within half a turn of their mean direction,
// so that the cut of the circle lies where there are fewest.
static void lift(const player *x)
{
    const double pi = 3.14159265358979323846;
    int64_t n = x->state, step = 2 * n * x->told;
    for (int64_t i = 0; i < n; i++) {
        float *angle = x->job->latent + inferred(x) * 2 * n + i;
        double sine = 0.0, cosine = 0.0;
        for (int64_t k = 0; k < x->job->count; k++) {
            sine += sin((double)angle[k * step]);
            cosine += cos((double)angle[k * step]);
        }
        double mean = atan2(sine, cosine);
        for (int64_t k = 0; k < x->job->count; k++) {
            double turns = round(((double)angle[k * step] - mean) / (2.0 * pi));
            angle[k * step] = (float)((double)angle[k * step] - 2.0 * pi * turns);
        }
    }
}

static plumb_status tell_one(void *context, int64_t item, int which)
{
    const player *x = context;
    const model_rollout_job *job = x->job;
    const worker *w = &x->worker[which];
    int64_t frame = x->c->image * x->c->image * x->c->channels, n = x->state;
    float *latent = job->latent + item * x->told * 2 * n;
    if (job->frames) {
        int64_t at = inferred(x);
        carry_on(x, w->carry, latent + at * 2 * n, at, -1);
        carry_on(x, w->carry, latent + at * 2 * n, x->told - 1 - at, 1);
    }
    if (job->prediction) decode_all(x, w->decode, latent, job->prediction + item * x->told * frame);
    if (job->momenta) momenta_of(x, w->momenta, latent, job->momenta + item * x->told * n);
    return PLUMB_OK;
}

plumb_status hgn_rollout(const hgn_config *c, params *p, const float *value,
                         const model_rollout_job *job)
{
    tensor_shape one = hgn_state_shape(c, 1), seen = hgn_decoder_input_shape(c, 1);
    player x = {.c = c,
                .job = job,
                .value = value,
                .state = shape_count(&one),
                .seen = shape_count(&seen),
                .told = job->steps - (job->frames ? hgn_first_step(c) : 0),
                .workers = job->threads};
    if (job->backward && !hgn_config_reversible(c))
        return fail(PLUMB_EVALUE, "this model cannot be run backward in time");
    if (job->frames && job->steps < c->window)
        return fail(PLUMB_ESHAPE, "films of %lld frames; the model watches %lld",
                    (long long)job->steps, (long long)c->window);
    plumb_status st = prepare(&x, p);
    if (!st && job->frames) {
        st = parallel_for(job->count, job->threads, infer_one, &x);
        if (!st && c->angles) lift(&x);
    }
    if (!st) st = parallel_for(job->count, job->threads, tell_one, &x);
    if (!st) st = status_check_stop();
    finish(&x);
    return st;
}
