// SPDX-License-Identifier: MIT
// Threads that stay: for work of many short rounds, where making and joining threads each time, as
// pool_run does, would cost more than the work.
#ifndef BASE_THREAD_TEAM_H
#define BASE_THREAD_TEAM_H

#include <stdint.h>

#include "base/status.h"

typedef struct crew crew;

/// What worker `worker` of `workers` does in a round. Which worker does what may change no bit.
typedef void crew_work(void *context, int worker, int workers);

/// Starts threads - 1 threads; the caller is worker 0. Fewer, down to the caller alone, where they
/// cannot be had. Fails with PLUMB_EMEMORY.
plumb_status crew_create(crew **out, int threads);
void crew_free(crew *c); ///< ends and joins them; NULL is allowed

int crew_size(const crew *c); ///< workers, the caller included

/// One round: every worker runs `work` once; returns when all are done.
void crew_run(crew *c, crew_work *work, void *context);

/// A fair share of `count` things: worker's are first .. first + *size - 1.
int64_t crew_share(int64_t *size, int64_t count, int worker, int workers);

#endif
