// SPDX-License-Identifier: MIT
// Threads that stay: for work of many short rounds, where making and joining threads each time, as
// parallel_for does, would cost more than the work.
#ifndef BASE_THREAD_TEAM_H
#define BASE_THREAD_TEAM_H

#include <stdint.h>

#include "base/status.h"

typedef struct thread_team thread_team;

/// What worker `worker` of `workers` does in a round. Which worker does what may change no bit.
typedef void thread_team_work(void *context, int worker, int workers);

/// Starts threads - 1 threads; the caller is worker 0. Fewer, down to the caller alone, where they
/// cannot be had. Fails with PLUMB_EMEMORY.
plumb_status thread_team_create(thread_team **out, int threads);
void thread_team_free(thread_team *c); ///< ends and joins them; NULL is allowed

int thread_team_size(const thread_team *c); ///< workers, the caller included

/// One round: every worker runs `work` once; returns when all are done.
void thread_team_run(thread_team *c, thread_team_work *work, void *context);

/// A fair share of `count` things: worker's are first .. first + *size - 1.
int64_t thread_team_split(int64_t *size, int64_t count, int worker, int workers);

#endif
