// SPDX-License-Identifier: MIT
// What this build and this machine can do, and what the options structs are made of.
#ifndef PLUMB_SYSTEM_H
#define PLUMB_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plumb/record.h"
#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What this build and this machine can do. Strings are constant and never freed.
typedef struct plumb_system_info {
    const char *instructions; ///< Kernels in use: "avx512", "avx2" or "portable".
    int threads;              ///< Threads that an option of 0 means; see plumb_system_threads().
    int cores;                ///< Cores this process may use.
    const char *blas;         ///< Kernels of OpenBLAS, as "Haswell", or "none".
    const char *blas_version; ///< As "OpenBLAS 0.3.21", or "".
    /// Value that OPENBLAS_CORETYPE should have, if the host program loaded OpenBLAS with the wrong
    /// kernels before plumb could correct them (OpenMathLib/OpenBLAS#4267); else NULL.
    const char *blas_fix;
    const char *compiler;   ///< Compiler of this library, as "gcc 12.2.0".
    const char *build_type; ///< As "Release".
    bool hdf5;              ///< .h5 files can be read and written.
    bool libsvm;            ///< The scorer ocsvm is available.
    bool mpi;               ///< This build can run under mpirun.
} plumb_system_info;

/// Fills `info`. Loads OpenBLAS if it was not loaded before.
PLUMB_API void plumb_system_get_info(plumb_system_info *info);

/// Number of threads that an option of 0 means: PLUMB_THREADS, or the cores this process may use.
PLUMB_API int plumb_system_threads(void);

/// Writes the info as a record.
PLUMB_API void plumb_system_record(plumb_record *record);

/// Type of a member of an options struct.
typedef enum plumb_option_kind {
    PLUMB_OPTION_BOOL,
    PLUMB_OPTION_STRING, ///< const char *
    PLUMB_OPTION_INT,
    PLUMB_OPTION_INT64,
    PLUMB_OPTION_UINT64,
    PLUMB_OPTION_DOUBLE,
    PLUMB_OPTION_ENUM,    ///< an enum whose values 0, 1, .. are `words`
    PLUMB_OPTION_POINTER, ///< a pointer to `type`, or, as "bool[8]", an array in the struct
} plumb_option_kind;

/// A member of an options struct. The command line and Python are built from it.
typedef struct plumb_option_info {
    const char *name;         ///< Name of the member.
    plumb_option_kind kind;   ///< Its type.
    size_t offset;            ///< Its offset in the struct, in bytes.
    const char *const *words; ///< Names of an enum's values, NULL at the end; else NULL.
    double low, high;         ///< Range of a number, both included; both 0: any.
    const char *help;         ///< What it is, in one sentence.
    const char *type;         ///< PLUMB_OPTION_POINTER: what it points to; else NULL.
} plumb_option_info;

/// Member number `index` of the struct plumb_NAME, as "symetric_options"; `size` is not counted.
/// False past the last member and for an unknown struct.
PLUMB_API bool plumb_option_info_at(plumb_option_info *info, const char *name, int64_t index);

#ifdef __cplusplus
}
#endif
#endif
