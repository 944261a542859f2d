// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "base/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/pool.h"

typedef struct seat {
    crew *crew;
    int worker;
} seat;

struct crew {
    pthread_mutex_t lock; // for all below
    pthread_cond_t go, done;
    uint64_t round; // counts the rounds; a worker waits for the next
    int busy;       // threads still at work in this round
    bool ended;
    crew_work *work;
    void *context;

    int threads; // besides the caller
    seat seats[POOL_MAX_THREADS];
    pthread_t handle[POOL_MAX_THREADS];
};

static void *serve(void *argument)
{
    const seat *s = argument;
    crew *c = s->crew;
    pthread_mutex_lock(&c->lock);
    for (uint64_t seen = 0;;) {
        while (!c->ended && c->round == seen) pthread_cond_wait(&c->go, &c->lock);
        if (c->ended) break;
        seen = c->round;
        pthread_mutex_unlock(&c->lock);
        c->work(c->context, s->worker, c->threads + 1);
        pthread_mutex_lock(&c->lock);
        if (--c->busy == 0) pthread_cond_signal(&c->done);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

plumb_status crew_create(crew **out, int threads)
{
    crew *c = calloc(1, sizeof *c);
    if (!c) return fail(PLUMB_EMEMORY, "no memory for threads");
    if (threads > POOL_MAX_THREADS) threads = POOL_MAX_THREADS;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->go, NULL);
    pthread_cond_init(&c->done, NULL);
    // Signals are for the threads of the host program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 1; i < threads; i++) {
        c->seats[i] = (seat){c, i};
        if (pthread_create(&c->handle[c->threads], NULL, serve, &c->seats[i])) break;
        c->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *out = c;
    return PLUMB_OK;
}

void crew_free(crew *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->ended = true;
    pthread_cond_broadcast(&c->go);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->threads; i++) pthread_join(c->handle[i], NULL);
    pthread_cond_destroy(&c->go);
    pthread_cond_destroy(&c->done);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

int crew_size(const crew *c)
{
    return c->threads + 1;
}

void crew_run(crew *c, crew_work *work, void *context)
{
    if (!c->threads) {
        work(context, 0, 1);
        return;
    }
    pthread_mutex_lock(&c->lock);
    c->work = work;
    c->context = context;
    c->busy = c->threads;
    c->round++;
    pthread_cond_broadcast(&c->go);
    pthread_mutex_unlock(&c->lock);
    work(context, 0, c->threads + 1);
    pthread_mutex_lock(&c->lock);
    while (c->busy) pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

int64_t crew_share(int64_t *size, int64_t count, int worker, int workers)
{
    const int64_t each = count / workers, rest = count % workers;
    *size = each + (worker < rest);
    return each * worker + (worker < rest ? worker : rest);
}
