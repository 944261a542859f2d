// SPDX-License-Identifier: MIT
// Messages between the processes of one job. Whoever is alone is rank 0 of 1, and nothing here does
// anything. No sums: MPI promises no order for them, so they are the caller's (trainer.c).
#ifndef DISTRIBUTED_COMM_H
#define DISTRIBUTED_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

bool comm_available(void); ///< with MPI?
plumb_status comm_init(void);
void comm_finalize(bool failed);
/// In a forked child: it is no rank of anything.
void comm_detach(void);

int comm_rank(void);
int comm_size(void);
int comm_local_size(void); ///< ranks on this machine

// All ranks call these together. They fail with PLUMB_ESTOPPED if another rank does not answer and
// the job is being ended, PLUMB_EFILE if MPI fails.

/// `mine` of every rank, in the order of ranks, into `all`.
plumb_status comm_all_gather(void *all, const void *mine, size_t bytes);
/// Rank 0's bytes to all.
plumb_status comm_broadcast(void *data, size_t bytes);
/// To rank k go `give[k]` floats from data + `give_at[k]`, from it come `take[k]` to into +
/// `take_at[k]`.
plumb_status comm_all_to_all(float *into, const int *take, const int *take_at, const float *data,
                             const int *give, const int *give_at);
/// Every rank k has `count[k]` floats of `data` at `at[k]`; afterwards everyone has all.
plumb_status comm_all_gather_slices(float *data, const int *count, const int *at);

/// Did any rank fail? Then all fail, with the message of the first that did.
plumb_status comm_all_ok(plumb_status st);

// Short messages, up to 4 KiB, from one rank to another; nobody waits.
plumb_status comm_send(int to, const void *data, size_t bytes);
/// A message if one is there: `*from` is -1 if not.
plumb_status comm_try_receive(int *from, void *data, size_t bytes);

#endif
