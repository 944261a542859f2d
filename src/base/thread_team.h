// SPDX-License-Identifier: MIT
// Thread team that stays alive between short parallel regions.
//
// Training runs thousands of short regions per second. Creating threads for each, as parallel_for
// does, would cost more than the work.
#ifndef BASE_THREAD_TEAM_H
#define BASE_THREAD_TEAM_H

#include <stdint.h>

#include "base/status.h"

typedef struct thread_team thread_team;

/// Share `share` of `shares` of a region. Which thread does it must not affect the result.
typedef plumb_status thread_team_task(void *context, int share, int shares);

/// Starts threads - 1 threads, which work with the caller. If threads cannot be created, the team
/// is smaller, at least the caller alone. Fails with PLUMB_EMEMORY.
plumb_status thread_team_create(thread_team **out, int threads);
/// Ends and joins the threads. May be NULL: team.
void thread_team_free(thread_team *team);

/// The number of threads, the caller included.
int thread_team_size(const thread_team *team);

/// One parallel region: runs `task` for every share, at most PARALLEL_MAX_THREADS of them. A thread
/// that is free takes the next one, the caller too. Returns when all are done, with the failure of
/// the lowest share if any failed.
plumb_status thread_team_run(thread_team *team, thread_team_task *task, void *context, int shares);

/// Share `share` when `count` items are split evenly: returns the first item and sets *size to how
/// many there are. Shares are contiguous and in order.
int64_t thread_team_split(int64_t *size, int64_t count, int share, int shares);

#endif
