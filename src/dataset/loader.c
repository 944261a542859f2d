// SPDX-License-Identifier: MIT
// A ring of batches. Threads take items one after the other, without end, as long as the batch an
// item belongs to has a place in the ring; the consumer holds one place and frees it when it comes
// for the next. Which thread makes an item decides nothing about it.
#define _GNU_SOURCE
#include "plumb/loader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "math/rng.h"

typedef struct place {
    uint8_t *frames;
    double *state, *canonical, *time;
    int64_t done; // items of the batch that is being made here
} place;

struct plumb_loader {
    arena mem;
    const plumb_world *world;
    plumb_loader_options opt;
    plumb_world_options world_opt;                  // opt.world, resolved
    int64_t frame_size, state_size, canonical_size; // of a trajectory
    place *ring;
    int64_t places;

    pthread_mutex_t lock; // for all below
    pthread_cond_t room, ready;
    int64_t next;  // item that nobody has taken, counted over all batches
    int64_t given; // batches the consumer has had; the last of them is in use
    bool ended;
    task_error error; // of the first item that failed

    pthread_t handle[PARALLEL_MAX_THREADS];
    int threads;
};

void plumb_loader_options_init(plumb_loader_options *options, size_t size)
{
    const plumb_loader_options defaults = {
        .size = sizeof(plumb_loader_options),
        .batch = 32,
        .window = 64,
        .ahead = 2,
        .seed = 1,
    };
    options_init(options, size, &defaults, sizeof defaults);
}

// ---- making ----

// Worlds count their streams of random numbers from 1 << 56 on, so this one is of no world, and a
// cut moves no particle.
static const uint64_t window_stream = (uint64_t)0x77 << 48;

static int64_t cut_of(const plumb_loader *s, int64_t item)
{
    rng r = rng_at(s->opt.seed, window_stream | (uint64_t)item);
    return rng_below(&r, s->opt.steps - s->opt.window + 1);
}

static plumb_status make(const plumb_loader *s, place *p, int64_t number)
{
    const int64_t item = s->opt.first + number, at = number % s->opt.batch;
    const plumb_world_item out = {
        .frames = p->frames + at * s->frame_size,
        .state = p->state ? p->state + at * s->state_size : NULL,
        .canonical = p->canonical ? p->canonical + at * s->canonical_size : NULL,
        .time = p->time ? p->time + at * s->opt.window : NULL,
    };
    plumb_world_options opt = s->world_opt;
    opt.first = cut_of(s, item);
    const plumb_status st = status_check_stop();
    return st ? st : plumb_world_simulate(&out, s->world, s->opt.seed, item, s->opt.window, &opt);
}

static bool has_room(const plumb_loader *s)
{
    // The place of the batch in use is not free yet.
    const int64_t oldest = s->given ? s->given - 1 : 0;
    return s->next / s->opt.batch < oldest + s->places;
}

static void *serve(void *argument)
{
    plumb_loader *s = argument;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->ended && !has_room(s)) pthread_cond_wait(&s->room, &s->lock);
        if (s->ended) break;
        const int64_t number = s->next++;
        place *p = &s->ring[number / s->opt.batch % s->places];
        pthread_mutex_unlock(&s->lock);
        const plumb_status st = make(s, p, number);
        pthread_mutex_lock(&s->lock);
        if (st && !s->error.status) task_error_store(&s->error, st);
        if (s->error.status) {
            s->ended = true;
            pthread_cond_broadcast(&s->room);
        }
        if (++p->done == s->opt.batch || s->error.status) pthread_cond_signal(&s->ready);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

// ---- opening and closing ----

static plumb_status check(const plumb_loader *s, const plumb_world_info *w)
{
    const plumb_loader_options *o = &s->opt;
    static const int64_t most = (int64_t)1 << 31;
    const struct {
        const char *name;
        int64_t value, least;
    } rows[] = {{"batch", o->batch, 1},
                {"window", o->window, 1},
                {"steps", o->steps, o->window},
                {"ahead", o->ahead, 1}};
    for (int i = 0; i < 4; i++)
        if (rows[i].value < rows[i].least || rows[i].value > most)
            return fail(PLUMB_EVALUE, "%s is %lld, wanted %lld to %lld", rows[i].name,
                        (long long)rows[i].value, (long long)rows[i].least, (long long)most);
    if (o->first < 0) return fail(PLUMB_EVALUE, "first is %lld", (long long)o->first);
    const int64_t shape[] = {o->ahead + 1,       o->batch,           o->window,
                             s->world_opt.image, s->world_opt.image, w->channels + 16 * w->n};
    int64_t count;
    if (s->world_opt.image < 1 || !array_count_checked(&count, shape, 6, 8))
        return fail(PLUMB_EVALUE, "so large a batch does not fit into any memory");
    // What the world itself refuses is better refused here than by the first batch.
    double time;
    plumb_world_options opt = s->world_opt;
    if (!opt.reject_steps) opt.reject_steps = 1;
    return plumb_world_simulate(&(plumb_world_item){.time = &time}, s->world, o->seed, o->first, 1,
                                &opt);
}

static plumb_status make_ring(plumb_loader *s, const plumb_world_info *w)
{
    const plumb_loader_options *o = &s->opt;
    s->frame_size = o->window * s->world_opt.image * s->world_opt.image * w->channels;
    s->state_size = o->window * 2 * w->n;
    s->canonical_size = o->window * 2 * w->canonical_n;
    s->places = o->ahead + 1;
    s->ring = ARENA_ALLOC(&s->mem, place, s->places);
    bool whole = s->ring;
    for (int64_t i = 0; i < s->places && whole; i++) {
        place *p = &s->ring[i];
        p->frames = ARENA_ALLOC(&s->mem, uint8_t, o->batch * s->frame_size);
        whole = p->frames;
        if (!o->states || !whole) continue;
        p->state = ARENA_ALLOC(&s->mem, double, o->batch * s->state_size);
        p->canonical = ARENA_ALLOC(&s->mem, double, o->batch * s->canonical_size);
        p->time = ARENA_ALLOC(&s->mem, double, o->batch * o->window);
        whole = p->state && p->canonical && p->time;
    }
    return whole ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status start(plumb_loader *s)
{
    int threads = s->opt.threads > 0 ? s->opt.threads : parallel_threads();
    if (threads > PARALLEL_MAX_THREADS) threads = PARALLEL_MAX_THREADS;
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&s->handle[i], NULL, serve, s)) break; // fewer do the work
        s->threads++;
    }
    return s->threads ? PLUMB_OK : fail(PLUMB_EMEMORY, "no thread for a stream can be had");
}

plumb_status plumb_loader_open(plumb_loader **out, const plumb_world *world,
                               const plumb_loader_options *opt)
{
    plumb_loader *s = calloc(1, sizeof *s);
    if (!s) return fail(PLUMB_EMEMORY, "no memory for a stream");
    const plumb_world_info *w = plumb_world_get_info(world);
    s->world = world;
    s->opt = plumb_loader_defaults();
    s->world_opt = plumb_world_defaults();
    plumb_status st = options_resolve(&s->opt, sizeof s->opt, opt, "plumb_loader_options");
    if (!st)
        st = options_resolve(&s->world_opt, sizeof s->world_opt, s->opt.world,
                             "plumb_world_options");
    if (!s->opt.steps) s->opt.steps = s->opt.window;
    if (!s->world_opt.image) s->world_opt.image = w->height;
    // A trajectory is judged by all of its length, wherever its window is.
    if (!s->world_opt.reject_steps) s->world_opt.reject_steps = s->opt.steps;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->room, NULL);
    pthread_cond_init(&s->ready, NULL);
    if (!st) st = check(s, w);
    if (!st) st = make_ring(s, w);
    if (!st) st = start(s);
    if (st) plumb_loader_close(s);
    else *out = s;
    return st;
}

plumb_status plumb_loader_next(plumb_loader_batch *out, plumb_loader *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->given) s->ring[(s->given - 1) % s->places].done = 0; // the one before is given back
    const int64_t index = s->given++;
    pthread_cond_broadcast(&s->room);
    place *p = &s->ring[index % s->places];
    while (p->done < s->opt.batch && !s->error.status) pthread_cond_wait(&s->ready, &s->lock);
    const plumb_status st = s->error.status;
    pthread_mutex_unlock(&s->lock);
    if (st) return task_error_raise(&s->error); // written once, before it is read
    *out = (plumb_loader_batch){.index = index,
                                .frames = p->frames,
                                .state = p->state,
                                .canonical = p->canonical,
                                .time = p->time};
    return PLUMB_OK;
}

void plumb_loader_close(plumb_loader *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_cond_broadcast(&s->room);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < s->threads; i++) pthread_join(s->handle[i], NULL);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->room);
    pthread_cond_destroy(&s->ready);
    arena mem = s->mem;
    arena_clear(&mem);
    free(s);
}
