// SPDX-License-Identifier: MIT
// One clip at a time, so that a frame is always at the same place of every program: clips that
// begin alike then have the same bits as long as they do.
#include "models/plato/predict.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "models/model_build.h"

plumb_status plato_encoder_create(plato_encoder *out, params *p, const plato_config *c,
                                  int64_t frames)
{
    plato_encoder e = {.net = {.params = p}, .frames = frames};
    plumb_status st = plato_check(c);
    if (!st) st = graph_create(&e.net.g);
    if (st) return st;
    e.seen =
        op_input(e.net.g, "seen", 0, 4, (int64_t[]){frames * c->slots, c->height, c->width, 4});
    e.mean = plato_encode(&e.net, c, e.seen).mean;
    st = graph_status(e.net.g);
    if (!st) st = program_build(&e.program, e.net.g, &e.mean, 1, PROGRAM_FAST);
    if (st) graph_free(e.net.g);
    else *out = e;
    return st;
}

void plato_encoder_clear(plato_encoder *e)
{
    program_free(e->program);
    if (e->net.g) graph_free(e->net.g);
    *e = (plato_encoder){0};
}

void plato_encoder_run(float *codes, program_instance *i, const plato_encoder *e,
                       const plato_config *c, const uint8_t *frames, const uint8_t *mask)
{
    int64_t pixels = c->height * c->width, K = c->slots, D = c->code;
    float *seen = instance_input(i, e->seen);
    for (int64_t t = 0; t < e->frames; t++)
        plato_pack_input(seen + t * K * pixels * 4, frames + t * pixels * 3, mask + t * pixels, c);
    instance_run(i, 0);
    const float *mean = instance_output(i, 0);
    for (int64_t t = 0; t < e->frames; t++)
        for (int64_t k = 0; k < K; k++)
            memcpy(codes + (k * e->frames + t) * D, mean + (t * K + k) * D,
                   (size_t)D * sizeof *codes);
}

// Codes of one frame, drawn.
typedef struct artist {
    network_builder net;
    graph_node *code, *places, *picture;
    graph_program *program;
} artist;

static plumb_status make_artist(artist *out, params *p, const plato_config *c)
{
    artist a = {.net = {.params = p}};
    plumb_status st = graph_create(&a.net.g);
    if (st) return st;
    graph *g = a.net.g;
    a.code = op_input(g, "code", 0, 2, (int64_t[]){c->slots, c->code});
    a.places = op_input(g, "places", 0, 3, (int64_t[]){c->height, c->width, 2});
    a.picture = plato_compose(&a.net, c, plato_decode(&a.net, c, a.code, a.places));
    st = graph_status(g);
    if (!st) st = program_build(&a.program, g, &a.picture, 1, PROGRAM_FAST);
    if (st) graph_free(g);
    else *out = a;
    return st;
}

typedef struct worker {
    program_instance *eye, *mind, *hand;
    float *codes, *picture;
} worker;

typedef struct watcher {
    plato_config c; // its length is that of the clips
    const model_predict_job *job;
    plato_encoder eye;
    plato_dynamics mind;
    graph_program *mind_program;
    artist hand;
    worker *worker;
    int workers;
} watcher;

static plumb_status make_mind(watcher *x, params *p)
{
    int64_t steps = x->c.length - 1;
    plumb_status st = plato_dynamics_build(&x->mind, p, &x->c, 1, 0);
    if (st) return st;
    graph_node **output = malloc((size_t)(steps + 1) * sizeof *output);
    if (!output) return fail(PLUMB_EMEMORY, "no memory for a program");
    memcpy(output, x->mind.prediction, (size_t)steps * sizeof *output);
    output[steps] = x->mind.hidden;
    st = program_build(&x->mind_program, x->mind.net.g, output, (int)steps + 1, PROGRAM_FAST);
    free(output);
    return st;
}

static plumb_status prepare(watcher *x, params *p, const float *value)
{
    const plato_config *c = &x->c;
    plumb_status st = plato_encoder_create(&x->eye, p, c, c->length);
    if (!st) st = make_mind(x, p);
    if (!st) st = make_artist(&x->hand, p, c);
    x->worker = calloc((size_t)x->workers, sizeof *x->worker);
    if (!st && !x->worker) st = fail(PLUMB_EMEMORY, "no memory for %d workers", x->workers);
    for (int i = 0; !st && i < x->workers; i++) {
        worker *w = &x->worker[i];
        w->codes = malloc((size_t)(c->slots * c->length * c->code) * sizeof *w->codes);
        w->picture = malloc((size_t)(c->height * c->width * 3) * sizeof *w->picture);
        if (!w->codes || !w->picture) return fail(PLUMB_EMEMORY, "no memory for a clip");
        st = model_build_instance(&w->eye, x->eye.program, &x->eye.net, value);
        if (!st) st = model_build_instance(&w->mind, x->mind_program, &x->mind.net, value);
        if (!st) st = model_build_instance(&w->hand, x->hand.program, &x->hand.net, value);
        if (!st) plato_coordinates(instance_input(w->hand, x->hand.places), c);
    }
    return st;
}

static void finish(watcher *x)
{
    for (int i = 0; x->worker && i < x->workers; i++) {
        instance_free(x->worker[i].eye);
        instance_free(x->worker[i].mind);
        instance_free(x->worker[i].hand);
        free(x->worker[i].codes);
        free(x->worker[i].picture);
    }
    free(x->worker);
    plato_encoder_clear(&x->eye);
    program_free(x->mind_program);
    program_free(x->hand.program);
    if (x->mind.net.g) graph_free(x->mind.net.g);
    if (x->hand.net.g) graph_free(x->hand.net.g);
}

static const float *draw(const watcher *x, const worker *w, const float *code, int64_t stride)
{
    int64_t D = x->c.code;
    float *to = instance_input(w->hand, x->hand.code);
    for (int64_t k = 0; k < x->c.slots; k++)
        memcpy(to + k * D, code + k * stride, (size_t)D * sizeof *to);
    instance_run(w->hand, 0);
    return instance_output(w->hand, 0);
}

static plumb_status watch_clip(void *context, int64_t item, int which)
{
    const watcher *x = context;
    const model_predict_job *job = x->job;
    const plato_config *c = &x->c;
    const worker *w = &x->worker[which];
    int64_t pixels = c->height * c->width, T = c->length, D = c->code, H = c->hidden;
    size_t size = (size_t)(3 * pixels) * sizeof(float);
    plato_encoder_run(w->codes, w->eye, &x->eye, c, job->frames + item * T * pixels * 3,
                      job->mask + item * T * pixels);
    memcpy(instance_input(w->mind, x->mind.codes), w->codes,
           (size_t)(c->slots * T * D) * sizeof(float));
    instance_run(w->mind, 0);
    for (int64_t t = 1; t < T; t++) {
        memcpy(w->picture, draw(x, w, instance_output(w->mind, (int)t - 1), D), size);
        if (job->prediction)
            memcpy(job->prediction + (item * (T - 1) + t - 1) * 3 * pixels, w->picture, size);
        const float *seen = draw(x, w, w->codes + t * D, T * D);
        double sum = 0.0;
        for (int64_t i = 0; i < 3 * pixels; i++) {
            double d = (double)w->picture[i] - (double)seen[i];
            sum += d * d;
        }
        job->error[item * (T - 1) + t - 1] = sum / (double)(3 * pixels);
    }
    const float *h = instance_output(w->mind, (int)T - 1);
    for (int64_t i = 0; job->feature && i < H; i++) {
        float most = h[i];
        for (int64_t k = 1; k < c->slots; k++) most = h[k * H + i] > most ? h[k * H + i] : most;
        job->feature[item * H + i] = most;
    }
    return PLUMB_OK;
}

plumb_status plato_predict_clips(const plato_config *c, params *p, const float *value,
                                 const model_predict_job *job)
{
    if (job->steps != c->length)
        return fail(PLUMB_ESHAPE,
                    "clips of %lld frames; PLATO was trained on %lld, and its buffer "
                    "has room for no others",
                    (long long)job->steps, (long long)c->length);
    watcher x = {.c = *c, .job = job, .workers = job->threads};
    plumb_status st = prepare(&x, p, value);
    if (!st) st = parallel_for(job->count, job->threads, watch_clip, &x);
    finish(&x);
    return st;
}
