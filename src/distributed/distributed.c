// SPDX-License-Identifier: MIT
// The public functions for several processes: they pass on to comm.h.
// Without mpirun there is one process: rank 0 of 1.
#include "plumb/distributed.h"

#include "distributed/comm.h"

plumb_status plumb_distributed_init(void)
{
    return comm_init();
}

void plumb_distributed_finalize(bool failed)
{
    comm_finalize(failed);
}

int plumb_distributed_rank(void)
{
    return comm_rank();
}

int plumb_distributed_size(void)
{
    return comm_size();
}
