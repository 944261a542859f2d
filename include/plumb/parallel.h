// SPDX-License-Identifier: MIT
// Several processes at one work: what a program started by mpirun calls around plumb_train and
// plumb_sweep_run.
#ifndef PLUMB_PARALLEL_H
#define PLUMB_PARALLEL_H

#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Joins the other processes that mpirun (or srun with PMIx) started; alone, it does nothing and
/// costs nothing. Then plumb_train is one training that all ranks share, and plumb_sweep_run one
/// study. Call it once, on the main thread. Fails with PLUMB_EMISSING if there are others and this
/// build or machine has no MPI.
PLUMB_API plumb_status plumb_parallel_begin(void);
/// Leaves them. `failed`: this rank alone has failed, so the others are ended too.
PLUMB_API void plumb_parallel_end(bool failed);

PLUMB_API int plumb_parallel_rank(void);       ///< 0 if alone
PLUMB_API int plumb_parallel_size(void);       ///< 1 if alone
PLUMB_API bool plumb_parallel_available(void); ///< was plumb built with MPI?

#ifdef __cplusplus
}
#endif
#endif
