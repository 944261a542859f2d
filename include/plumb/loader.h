// SPDX-License-Identifier: MIT
// Data loader: batches of simulated trajectories, made by threads ahead of their use, without
// files.
//
//     plumb_loader_options options = plumb_loader_defaults();
//     options.steps = 256;                   // windows of 64 out of trajectories of 256
//     plumb_loader *loader;
//     plumb_loader_batch batch;
//     if (plumb_loader_open(&loader, world, &options)) ...
//     while (... !plumb_loader_next(&batch, loader)) train(batch.frames);
//     plumb_loader_close(loader);
#ifndef PLUMB_LOADER_H
#define PLUMB_LOADER_H

#include "plumb/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Owns its threads and batches. Only one thread at a time may open, next and close a loader.
typedef struct plumb_loader plumb_loader;

/// The options. Take them from plumb_loader_defaults() and change what you need.
typedef struct plumb_loader_options {
    size_t size;    ///< sizeof(plumb_loader_options).
    int64_t batch;  ///< Trajectories per batch, at least 1. Default 32.
    int64_t window; ///< Frames per trajectory, at least 1. Default 64; rooms need 15.
    /// Length of the trajectories that windows are cut from, at least `window`. The start of a
    /// window is uniform over the steps - window + 1 possible ones, as in [Higgins21], and a
    /// function of seed and item only. Default 0: `window`.
    int64_t steps;
    int64_t ahead; ///< Batches made ahead of the one in use, at least 1. Default 2.
    uint64_t seed; ///< Seed of the trajectories and of the windows. Default 1.
    int64_t first; ///< Index of the first item; trajectory i of batch b is item
                   ///< first + b * batch + i. Default 0.
    int threads;   ///< Does not affect the batches. Default 0: plumb_system_threads().
    bool states;   ///< Also fill `state`, `canonical` and `time`. Default false.
    /// Options of the world. May be NULL. Default NULL.
    const plumb_world_options *world;
} plumb_loader_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_loader_defaults() calls it.
PLUMB_API void plumb_loader_options_init(plumb_loader_options *options, size_t size);

/// Returns the defaults.
static inline plumb_loader_options plumb_loader_defaults(void)
{
    plumb_loader_options options;
    plumb_loader_options_init(&options, sizeof options);
    return options;
}

/// A batch. It belongs to the loader and is valid until the next call of plumb_loader_next().
typedef struct plumb_loader_batch {
    int64_t index;           ///< Index of the batch, from 0.
    const uint8_t *frames;   ///< (batch, window, image, image, channels)
    const double *state;     ///< (batch, window, 2n), or NULL.
    const double *canonical; ///< (batch, window, 2 canonical_n), or NULL.
    const double *time;      ///< (batch, window), or NULL.
} plumb_loader_batch;

/// Starts the threads, which begin to work at once. Fails with PLUMB_EVALUE for invalid options and
/// for worlds with several clips per item, PLUMB_EMEMORY. May be NULL: options.
PLUMB_API plumb_status plumb_loader_open(plumb_loader **out, const plumb_world *world,
                                         const plumb_loader_options *options);

/// Gets the next batch and waits for it if necessary. The batches are the same, in the same order,
/// for any number of threads. Fails with the error of the simulation, or PLUMB_ESTOPPED after
/// plumb_set_stop(); later calls fail in the same way.
PLUMB_API plumb_status plumb_loader_next(plumb_loader_batch *out, plumb_loader *loader);

/// Ends the threads, waits for items in work, and frees all batches. May be NULL: loader.
PLUMB_API void plumb_loader_close(plumb_loader *loader);

#ifdef __cplusplus
}
#endif
#endif
