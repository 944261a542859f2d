// SPDX-License-Identifier: MIT
// Does a scorer decide tuples by the amount of motion alone? What remains if the possible and the
// impossible clips of a tuple move as much.
#ifndef MEASURES_SURPRISE_MOTION_CONTROL_H
#define MEASURES_SURPRISE_MOTION_CONTROL_H

#include "base/arena.h"
#include "plumb/surprise.h"

enum { MOTION_CONTROL_MAX = 8 };

/// Motion of clips (tuples, 4, numbers) of the tested tuples, and scores (tuples, 4).
typedef struct motion_control_task {
    const double *score, *motion;
    int64_t tuples, numbers;
} motion_control_task;

/// Fails with PLUMB_EMEMORY.
plumb_status motion_control_measure(plumb_surprise_motion *out, arena *mem,
                                    const motion_control_task *task);

#endif
