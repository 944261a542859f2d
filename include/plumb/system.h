// SPDX-License-Identifier: MIT
// What this build and this machine can do.
#ifndef PLUMB_SYSTEM_H
#define PLUMB_SYSTEM_H

#include "plumb/record.h"
#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// "avx512", "avx2" or "portable": the kernels in use.
PLUMB_API const char *plumb_system_instructions(void);

/// Threads that work when an option says 0: PLUMB_THREADS, else the cores this process may use.
PLUMB_API int plumb_system_threads(void);

/// The cores this process may use.
PLUMB_API int plumb_system_cores(void);

/// The kernel set of OpenBLAS, "Haswell", "Zen" ...; "none" if there is no OpenBLAS. plumb loads it
/// when it is first needed (asking here counts) and mends its choice of kernels: version 0.3.21
/// does not know recent processors and falls back to kernels of 2004, five times slower
/// (OpenMathLib/OpenBLAS#4267).
PLUMB_API const char *plumb_system_blas(void);

/// "OpenBLAS 0.3.21", or "".
PLUMB_API const char *plumb_system_blas_version(void);

/// What OPENBLAS_CORETYPE should be, if the host program had loaded OpenBLAS with the wrong kernels
/// before plumb could mend them; else NULL.
PLUMB_API const char *plumb_system_blas_fix(void);

/// The compiler that made this library, and the kind of build, "Release".
PLUMB_API const char *plumb_system_compiler(void);
PLUMB_API const char *plumb_system_build_type(void);

/// Everything above and the optional parts, as a record.
PLUMB_API void plumb_system_record(plumb_record *record);

// ---- several processes ----
//
// Several processes at one work: what a program started by mpirun calls around plumb_training_run
// and plumb_sweep_run.

/// Joins the other processes that mpirun (or srun with PMIx) started; alone, it does nothing and
/// costs nothing. Then plumb_training_run is one training that all ranks share, and plumb_sweep_run
/// one study. Call it once, on the main thread. Fails with PLUMB_EMISSING if there are others and
/// this build or machine has no MPI.
PLUMB_API plumb_status plumb_distributed_init(void);
/// Leaves them. `failed`: this rank alone has failed, so the others are ended too.
PLUMB_API void plumb_distributed_finalize(bool failed);

PLUMB_API int plumb_distributed_rank(void);       ///< 0 if alone
PLUMB_API int plumb_distributed_size(void);       ///< 1 if alone
PLUMB_API bool plumb_distributed_available(void); ///< was plumb built with MPI?

#ifdef __cplusplus
}
#endif
#endif
