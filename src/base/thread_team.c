// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "base/thread_team.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/parallel_for.h"

typedef struct team_worker {
    thread_team *crew;
    int worker;
} team_worker;

struct thread_team {
    pthread_mutex_t lock; // of those who sleep
    pthread_cond_t go, done;
    _Atomic uint64_t round; // counts the rounds; a worker waits for the next
    _Atomic int busy;       // threads still at work in this round
    _Atomic bool ended;
    thread_team_work *work; // set before the round is counted
    void *context;

    int threads; // besides the caller
    team_worker seats[PARALLEL_MAX_THREADS];
    pthread_t handle[PARALLEL_MAX_THREADS];
};

// Rounds follow each other closely. Who sleeps in between is woken late, and at first on the
// processor of who woke it; so a tenth of a millisecond or so is waited awake.
enum { AWAKE = 3000 };

static void breathe(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static bool waits(const thread_team *c, uint64_t seen)
{
    return !atomic_load(&c->ended) && atomic_load(&c->round) == seen;
}

static void *serve(void *argument)
{
    const team_worker *s = argument;
    thread_team *c = s->crew;
    for (uint64_t seen = 0;;) {
        for (int i = 0; i < AWAKE && waits(c, seen); i++) breathe();
        if (waits(c, seen)) {
            pthread_mutex_lock(&c->lock);
            while (waits(c, seen)) pthread_cond_wait(&c->go, &c->lock);
            pthread_mutex_unlock(&c->lock);
        }
        if (atomic_load(&c->ended)) return NULL;
        seen = atomic_load(&c->round);
        c->work(c->context, s->worker, c->threads + 1);
        if (atomic_fetch_sub(&c->busy, 1) == 1) {
            pthread_mutex_lock(&c->lock);
            pthread_cond_signal(&c->done);
            pthread_mutex_unlock(&c->lock);
        }
    }
}

plumb_status thread_team_create(thread_team **out, int threads)
{
    thread_team *c = calloc(1, sizeof *c);
    if (!c) return fail(PLUMB_EMEMORY, "no memory for threads");
    if (threads > PARALLEL_MAX_THREADS) threads = PARALLEL_MAX_THREADS;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->go, NULL);
    pthread_cond_init(&c->done, NULL);
    // Signals are for the threads of the host program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 1; i < threads; i++) {
        c->seats[i] = (team_worker){c, i};
        if (pthread_create(&c->handle[c->threads], NULL, serve, &c->seats[i])) break;
        c->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *out = c;
    return PLUMB_OK;
}

void thread_team_free(thread_team *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->ended, true);
    pthread_cond_broadcast(&c->go);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->threads; i++) pthread_join(c->handle[i], NULL);
    pthread_cond_destroy(&c->go);
    pthread_cond_destroy(&c->done);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

int thread_team_size(const thread_team *c)
{
    return c->threads + 1;
}

void thread_team_run(thread_team *c, thread_team_work *work, void *context)
{
    if (!c->threads) {
        work(context, 0, 1);
        return;
    }
    c->work = work;
    c->context = context;
    atomic_store(&c->busy, c->threads);
    pthread_mutex_lock(&c->lock);
    atomic_fetch_add(&c->round, 1);
    pthread_cond_broadcast(&c->go);
    pthread_mutex_unlock(&c->lock);
    work(context, 0, c->threads + 1);
    for (int i = 0; i < AWAKE && atomic_load(&c->busy); i++) breathe();
    if (!atomic_load(&c->busy)) return;
    pthread_mutex_lock(&c->lock);
    while (atomic_load(&c->busy)) pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

int64_t thread_team_split(int64_t *size, int64_t count, int worker, int workers)
{
    const int64_t each = count / workers, rest = count % workers;
    *size = each + (worker < rest);
    return each * worker + (worker < rest ? worker : rest);
}
