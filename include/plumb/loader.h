// SPDX-License-Identifier: MIT
// A stream of training batches made ahead of their use, by threads, without a file.
//
//     plumb_loader_options opt = plumb_loader_defaults();
//     opt.steps = 256;                       // windows of 64 out of trajectories of 256
//     plumb_loader *stream;
//     plumb_loader_batch batch;
//     if (plumb_loader_open(&stream, world, &opt)) ...
//     while (... !plumb_loader_next(&batch, stream)) train(batch.frames);
//     plumb_loader_close(stream);
#ifndef PLUMB_LOADER_H
#define PLUMB_LOADER_H

#include "plumb/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Owns its threads and the batches. Open, next and close are for one thread at a time.
typedef struct plumb_loader plumb_loader;

typedef struct plumb_loader_options {
    size_t size;
    int64_t batch;  ///< trajectories a batch, 32
    int64_t window; ///< frames a trajectory, 64
    /// Frames of the trajectory the window is cut from, 0: the window itself. The cut is uniform
    /// over the steps - window + 1 possible ones, as in the paper [Higgins21], and a function of
    /// seed and item alone.
    int64_t steps;
    int64_t ahead; ///< batches made ahead of the one in use, 2
    uint64_t seed; ///< 1
    int64_t first; ///< the first item, 0: trajectory i of batch b is item first + b * batch + i
    int threads;   ///< 0: plumb_system_threads()
    bool states;   ///< also fill `state`, `canonical` and `time`
    /// Options of the world. May be NULL: the defaults. Default NULL.
    const plumb_world_options *world;
} plumb_loader_options;
/// Sets the first `size` bytes of `options` to the defaults. plumb_loader_defaults() calls it.
PLUMB_API void plumb_loader_options_init(plumb_loader_options *options, size_t size);

/// The defaults.
static inline plumb_loader_options plumb_loader_defaults(void)
{
    plumb_loader_options options;
    plumb_loader_options_init(&options, sizeof options);
    return options;
}

/// A batch; it belongs to the stream until the next call of plumb_loader_next.
typedef struct plumb_loader_batch {
    int64_t index;           ///< which batch, from 0
    const uint8_t *frames;   ///< (batch, window, image, image, channels)
    const double *state;     ///< (batch, window, 2n), or NULL
    const double *canonical; ///< (batch, window, 2 canonical_n), or NULL
    const double *time;      ///< (batch, window), or NULL
} plumb_loader_batch;

/// Starts the threads, which begin at once. `opt` may be NULL. Fails with PLUMB_EVALUE for options
/// out of range, PLUMB_EMEMORY if batches or threads cannot be had.
PLUMB_API plumb_status plumb_loader_open(plumb_loader **out, const plumb_world *world,
                                         const plumb_loader_options *opt);

/// The next batch; waits for it if need be. The same batches come in the same order whatever the
/// number of threads. Fails with what the making of an item failed with, or PLUMB_ESTOPPED if
/// somebody called plumb_set_stop; a later call fails the same way.
PLUMB_API plumb_status plumb_loader_next(plumb_loader_batch *out, plumb_loader *stream);

/// Ends the threads and all batches; waits for items that are being made. NULL is allowed.
PLUMB_API void plumb_loader_close(plumb_loader *stream);

#ifdef __cplusplus
}
#endif
#endif
