// SPDX-License-Identifier: MIT
// Several processes under mpirun: what a program calls around plumb_training_run() and
// plumb_sweep_run().
#ifndef PLUMB_DISTRIBUTED_H
#define PLUMB_DISTRIBUTED_H

#include <stdbool.h>

#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Joins the other processes that mpirun (or srun with PMIx) started. A process that is alone does
/// nothing. Then plumb_training_run() is one training that all ranks share, and plumb_sweep_run()
/// one study. Call it once, on the main thread. Fails with PLUMB_EMISSING if there are other
/// processes and this build or machine has no MPI.
PLUMB_API plumb_status plumb_distributed_init(void);

/// Leaves the other processes. `failed`: this rank alone has failed, so the others are ended too.
PLUMB_API void plumb_distributed_finalize(bool failed);

PLUMB_API int plumb_distributed_rank(void); ///< Rank of this process; 0 if alone.
PLUMB_API int plumb_distributed_size(void); ///< Number of processes; 1 if alone.

#ifdef __cplusplus
}
#endif
#endif
