// SPDX-License-Identifier: MIT
// A ring of batches. Worker threads take the next item as long as its batch has a buffer in the
// ring. The consumer uses one buffer and releases it when it asks for the next batch. An item does
// not depend on the thread that makes it.
#define _GNU_SOURCE
#include "plumb/loader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/argument.h"
#include "base/array.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "dataset/options.h"
#include "math/rng.h"

typedef struct batch_buffer {
    uint8_t *frames;
    double *state, *canonical, *time;
    int64_t items_done; // finished items of the batch in this buffer
} batch_buffer;

struct plumb_loader {
    arena mem;
    const plumb_world *world;
    plumb_loader_options options;
    plumb_world_options world_options;              // options.world, resolved
    int64_t frame_size, state_size, canonical_size; // elements per trajectory
    batch_buffer *ring;
    int64_t ring_size;

    pthread_mutex_t lock; // protects everything below
    pthread_cond_t space_free, batch_ready;
    int64_t next;          // next item that no thread has taken, counted over all batches
    int64_t batches_taken; // batches the consumer has received; the last of them is in use
    bool ended;
    task_error error; // of the first item that failed

    pthread_t thread_handles[PARALLEL_MAX_THREADS];
    int threads;
};

// ---- worker threads ----

// Streams of worlds start at 1 << 56, so this stream belongs to no world, and the choice of a
// window does not change a trajectory.
static const uint64_t window_stream = (uint64_t)0x77 << 48;

// The start of the window is a function of seed and item only.
static int64_t get_window_start(const plumb_loader *loader, int64_t item)
{
    rng random = rng_at(loader->options.seed, window_stream | (uint64_t)item);
    return rng_below(&random, loader->options.steps - loader->options.window + 1);
}

// Simulates an item into its place in the buffer of its batch.
static plumb_status make_item(const plumb_loader *loader, batch_buffer *buffer, int64_t number)
{
    const int64_t item = loader->options.first + number, at = number % loader->options.batch;
    const plumb_world_item out = {
        .frames = buffer->frames + at * loader->frame_size,
        .state = buffer->state ? buffer->state + at * loader->state_size : NULL,
        .canonical = buffer->canonical ? buffer->canonical + at * loader->canonical_size : NULL,
        .time = buffer->time ? buffer->time + at * loader->options.window : NULL,
    };
    plumb_world_options world_options = loader->world_options;
    world_options.first = get_window_start(loader, item);
    const plumb_status st = status_check_stop();
    return st ? st
              : plumb_world_simulate(&out, loader->world, loader->options.seed, item,
                                     loader->options.window, &world_options);
}

// May a thread take the next item? Its batch must be less than ring_size batches after the one in
// use.
static bool has_free_buffer(const plumb_loader *loader)
{
    // The buffer of the batch in use is not free yet.
    const int64_t oldest = loader->batches_taken ? loader->batches_taken - 1 : 0;
    return loader->next / loader->options.batch < oldest + loader->ring_size;
}

// A worker thread: takes the next item, makes it, and signals when its batch is complete.
static void *run_worker(void *argument)
{
    plumb_loader *loader = argument;
    pthread_mutex_lock(&loader->lock);
    for (;;) {
        while (!loader->ended && !has_free_buffer(loader))
            pthread_cond_wait(&loader->space_free, &loader->lock);
        if (loader->ended) break;
        // The lock is held only to take an item and to report it, not while it is simulated.
        const int64_t number = loader->next++;
        batch_buffer *buffer = &loader->ring[number / loader->options.batch % loader->ring_size];
        pthread_mutex_unlock(&loader->lock);
        const plumb_status st = make_item(loader, buffer, number);
        pthread_mutex_lock(&loader->lock);
        if (st && !loader->error.status) task_error_store(&loader->error, st);
        if (loader->error.status) {
            loader->ended = true;
            pthread_cond_broadcast(&loader->space_free);
        }
        if (++buffer->items_done == loader->options.batch || loader->error.status)
            pthread_cond_signal(&loader->batch_ready);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

// ---- opening and closing ----

static plumb_status check_options(const plumb_loader *loader, const plumb_world_info *info)
{
    const plumb_loader_options *options = &loader->options;
    const plumb_status st = options_check_ranges(&loader_option_table, options);
    if (st) return st;
    if (options->steps < options->window)
        return fail(PLUMB_EVALUE, "steps is %lld; it must be at least the window, %lld",
                    (long long)options->steps, (long long)options->window);
    if (info->clips != 1)
        return fail(PLUMB_EVALUE, "%s: an item has %lld clips; a loader takes worlds with one",
                    info->name, (long long)info->clips);
    // The size of all buffers together must not overflow; the last factor bounds frames and states.
    const int64_t shape[] = {options->ahead + 1,
                             options->batch,
                             options->window,
                             loader->world_options.image,
                             loader->world_options.image,
                             info->channels + 16 * info->n};
    int64_t count;
    if (loader->world_options.image < 1 || !array_count_checked(&count, shape, 6, 8))
        return fail(PLUMB_EVALUE, "so large a batch does not fit into any memory");
    // Start the first item, so that options the world rejects fail here and not in the first batch.
    plumb_world_options world_options = loader->world_options;
    if (!world_options.reject_steps) world_options.reject_steps = 1;
    return plumb_world_simulate(&(plumb_world_item){0}, loader->world, options->seed,
                                options->first, info->steps ? options->steps : 1, &world_options);
}

// Allocates the buffers of all batches in the ring.
static plumb_status alloc_ring(plumb_loader *loader, const plumb_world_info *info)
{
    const plumb_loader_options *options = &loader->options;
    loader->frame_size = options->window * loader->world_options.image *
                         loader->world_options.image * info->channels;
    loader->state_size = options->window * 2 * info->n;
    loader->canonical_size = options->window * 2 * info->canonical_n;
    loader->ring_size = options->ahead + 1;
    loader->ring = ARENA_ALLOC(&loader->mem, batch_buffer, loader->ring_size);
    bool complete = loader->ring;
    for (int64_t i = 0; i < loader->ring_size && complete; i++) {
        batch_buffer *buffer = &loader->ring[i];
        buffer->frames = ARENA_ALLOC(&loader->mem, uint8_t, options->batch * loader->frame_size);
        complete = buffer->frames;
        if (!options->states || !complete) continue;
        buffer->state = ARENA_ALLOC(&loader->mem, double, options->batch * loader->state_size);
        buffer->canonical =
            ARENA_ALLOC(&loader->mem, double, options->batch * loader->canonical_size);
        buffer->time = ARENA_ALLOC(&loader->mem, double, options->batch * options->window);
        complete = buffer->state && buffer->canonical && buffer->time;
    }
    return complete ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status start_workers(plumb_loader *loader)
{
    int threads = loader->options.threads > 0 ? loader->options.threads : parallel_threads();
    if (threads > PARALLEL_MAX_THREADS) threads = PARALLEL_MAX_THREADS;
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&loader->thread_handles[i], NULL, run_worker, loader))
            break; // go on with fewer threads
        loader->threads++;
    }
    return loader->threads ? PLUMB_OK : fail(PLUMB_EMEMORY, "no thread for a stream can be had");
}

plumb_status plumb_loader_open(plumb_loader **out, const plumb_world *world,
                               const plumb_loader_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(world);
    plumb_loader *loader = calloc(1, sizeof *loader);
    if (!loader) return fail(PLUMB_EMEMORY, "no memory for a stream");
    const plumb_world_info *info = plumb_world_get_info(world);
    loader->world = world;
    loader->options = plumb_loader_defaults();
    loader->world_options = plumb_world_defaults();
    plumb_status st =
        options_resolve(&loader->options, sizeof loader->options, options, "plumb_loader_options");
    if (!st)
        st = options_resolve(&loader->world_options, sizeof loader->world_options,
                             loader->options.world, "plumb_world_options");
    if (!loader->options.steps) loader->options.steps = loader->options.window;
    if (!loader->world_options.image) loader->world_options.image = info->height;
    // The rule that rejects a trajectory covers its whole length, wherever its window is.
    if (!loader->world_options.reject_steps)
        loader->world_options.reject_steps = loader->options.steps;
    // Lock and conditions exist before anything can fail: close() destroys them.
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->space_free, NULL);
    pthread_cond_init(&loader->batch_ready, NULL);
    if (!st) st = check_options(loader, info);
    if (!st) st = alloc_ring(loader, info);
    if (!st) st = start_workers(loader);
    if (st) plumb_loader_close(loader);
    else *out = loader;
    return st;
}

plumb_status plumb_loader_next(plumb_loader_batch *out, plumb_loader *loader)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(loader);
    pthread_mutex_lock(&loader->lock);
    if (loader->batches_taken)
        loader->ring[(loader->batches_taken - 1) % loader->ring_size].items_done =
            0; // release the previous batch
    const int64_t index = loader->batches_taken++;
    pthread_cond_broadcast(&loader->space_free);
    // Batches come in order: wait for this one, even if a later one is complete.
    batch_buffer *buffer = &loader->ring[index % loader->ring_size];
    while (buffer->items_done < loader->options.batch && !loader->error.status)
        pthread_cond_wait(&loader->batch_ready, &loader->lock);
    const plumb_status st = loader->error.status;
    pthread_mutex_unlock(&loader->lock);
    if (st) return task_error_raise(&loader->error); // written once, before it is read
    *out = (plumb_loader_batch){.index = index,
                                .frames = buffer->frames,
                                .state = buffer->state,
                                .canonical = buffer->canonical,
                                .time = buffer->time};
    return PLUMB_OK;
}

// Threads finish their current item, then end.
void plumb_loader_close(plumb_loader *loader)
{
    if (!loader) return;
    pthread_mutex_lock(&loader->lock);
    loader->ended = true;
    pthread_cond_broadcast(&loader->space_free);
    pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->threads; i++) pthread_join(loader->thread_handles[i], NULL);
    pthread_mutex_destroy(&loader->lock);
    pthread_cond_destroy(&loader->space_free);
    pthread_cond_destroy(&loader->batch_ready);
    arena mem = loader->mem;
    arena_clear(&mem);
    free(loader);
}
