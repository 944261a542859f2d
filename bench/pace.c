// SPDX-License-Identifier: MIT
// How fast worlds are made, in memory. bench/simulate compiles and runs it.
//
//     pace make WORLD STEPS SECONDS              seconds a trajectory with its frames, one thread
//     pace stream WORLD THREADS BATCHES          milliseconds a batch of 32 windows of 64 frames
#define _POSIX_C_SOURCE 200809L
#include <plumb/plumb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *take(size_t bytes)
{
    void *p = calloc(bytes, 1);
    if (!p) abort();
    return p;
}

// Rounds of several items, until the time is over; the fastest and the median round.
static int make(const plumb_world *world, int64_t steps, double seconds)
{
    enum { ROUND = 8, ROUNDS = 100000 };
    const plumb_world_info *f = plumb_world_get_info(world);
    const plumb_world_item out = {
        .time = take((size_t)steps * 8),
        .state = take((size_t)(steps * 2 * f->n) * 8),
        .derivative = take((size_t)(steps * 2 * f->n) * 8),
        .parameters = take((size_t)(plumb_world_get_info(world)->parameter_total + 1) * 8),
        .frames = take((size_t)(steps * f->height * f->width * f->channels)),
    };
    double *took = take(ROUNDS * sizeof *took);
    const double end = now(CLOCK_MONOTONIC) + seconds;
    int rounds = 0;
    int64_t item = 0;
    while (rounds < ROUNDS && (rounds < 3 || now(CLOCK_MONOTONIC) < end)) {
        const double start = now(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < ROUND; i++)
            if (plumb_world_simulate(&out, world, 1, item++, steps, NULL)) {
                fprintf(stderr, "%s\n", plumb_last_error());
                return 1;
            }
        took[rounds++] = (now(CLOCK_PROCESS_CPUTIME_ID) - start) / ROUND;
    }
    qsort(took, (size_t)rounds, sizeof *took, by_size);
    printf("{\"seconds\": %.9g, \"median\": %.9g, \"trajectories\": %lld}\n", took[0],
           took[rounds / 2], (long long)item);
    return 0;
}

static int stream(const plumb_world *world, int threads, int batches)
{
    plumb_loader_options opt = plumb_loader_defaults();
    plumb_loader_batch batch;
    plumb_loader *s;
    opt.threads = threads;
    double *took = take((size_t)batches * sizeof *took);
    if (plumb_loader_open(&s, world, &opt)) {
        fprintf(stderr, "%s\n", plumb_last_error());
        return 1;
    }
    // The first are made ahead while nobody waits; from then on a batch takes as long as it takes.
    for (int64_t i = 0; i < opt.ahead + 2; i++) plumb_loader_next(&batch, s);
    const double start = now(CLOCK_MONOTONIC);
    for (int i = 0; i < batches; i++) {
        const double before = now(CLOCK_MONOTONIC);
        if (plumb_loader_next(&batch, s)) return 1;
        took[i] = now(CLOCK_MONOTONIC) - before;
    }
    const double all = now(CLOCK_MONOTONIC) - start;
    plumb_loader_close(s);
    qsort(took, (size_t)batches, sizeof *took, by_size);
    printf("{\"ms\": %.6g, \"worst_ms\": %.6g}\n", 1e3 * all / batches, 1e3 * took[batches - 1]);
    return 0;
}

int main(int argc, char **argv)
{
    const plumb_world *world;
    if (argc != 5) return fprintf(stderr, "usage: pace make|stream WORLD N M\n"), 2;
    if (plumb_world_find(&world, argv[2])) return fprintf(stderr, "%s\n", plumb_last_error()), 2;
    if (!strcmp(argv[1], "make")) return make(world, atoll(argv[3]), atof(argv[4]));
    return stream(world, atoi(argv[3]), atoi(argv[4]));
}
