// SPDX-License-Identifier: MIT
// Replaces comm_mpi.c in a build without MPI: one process, no messages.
// Each function does what the one of comm_mpi.c does for one rank.
#include <stdlib.h>
#include <string.h>

#include "distributed/comm.h"

bool comm_available(void)
{
    return false;
}

// Fails under mpirun: all processes would do the same work in the same directory.
plumb_status comm_init(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    if (size && strtol(size, NULL, 10) > 1)
        return fail(PLUMB_EMISSING,
                    "mpirun started %s ranks, but this build of plumb has no MPI: build it with "
                    "libopenmpi-dev installed, or start it without mpirun",
                    size);
    return PLUMB_OK;
}

void comm_finalize(bool failed)
{
    (void)failed;
}

void comm_detach(void)
{
}

// One process is rank 0 of 1.
int comm_rank(void)
{
    return 0;
}

int comm_size(void)
{
    return 1;
}

int comm_local_size(void)
{
    return 1;
}

// Collective calls have nothing to exchange.
plumb_status comm_all_gather(void *all, const void *mine, size_t bytes)
{
    memmove(all, mine, bytes);
    return PLUMB_OK;
}

plumb_status comm_broadcast(void *data, size_t bytes)
{
    (void)data, (void)bytes;
    return PLUMB_OK;
}

plumb_status comm_all_to_all(float *into, const int *receive, const int *receive_at,
                             const float *data, const int *send, const int *send_at)
{
    (void)into, (void)receive, (void)receive_at, (void)data, (void)send, (void)send_at;
    return PLUMB_OK;
}

plumb_status comm_all_gather_slices(float *data, const int *count, const int *at)
{
    (void)data, (void)count, (void)at;
    return PLUMB_OK;
}

plumb_status comm_all_ok(plumb_status st)
{
    return st;
}

plumb_status comm_send(int to, const void *data, size_t bytes)
{
    (void)to, (void)data, (void)bytes;
    return PLUMB_OK;
}

plumb_status comm_try_receive(int *from, void *data, size_t bytes)
{
    (void)data, (void)bytes;
    *from = -1;
    return PLUMB_OK;
}
