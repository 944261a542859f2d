// SPDX-License-Identifier: MIT
// Parallel loop over independent tasks.
#ifndef BASE_PARALLEL_FOR_H
#define BASE_PARALLEL_FOR_H

#include <stdint.h>

#include "base/status.h"

enum { PARALLEL_MAX_THREADS = 256 };

/// Runs task `index`. `worker` is 0 to threads - 1 and identifies the thread, for scratch memory;
/// worker 0 is the thread of the caller. A task writes only its own results, so the number of
/// threads does not affect them.
typedef plumb_status parallel_task(void *context, int64_t index, int worker);

/// Runs tasks 0 .. count-1 on `threads` threads (0: parallel_threads()), the caller's among them,
/// and returns when all are done. If a thread cannot be created, fewer run the tasks.
///
/// Before each task it checks whether the user asked to stop. After a failure no further task
/// starts. The result is the failure of the lowest index, so it does not depend on timing: smaller
/// indices always start before larger ones. Fails with PLUMB_ESTOPPED or as the task failed.
plumb_status parallel_for(int64_t count, int threads, parallel_task *task, void *context);

/// The same. It also reports progress, from `first` to `first + share`, on the thread of the
/// caller.
plumb_status parallel_for_progress(int64_t count, int threads, parallel_task *task, void *context,
                                   double first, double share);

/// The number of threads to use by default: PLUMB_THREADS, or the cores this process may run on.
int parallel_threads(void);

#endif
