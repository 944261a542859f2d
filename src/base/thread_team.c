// SPDX-License-Identifier: MIT
// Thread team that stays alive between short parallel regions.
//
// A region is one call of thread_team_run(): the shares of one task. Whoever is free takes the next
// share, the caller too. So a thread that wakes late, because another program has its core, holds
// nobody up: what it would have done is done when it comes.
#define _GNU_SOURCE
#include "base/thread_team.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/parallel_for.h"

struct thread_team {
    pthread_mutex_t lock; // of the threads that sleep
    pthread_cond_t region_started, region_done;
    _Atomic uint64_t region; // see make_region()
    _Atomic int done;        // shares of this region that are done
    _Atomic bool ended;
    thread_team_task *task; // of this region: set before it begins, read by those who have a share
    void *context;
    int shares;
    const volatile int *stop_flag; // of the caller's thread

    int threads;                            // without the caller
    task_error error[PARALLEL_MAX_THREADS]; // of the last region, by share
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

// ---- shares ----

// The number of the region, of its shares and of those that are taken, in one word, so that a
// thread that was late cannot take a share of a region that it has not seen.
static uint64_t make_region(uint64_t number, int shares)
{
    return number << 32 | (uint64_t)shares << 16;
}

static bool has_free_share(uint64_t region)
{
    return (region & 0xffff) < (region >> 16 & 0xffff);
}

// Takes the next share; -1 if there is none.
static int take_share(thread_team *team)
{
    uint64_t region = atomic_load(&team->region);
    while (has_free_share(region))
        if (atomic_compare_exchange_weak(&team->region, &region, region + 1))
            return (int)(region & 0xffff);
    return -1;
}

// Runs shares until none is left. The last one that is done wakes the caller.
static void run_shares(thread_team *team, bool is_caller)
{
    for (int share; (share = take_share(team)) >= 0;) {
        const int shares = team->shares;
        if (!is_caller) plumb_set_stop_flag(team->stop_flag);
        const plumb_status st = team->task(team->context, share, shares);
        team->error[share].status = PLUMB_OK;
        if (st) task_error_store(&team->error[share], st);
        if (atomic_fetch_add(&team->done, 1) == shares - 1) {
            pthread_mutex_lock(&team->lock);
            pthread_cond_signal(&team->region_done);
            pthread_mutex_unlock(&team->lock);
        }
    }
}

// ---- threads ----

static bool must_wait(const thread_team *team)
{
    return !atomic_load(&team->ended) && !has_free_share(atomic_load(&team->region));
}

// A thread of the team: waits until there is a share to take.
static void *run_worker(void *argument)
{
    thread_team *team = argument;
    while (!atomic_load(&team->ended)) {
        // Spin first, then sleep.
        for (int i = 0; i < SPIN_COUNT && must_wait(team); i++) spin_pause();
        if (must_wait(team)) {
            pthread_mutex_lock(&team->lock);
            while (must_wait(team)) pthread_cond_wait(&team->region_started, &team->lock);
            pthread_mutex_unlock(&team->lock);
        }
        run_shares(team, false);
    }
    return NULL;
}

plumb_status thread_team_create(thread_team **out, int threads)
{
    thread_team *team = calloc(1, sizeof *team);
    if (!team) return fail(PLUMB_EMEMORY, "out of memory for threads");
    if (threads > PARALLEL_MAX_THREADS) threads = PARALLEL_MAX_THREADS;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->region_started, NULL);
    pthread_cond_init(&team->region_done, NULL);
    // Signals go to the threads of the host program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 1; i < threads; i++) {
        if (pthread_create(&team->handle[team->threads], NULL, run_worker, team)) break;
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

static bool is_done(const thread_team *team)
{
    return atomic_load(&team->done) == team->shares;
}

// Waits until all shares are done.
static void wait_until_done(thread_team *team)
{
    for (int i = 0; i < SPIN_COUNT && !is_done(team); i++) spin_pause();
    if (is_done(team)) return;
    pthread_mutex_lock(&team->lock);
    while (!is_done(team)) pthread_cond_wait(&team->region_done, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

plumb_status thread_team_run(thread_team *team, thread_team_task *task, void *context, int shares)
{
    if (shares > PARALLEL_MAX_THREADS) shares = PARALLEL_MAX_THREADS;
    team->task = task;
    team->context = context;
    team->shares = shares;
    team->stop_flag = status_stop_flag();
    atomic_store(&team->done, 0);
    // Start a region: it changes under the lock, so that no sleeping thread misses it.
    const uint64_t number = (atomic_load(&team->region) >> 32) + 1;
    if (team->threads) pthread_mutex_lock(&team->lock);
    atomic_store(&team->region, make_region(number, shares));
    if (team->threads) {
        pthread_cond_broadcast(&team->region_started);
        pthread_mutex_unlock(&team->lock);
    }
    run_shares(team, true);
    wait_until_done(team);
    // The error of the lowest share.
    for (int i = 0; i < shares; i++)
        if (team->error[i].status) return task_error_raise(&team->error[i]);
    return PLUMB_OK;
}

// Splits `count` items evenly; the first shares get one more.
int64_t thread_team_split(int64_t *size, int64_t count, int share, int shares)
{
    const int64_t each = count / shares, rest = count % shares;
    *size = each + (share < rest);
    return each * share + (share < rest ? share : rest);
}
