// SPDX-License-Identifier: MIT
// Messages between the processes (ranks) of one job. A single process is rank 0 of 1, and all
// functions return at once. There are no sums: MPI guarantees no order for them, so the caller adds
// (all_reduce.c).
#ifndef DISTRIBUTED_COMM_H
#define DISTRIBUTED_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

bool comm_available(void); ///< True if this build has MPI.
/// See plumb_distributed_init().
plumb_status comm_init(void);
/// See plumb_distributed_finalize().
void comm_finalize(bool failed);
/// In a forked child: makes it a single process that sends no messages.
void comm_detach(void);

int comm_rank(void);
int comm_size(void);
int comm_local_size(void); ///< Number of ranks on this machine.

// All ranks call these together. They fail with PLUMB_ESTOPPED if another rank does not answer and
// the job is being ended, PLUMB_EFILE if MPI fails.

/// Collects `mine` of every rank, in the order of ranks, in `all`.
plumb_status comm_all_gather(void *all, const void *mine, size_t bytes);
/// Sends the bytes of rank 0 to all ranks.
plumb_status comm_broadcast(void *data, size_t bytes);
/// Sends send[k] floats at data + send_at[k] to rank k, and receives receive[k] floats from it at
/// into + receive_at[k], for all k.
plumb_status comm_all_to_all(float *into, const int *receive, const int *receive_at,
                             const float *data, const int *send, const int *send_at);
/// Rank k has count[k] floats of `data` at at[k]; afterwards every rank has all of them.
plumb_status comm_all_gather_slices(float *data, const int *count, const int *at);

/// If any rank has a bad status, fails on all ranks, with the message of the first such rank.
plumb_status comm_all_ok(plumb_status st);

// Short messages, up to 4 KiB, from one rank to another, without waiting.
plumb_status comm_send(int to, const void *data, size_t bytes);
/// Receives a message if one has arrived; else `*from` is -1.
plumb_status comm_try_receive(int *from, void *data, size_t bytes);

#endif
