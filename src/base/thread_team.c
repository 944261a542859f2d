// SPDX-License-Identifier: MIT
// Thread team that stays alive between short parallel regions.
// A region is one call of thread_team_run(): all threads run the same task, each its share.
#define _GNU_SOURCE
#include "base/thread_team.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/parallel_for.h"

typedef struct team_worker {
    thread_team *team;
    int worker;
    task_error error; // of the last region
} team_worker;

struct thread_team {
    pthread_mutex_t lock; // of the threads that sleep
    pthread_cond_t region_started, region_done;
    _Atomic uint64_t region; // number of regions so far; a worker waits for the next
    _Atomic int running;     // threads that have not finished this region
    _Atomic bool ended;
    thread_team_task *task; // set before `region` is incremented
    void *context;
    const volatile int *stop_flag; // of the caller's thread

    int threads; // without the caller
    team_worker workers[PARALLEL_MAX_THREADS];
    pthread_t handle[PARALLEL_MAX_THREADS];
};

// Regions follow each other closely. A thread that sleeps in between wakes up late, and at first on
// the core of the thread that woke it. So it spins for about a tenth of a millisecond before it
// sleeps.
enum { SPIN_COUNT = 3000 };

// Tells the processor that this is a loop that waits; it saves power.
static void spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// True until the next region starts, or the team ends.
static bool must_wait(const thread_team *team, uint64_t last_region)
{
    return !atomic_load(&team->ended) && atomic_load(&team->region) == last_region;
}

// Runs the task of one worker and keeps its error.
static void run_share(team_worker *self)
{
    thread_team *team = self->team;
    if (self->worker) plumb_set_stop_flag(team->stop_flag);
    const plumb_status st = team->task(team->context, self->worker, team->threads + 1);
    self->error.status = PLUMB_OK;
    if (st) task_error_store(&self->error, st);
}

// A thread of the team: waits for a region, runs its share, reports when it is the last.
static void *run_worker(void *argument)
{
    team_worker *self = argument;
    thread_team *team = self->team;
    for (uint64_t last_region = 0;;) {
        // Spin first, then sleep.
        for (int i = 0; i < SPIN_COUNT && must_wait(team, last_region); i++) spin_pause();
        if (must_wait(team, last_region)) {
            pthread_mutex_lock(&team->lock);
            while (must_wait(team, last_region))
                pthread_cond_wait(&team->region_started, &team->lock);
            pthread_mutex_unlock(&team->lock);
        }
        if (atomic_load(&team->ended)) return NULL;
        last_region = atomic_load(&team->region);
        run_share(self);
        // The last thread wakes the caller.
        if (atomic_fetch_sub(&team->running, 1) == 1) {
            pthread_mutex_lock(&team->lock);
            pthread_cond_signal(&team->region_done);
            pthread_mutex_unlock(&team->lock);
        }
    }
}

plumb_status thread_team_create(thread_team **out, int threads)
{
    thread_team *team = calloc(1, sizeof *team);
    if (!team) return fail(PLUMB_EMEMORY, "out of memory for threads");
    if (threads > PARALLEL_MAX_THREADS) threads = PARALLEL_MAX_THREADS;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->region_started, NULL);
    pthread_cond_init(&team->region_done, NULL);
    team->workers[0] = (team_worker){.team = team};
    // Signals go to the threads of the host program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 1; i < threads; i++) {
        team->workers[i] = (team_worker){.team = team, .worker = i};
        if (pthread_create(&team->handle[team->threads], NULL, run_worker, &team->workers[i]))
            break;
        team->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *out = team;
    return PLUMB_OK;
}

void thread_team_free(thread_team *team)
{
    if (!team) return;
    pthread_mutex_lock(&team->lock);
    atomic_store(&team->ended, true);
    pthread_cond_broadcast(&team->region_started);
    pthread_mutex_unlock(&team->lock);
    for (int i = 0; i < team->threads; i++) pthread_join(team->handle[i], NULL);
    pthread_cond_destroy(&team->region_started);
    pthread_cond_destroy(&team->region_done);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

int thread_team_size(const thread_team *team)
{
    return team->threads + 1;
}

// Waits until all threads have finished the region.
static void wait_until_done(thread_team *team)
{
    for (int i = 0; i < SPIN_COUNT && atomic_load(&team->running); i++) spin_pause();
    if (!atomic_load(&team->running)) return;
    pthread_mutex_lock(&team->lock);
    while (atomic_load(&team->running)) pthread_cond_wait(&team->region_done, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

plumb_status thread_team_run(thread_team *team, thread_team_task *task, void *context)
{
    team->task = task;
    team->context = context;
    team->stop_flag = status_stop_flag();
    // Start a region: the counter changes under the lock, so that no sleeping thread misses it.
    if (team->threads) {
        atomic_store(&team->running, team->threads);
        pthread_mutex_lock(&team->lock);
        atomic_fetch_add(&team->region, 1);
        pthread_cond_broadcast(&team->region_started);
        pthread_mutex_unlock(&team->lock);
    }
    run_share(&team->workers[0]);
    if (team->threads) wait_until_done(team);
    // The error of the lowest worker.
    for (int i = 0; i <= team->threads; i++)
        if (team->workers[i].error.status) return task_error_raise(&team->workers[i].error);
    return PLUMB_OK;
}

// Splits `count` items evenly; the first workers get one more.
int64_t thread_team_split(int64_t *size, int64_t count, int worker, int workers)
{
    const int64_t each = count / workers, rest = count % workers;
    *size = each + (worker < rest);
    return each * worker + (worker < rest ? worker : rest);
}
