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

/// The kernel set OpenBLAS chose, "Haswell", "Zen", "Prescott" ...
PLUMB_API const char *plumb_machine_blas(void);

/// "OpenBLAS 0.3.21".
PLUMB_API const char *plumb_machine_blas_version(void);

/// OpenBLAS 0.3.21 does not know recent processors and falls back to kernels of 2004, five times
/// slower (OpenMathLib/OpenBLAS#4267). Returns the value OPENBLAS_CORETYPE should have had when
/// the library was loaded, or NULL if the kernels in use are right. A program sets it and executes
/// itself again.
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
