// SPDX-License-Identifier: MIT
#include "plumb/parallel.h"

#include "distributed/comm.h"

plumb_status plumb_parallel_begin(void)
{
    return comm_init();
}

void plumb_parallel_end(bool failed)
{
    comm_finalize(failed);
}

int plumb_parallel_rank(void)
{
    return comm_rank();
}

int plumb_parallel_size(void)
{
    return comm_size();
}

bool plumb_parallel_available(void)
{
    return comm_available();
}
