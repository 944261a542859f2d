// SPDX-License-Identifier: MIT
// What this build and this machine can do.
#define _GNU_SOURCE
#include "plumb/system.h"

#include <sched.h>

#include "base/parallel_for.h"
#include "math/blas.h"
#include "math/vector.h"
#include "plumb/file.h"
#include "plumb/surprise.h"

const char *plumb_system_instructions(void)
{
    return vector_instructions();
}

int plumb_system_threads(void)
{
    return parallel_threads();
}

int plumb_system_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    return CPU_COUNT(&set);
}

const char *plumb_system_blas(void)
{
    return blas_kernel();
}

const char *plumb_system_blas_version(void)
{
    return blas_version();
}

const char *plumb_system_blas_fix(void)
{
    return blas_wanted_kernel();
}

const char *plumb_system_compiler(void)
{
#if defined(__clang__)
    return __VERSION__; // "Debian Clang 14.0.6": says its name itself
#else
    return "gcc " __VERSION__;
#endif
}

const char *plumb_system_build_type(void)
{
    return PLUMB_BUILD_TYPE;
}

void plumb_system_record(plumb_record *record)
{
    plumb_record_set_string(record, "version", plumb_version());
    plumb_record_set_string(record, "instructions", plumb_system_instructions());
    plumb_record_set_int(record, "threads", plumb_system_threads());
    plumb_record_set_int(record, "cores", plumb_system_cores());
    plumb_record_set_string(record, "blas", plumb_system_blas());
    plumb_record_set_string(record, "blas_version", plumb_system_blas_version());
    const char *remedy = plumb_system_blas_fix();
    if (remedy) plumb_record_set_string(record, "blas_remedy", remedy);
    else plumb_record_set_null(record, "blas_remedy");
    plumb_record_set_bool(record, "hdf5", plumb_file_hdf5());
    plumb_record_set_bool(record, "libsvm", plumb_scorer_available(PLUMB_SCORER_OCSVM));
    plumb_record_set_bool(record, "mpi", plumb_distributed_available());
    plumb_record_set_bool(record, "onednn", false); // comes with training
    plumb_record_set_string(record, "compiler", plumb_system_compiler());
    plumb_record_set_string(record, "build_type", plumb_system_build_type());
}
