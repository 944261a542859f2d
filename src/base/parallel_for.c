// SPDX-License-Identifier: MIT
// Parallel loop over independent tasks.
//
// Threads are created for the call and joined before it returns. Tasks here are coarse, and a
// library that keeps no threads survives fork() in its host program.
#define _GNU_SOURCE
#include "base/parallel_for.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct parallel_region {
    parallel_task *task;
    void *context;
    int64_t count;
    const volatile int *stop_flag; // of the caller's thread
    bool report_progress;
    double progress_first, progress_share;
    _Atomic int64_t next; // the next index to run
    _Atomic int64_t done;
    _Atomic bool failed;
    pthread_mutex_t lock; // of the two members below
    int64_t error_index;  // the lowest failing index
    task_error error;
} parallel_region;

// The argument of a thread; worker 0 is the caller.
typedef struct parallel_worker {
    parallel_region *region;
    int worker;
} parallel_worker;

// Keeps the failure of the lowest index.
static void store_error(parallel_region *region, int64_t index, plumb_status status)
{
    pthread_mutex_lock(&region->lock);
    if (!region->error.status || index < region->error_index) {
        region->error_index = index;
        task_error_store(&region->error, status);
    }
    pthread_mutex_unlock(&region->lock);
    atomic_store(&region->failed, true);
}

// A worker: takes the next index until none is left or a task has failed.
static void *run_tasks(void *argument)
{
    const parallel_worker *self = argument;
    parallel_region *region = self->region;
    // The flag is thread-local: worker 0 has its own already.
    if (self->worker) plumb_set_stop_flag(region->stop_flag);
    while (!atomic_load(&region->failed)) {
        const int64_t index = atomic_fetch_add(&region->next, 1);
        if (index >= region->count) break;
        plumb_status st = status_check_stop();
        if (!st) st = region->task(region->context, index, self->worker);
        if (st) {
            store_error(region, index, st);
            break;
        }
        const int64_t done = atomic_fetch_add(&region->done, 1) + 1;
        // Worker 0 is the caller's own thread, the only one that may run the caller's callback.
        if (region->report_progress && self->worker == 0)
            status_progress(region->progress_first +
                            region->progress_share * (double)done / (double)region->count);
    }
    return NULL;
}

// Runs a region on `threads` threads; worker 0 is the calling thread.
static plumb_status run_region(parallel_region *region, int threads)
{
    if (threads <= 0) threads = parallel_threads();
    if (threads > PARALLEL_MAX_THREADS) threads = PARALLEL_MAX_THREADS;
    if (threads > region->count) threads = (int)region->count;

    parallel_worker workers[PARALLEL_MAX_THREADS];
    pthread_t handles[PARALLEL_MAX_THREADS];
    int started = 0;
    region->stop_flag = status_stop_flag();
    pthread_mutex_init(&region->lock, NULL);
    for (int i = 1; i < threads; i++) {
        workers[i] = (parallel_worker){region, i};
        // If a thread cannot be created, the others do its share.
        if (pthread_create(&handles[started], NULL, run_tasks, &workers[i])) break;
        started++;
    }
    workers[0] = (parallel_worker){region, 0};
    run_tasks(&workers[0]);
    for (int i = 0; i < started; i++) pthread_join(handles[i], NULL);
    pthread_mutex_destroy(&region->lock);
    return task_error_raise(&region->error);
}

plumb_status parallel_for(int64_t count, int threads, parallel_task *task, void *context)
{
    parallel_region region = {.task = task, .context = context, .count = count};
    return run_region(&region, threads);
}

plumb_status parallel_for_progress(int64_t count, int threads, parallel_task *task, void *context,
                                   double first, double share)
{
    parallel_region region = {.task = task,
                              .context = context,
                              .count = count,
                              .report_progress = true,
                              .progress_first = first,
                              .progress_share = share};
    return run_region(&region, threads);
}

// PLUMB_THREADS, or the number of cores that this process may use.
int parallel_threads(void)
{
    const char *text = getenv("PLUMB_THREADS");
    if (text) {
        char *end;
        const long threads = strtol(text, &end, 10);
        if (end != text && !*end && threads >= 1)
            return threads > PARALLEL_MAX_THREADS ? PARALLEL_MAX_THREADS : (int)threads;
    }
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    const int cores = CPU_COUNT(&set);
    return cores < 1 ? 1 : cores > PARALLEL_MAX_THREADS ? PARALLEL_MAX_THREADS : cores;
}
