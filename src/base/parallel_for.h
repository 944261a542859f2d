// SPDX-License-Identifier: MIT
// Threads: the same work, cut into items, whoever does them.
#ifndef BASE_PARALLEL_FOR_H
#define BASE_PARALLEL_FOR_H

#include <stdint.h>

/// Does one item. `worker` counts the threads from 0, for scratch memory of its own. An item writes
/// only its own results, so the number of threads changes no bit of them.
typedef void parallel_task(void *context, int64_t item, int worker);

/// Runs items 0 .. count-1 on `threads` threads (0: parallel_threads()), the caller's among them,
/// and returns when all are done. Where a thread cannot be had, fewer do the work.
void parallel_for(int64_t count, int threads, parallel_task *work, void *context);

/// PLUMB_THREADS, else the cores this process may run on.
int parallel_threads(void);

enum { PARALLEL_MAX_THREADS = 256 };

#endif
