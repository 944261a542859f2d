// SPDX-License-Identifier: MIT
// A stream of training batches made ahead of their use, by threads, without a file.
#ifndef PLUMB_STREAM_H
#define PLUMB_STREAM_H

#include "plumb/world.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plumb_stream plumb_stream;

typedef struct plumb_stream_options {
    size_t size;
    int64_t batch;   ///< trajectories a batch, 32
    int64_t window;  ///< frames a trajectory, 64
    int64_t steps;   ///< frames of the trajectory the window is cut from, at random; 0: the window
    int64_t ahead;   ///< batches made ahead, 2
    uint64_t seed;   ///< 1
    int64_t first;   ///< the first item, 0: item i of batch b is first + b * batch + i
    int threads;     ///< 0: plumb_machine_threads()
    bool states;     ///< also fill `state`
    plumb_world_options world;
} plumb_stream_options;
PLUMB_API plumb_stream_options plumb_stream_defaults(void);

/// A batch; it belongs to the stream until the next call of plumb_stream_next.
typedef struct plumb_stream_batch {
    int64_t index;         ///< which batch, from 0
    const uint8_t *frames; ///< (batch, window, image, image, channels)
    const double *state;   ///< (batch, window, 2n), or NULL
} plumb_stream_batch;

PLUMB_API plumb_status plumb_stream_open(plumb_stream **out, const plumb_world *world,
                                         const plumb_stream_options *opt);
/// The next batch. The same batches come in the same order whatever the number of threads.
PLUMB_API plumb_status plumb_stream_next(plumb_stream_batch *out, plumb_stream *stream);
PLUMB_API void plumb_stream_close(plumb_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
