// SPDX-License-Identifier: MIT
#include "models/hgn/autoregressive_rollout.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "models/hgn/train_step.h"
#include "models/model_build.h"

typedef struct worker {
    program_instance *carry, *decode;
} worker;

typedef struct player {
    const hgn_config *c;
    const model_rollout_job *job;
    const float *value;
    autoregressive_step carry;
    hgn_decode decode;
    graph_program *carry_program, *decode_program;
    worker *worker;
} player;

static plumb_status prepare(player *x, params *p)
{
    plumb_status st = autoregressive_step_build(&x->carry, p, x->c);
    if (!st) st = hgn_decode_build(&x->decode, p, x->c, 1, false);
    if (!st)
        st = program_build(&x->carry_program, x->carry.net.g, x->carry.output, 2, PROGRAM_FAST);
    if (!st)
        st = program_build(&x->decode_program, x->decode.net.g, x->decode.output, 1, PROGRAM_FAST);
    int workers = x->job->threads;
    x->worker = calloc((size_t)workers, sizeof *x->worker);
    if (!st && !x->worker) st = fail(PLUMB_EMEMORY, "no memory for %d workers", workers);
    for (int i = 0; !st && i < workers; i++) {
        st = model_build_instance(&x->worker[i].carry, x->carry_program, &x->carry.net, x->value);
        if (!st)
            st = model_build_instance(&x->worker[i].decode, x->decode_program, &x->decode.net,
                                      x->value);
    }
    return st;
}

static void finish(player *x)
{
    for (int i = 0; x->worker && i < x->job->threads; i++) {
        instance_free(x->worker[i].carry);
        instance_free(x->worker[i].decode);
    }
    free(x->worker);
    program_free(x->carry_program);
    program_free(x->decode_program);
    graph_free(x->carry.net.g);
    graph_free(x->decode.net.g);
}

static const float *draw(const player *x, const worker *w, const float *latent)
{
    memcpy(instance_input(w->decode, x->decode.q), latent, (size_t)x->c->latent * sizeof *latent);
    instance_run(w->decode, 0);
    return instance_output(w->decode, HGN_FRAMES);
}

static plumb_status play_one(void *context, int64_t item, int which)
{
    const player *x = context;
    const model_rollout_job *job = x->job;
    const hgn_config *c = x->c;
    const worker *w = &x->worker[which];
    int64_t frame = c->image * c->image * c->channels, L = c->latent;
    int64_t told = job->steps - (job->frames ? 1 : 0);
    float *latent = job->latent + item * told * L;
    float *to = job->prediction ? job->prediction + item * told * frame : NULL;
    if (!job->frames) {
        for (int64_t t = 0; t < told; t++)
            memcpy(to + t * frame, draw(x, w, latent + t * L), (size_t)frame * sizeof *to);
        return PLUMB_OK;
    }
    const uint8_t *clip = job->frames + item * (job->filmed ? job->filmed : job->steps) * frame;
    float *memory = instance_input(w->carry, x->carry.memory);
    float *input = instance_input(w->carry, x->carry.frame);
    const float *own = NULL;
    memset(memory, 0, (size_t)x->carry.numbers * sizeof *memory);
    for (int64_t t = 0; t < told && !status_stopped(); t++) {
        if (t < c->window) hgn_pack_window(input, clip + t * frame, c, 1);
        else memcpy(input, own, (size_t)frame * sizeof *input);
        instance_run(w->carry, 0);
        memcpy(latent + t * L, instance_output(w->carry, 0), (size_t)L * sizeof *latent);
        memcpy(memory, instance_output(w->carry, 1), (size_t)x->carry.numbers * sizeof *memory);
        if (t + 1 < c->window && !to) continue;
        own = draw(x, w, latent + t * L);
        if (to) memcpy(to + t * frame, own, (size_t)frame * sizeof *to);
    }
    if (job->variance) memset(job->variance + item * L, 0, (size_t)L * sizeof *job->variance);
    return PLUMB_OK;
}

plumb_status autoregressive_rollout(const hgn_config *c, params *p, const float *value,
                                    const model_rollout_job *job)
{
    player x = {.c = c, .job = job, .value = value};
    if (job->backward) return fail(PLUMB_EVALUE, "this model cannot be run backward in time");
    if (job->frames && job->steps <= c->window)
        return fail(PLUMB_ESHAPE, "films of %lld frames; the model watches %lld and tells the next",
                    (long long)job->steps, (long long)c->window);
    plumb_status st = prepare(&x, p);
    if (!st) st = parallel_for(job->count, job->threads, play_one, &x);
    if (!st) st = status_check_stop();
    finish(&x);
    return st;
}
