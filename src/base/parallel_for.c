// SPDX-License-Identifier: MIT
// Threads are made for the call and joined before it returns: work here is coarse, and a library
// that keeps no threads of its own survives fork() in its host program.
#define _GNU_SOURCE
#include "base/parallel_for.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct parallel_region {
    parallel_task *work;
    void *context;
    int64_t count;
    _Atomic int64_t next;
} parallel_region;

typedef struct parallel_worker {
    parallel_region *crew;
    int worker;
} parallel_worker;

static void *serve(void *argument)
{
    const parallel_worker *s = argument;
    for (;;) {
        const int64_t item = atomic_fetch_add(&s->crew->next, 1);
        if (item >= s->crew->count) return NULL;
        s->crew->work(s->crew->context, item, s->worker);
    }
}

void parallel_for(int64_t count, int threads, parallel_task *work, void *context)
{
    if (threads <= 0) threads = parallel_threads();
    if (threads > PARALLEL_MAX_THREADS) threads = PARALLEL_MAX_THREADS;
    if (threads > count) threads = (int)count;

    parallel_region c = {.work = work, .context = context, .count = count};
    parallel_worker seats[PARALLEL_MAX_THREADS];
    pthread_t handles[PARALLEL_MAX_THREADS];
    int started = 0;
    for (int i = 1; i < threads; i++) {
        seats[i] = (parallel_worker){&c, i};
        if (pthread_create(&handles[started], NULL, serve, &seats[i])) break;
        started++;
    }
    seats[0] = (parallel_worker){&c, 0};
    serve(&seats[0]);
    for (int i = 0; i < started; i++) pthread_join(handles[i], NULL);
}

int parallel_threads(void)
{
    const char *wish = getenv("PLUMB_THREADS");
    if (wish) {
        char *end;
        const long threads = strtol(wish, &end, 10);
        if (end != wish && !*end && threads >= 1)
            return threads > PARALLEL_MAX_THREADS ? PARALLEL_MAX_THREADS : (int)threads;
    }
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    const int cores = CPU_COUNT(&set);
    return cores < 1 ? 1 : cores > PARALLEL_MAX_THREADS ? PARALLEL_MAX_THREADS : cores;
}
