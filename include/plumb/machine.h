// SPDX-License-Identifier: MIT
// What this build and this machine can do.
#ifndef PLUMB_MACHINE_H
#define PLUMB_MACHINE_H

#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// "avx512", "avx2" or "portable": the kernels in use.
PLUMB_API const char *plumb_machine_instructions(void);

/// Threads that work when an option says 0: PLUMB_THREADS, else the cores this process may use.
PLUMB_API int plumb_machine_threads(void);

/// The cores this process may use.
PLUMB_API int plumb_machine_cores(void);

/// The kernel set of OpenBLAS, "Haswell", "Zen" ...; "none" if there is no OpenBLAS. plumb loads it
/// when it is first needed (asking here counts) and mends its choice of kernels: version 0.3.21
/// does not know recent processors and falls back to kernels of 2004, five times slower
/// (OpenMathLib/OpenBLAS#4267).
PLUMB_API const char *plumb_machine_blas(void);

/// "OpenBLAS 0.3.21", or "".
PLUMB_API const char *plumb_machine_blas_version(void);

/// What OPENBLAS_CORETYPE should be, if the host program had loaded OpenBLAS with the wrong kernels
/// before plumb could mend them; else NULL.
PLUMB_API const char *plumb_machine_blas_remedy(void);

/// The compiler that made this library, and the kind of build, "Release".
PLUMB_API const char *plumb_machine_compiler(void);
PLUMB_API const char *plumb_machine_build(void);

/// Everything above and the optional parts, as a record.
PLUMB_API void plumb_machine_record(plumb_record *record);

#ifdef __cplusplus
}
#endif
#endif
