// SPDX-License-Identifier: MIT
// Clips of a probe begin alike, and a model that has seen the same frames is in the same state: so
// each state is computed once for all clips that share it. That saves the work, and it makes errors
// of a common beginning equal to the last bit, whatever the kernels do.
#include "models/predrnn/predict.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "models/model_build.h"

// Clips that are looked at together, and states that one run of a program takes a frame further.
// Groups are cut by number, so threads change nothing.
enum { GROUP = 16, RUN = 8 };

typedef struct worker {
    program_instance *first, *next;
    float *state[2]; // (GROUP, state numbers): before and after a frame
    float *frames;   // (GROUP + 1, frame): what is expected of each, and one that comes
} worker;

typedef struct watcher {
    const predrnn_config *c;
    const model_predict_job *job;
    predrnn_step first, next;
    graph_program *first_program, *next_program;
    int64_t map, states; // numbers of one map, and of a state: h and c of every layer, then m
    worker *worker;
    int workers;
} watcher;

static plumb_status build(graph_program **out, const predrnn_step *s, const predrnn_config *c)
{
    graph_node *output[2 * PREDRNN_LAYERS + 2];
    int n = 0;
    output[n++] = s->prediction;
    for (int64_t l = 0; l < c->layers; l++) {
        output[n++] = s->after[l].h;
        output[n++] = s->after[l].c;
    }
    output[n++] = s->after[c->layers - 1].m;
    return program_build(out, s->net.g, output, n, PROGRAM_FAST);
}

static plumb_status prepare(watcher *x, params *p, const float *value)
{
    plumb_status st = predrnn_step_build(&x->first, p, x->c, RUN, true);
    if (!st) st = predrnn_step_build(&x->next, p, x->c, RUN, false);
    if (!st) st = build(&x->first_program, &x->first, x->c);
    if (!st) st = build(&x->next_program, &x->next, x->c);
    x->worker = calloc((size_t)x->workers, sizeof *x->worker);
    if (!st && !x->worker) st = fail(PLUMB_EMEMORY, "no memory for %d workers", x->workers);
    for (int i = 0; !st && i < x->workers; i++) {
        worker *w = &x->worker[i];
        st = model_build_instance(&w->first, x->first_program, &x->first.net, value);
        if (!st) st = model_build_instance(&w->next, x->next_program, &x->next.net, value);
        if (!st) st = instance_freeze_parameters(w->next, i ? x->worker[0].next : NULL);
        int64_t frame = x->c->height * x->c->width * x->c->channels;
        w->frames = malloc((size_t)((GROUP + 1) * frame) * sizeof(float));
        for (int k = 0; k < 2; k++)
            w->state[k] = malloc((size_t)(GROUP * x->states) * sizeof(float));
        if (!st && (!w->frames || !w->state[0] || !w->state[1]))
            st = fail(PLUMB_EMEMORY, "no memory for the states of %d clips", GROUP);
    }
    return st;
}

static void finish(watcher *x)
{
    for (int i = 0; x->worker && i < x->workers; i++) {
        instance_free(x->worker[i].first);
        instance_free(x->worker[i].next);
        free(x->worker[i].state[0]);
        free(x->worker[i].state[1]);
        free(x->worker[i].frames);
    }
    free(x->worker);
    program_free(x->first_program);
    program_free(x->next_program);
    graph_free(x->first.net.g);
    graph_free(x->next.net.g);
}

// The place of map k of a state among the inputs of the next step.
static const graph_node *input_of(const watcher *x, int64_t k)
{
    if (k == 2 * x->c->layers) return x->next.m;
    return k % 2 ? x->next.c[k / 2] : x->next.h[k / 2];
}

// One frame further for `count` clips `who`: from state `from[i]` to place who[i] of `after`.
static void advance(const watcher *x, const worker *w, const int64_t *who, const int64_t *from,
                    int64_t count, int64_t t, const uint8_t *clips, const float *before,
                    float *after, float *prediction)
{
    int64_t frame = x->c->height * x->c->width * x->c->channels, maps = 2 * x->c->layers + 1;
    program_instance *i = t ? w->next : w->first;
    float *in = instance_input(i, t ? x->next.frame : x->first.frame);
    for (int64_t b = 0; b < RUN; b++) {
        int64_t k = b < count ? b : 0; // places left over repeat the first
        predrnn_patch(in + b * frame, clips + (who[k] * x->job->steps + t) * frame, x->c);
        for (int64_t m = 0; t && m < maps; m++)
            memcpy(instance_input(i, input_of(x, m)) + b * x->map,
                   before + from[k] * x->states + m * x->map, (size_t)x->map * sizeof *before);
    }
    instance_run(i, 0);
    for (int64_t b = 0; b < count; b++) {
        memcpy(prediction + who[b] * frame, instance_output(i, 0) + b * frame,
               (size_t)frame * sizeof *prediction);
        for (int64_t m = 0; m < maps; m++)
            memcpy(after + who[b] * x->states + m * x->map,
                   instance_output(i, 1 + (int)m) + b * x->map, (size_t)x->map * sizeof *after);
    }
}

// Errors of frame t + 1, and what it was expected to be.
static void settle(const watcher *x, int64_t first, int64_t clip, int64_t t, const float *expected,
                   float *patched)
{
    const model_predict_job *job = x->job;
    int64_t frame = x->c->height * x->c->width * x->c->channels, item = first + clip;
    predrnn_patch(patched, job->frames + (item * job->steps + t + 1) * frame, x->c);
    double sum = 0.0;
    for (int64_t i = 0; i < frame; i++) {
        double d = (double)expected[i] - (double)patched[i];
        sum += d * d;
    }
    job->error[item * (job->steps - 1) + t] = sum / (double)frame;
    if (job->prediction)
        predrnn_unpatch(job->prediction + (item * (job->steps - 1) + t) * frame, expected, x->c);
}

static void pool_channels(float *out, const float *h, int64_t places, int64_t channels)
{
    memcpy(out, h, (size_t)channels * sizeof *out);
    for (int64_t i = 1; i < places; i++)
        for (int64_t k = 0; k < channels; k++)
            out[k] = h[i * channels + k] > out[k] ? h[i * channels + k] : out[k];
}

// A group of clips, frame by frame. same[i] is the first clip that has seen the same frames as i.
static plumb_status watch_group(void *context, int64_t group, int which)
{
    const watcher *x = context;
    const model_predict_job *job = x->job;
    const worker *w = &x->worker[which];
    int64_t frame = x->c->height * x->c->width * x->c->channels, first = group * GROUP;
    int64_t clips = job->count - first < GROUP ? job->count - first : GROUP;
    int64_t same[GROUP] = {0}, before[GROUP];
    const uint8_t *film = job->frames + first * job->steps * frame;
    for (int64_t t = 0; t + 1 < job->steps; t++) {
        int64_t who[GROUP], from[GROUP], count = 0;
        memcpy(before, same, sizeof same);
        for (int64_t i = 0; i < clips; i++) {
            same[i] = i;
            for (int64_t k = 0; k < i && same[i] == i; k++)
                if (before[k] == before[i] && same[k] == k &&
                    !memcmp(film + (i * job->steps + t) * frame,
                            film + (k * job->steps + t) * frame, (size_t)frame))
                    same[i] = k;
            if (same[i] == i) who[count] = i, from[count++] = before[i];
        }
        for (int64_t k = 0; k < count; k += RUN)
            advance(x, w, who + k, from + k, count - k < RUN ? count - k : RUN, t, film,
                    w->state[t % 2], w->state[(t + 1) % 2], w->frames);
        for (int64_t i = 0; i < clips; i++)
            settle(x, first, i, t, w->frames + same[i] * frame, w->frames + GROUP * frame);
    }
    const float *last = w->state[(job->steps - 1) % 2];
    for (int64_t i = 0; job->feature && i < clips; i++)
        pool_channels(job->feature + (first + i) * x->c->hidden,
                      last + same[i] * x->states + 2 * (x->c->layers - 1) * x->map,
                      x->map / x->c->hidden, x->c->hidden);
    return PLUMB_OK;
}

plumb_status predrnn_predict_clips(const predrnn_config *c, params *p, const float *value,
                                   const model_predict_job *job)
{
    if (job->steps < 2)
        return fail(PLUMB_ESHAPE, "clips of %lld frames; there is nothing to expect",
                    (long long)job->steps);
    tensor_shape map = predrnn_map(c, 1);
    watcher x = {.c = c, .job = job, .map = shape_count(&map), .workers = job->threads};
    x.states = (2 * c->layers + 1) * x.map;
    plumb_status st = prepare(&x, p, value);
    if (!st) st = parallel_for((job->count + GROUP - 1) / GROUP, job->threads, watch_group, &x);
    finish(&x);
    return st;
}
