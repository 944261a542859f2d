// SPDX-License-Identifier: MIT
// What this build and this machine can do.
#define _GNU_SOURCE
#include "plumb/machine.h"

#include <sched.h>

#include "base/parallel_for.h"
#include "math/blas.h"
#include "math/vector.h"
#include "plumb/file.h"
#include "plumb/parallel.h"
#include "plumb/surprise.h"

const char *plumb_machine_instructions(void)
{
    return vector_instructions();
}

int plumb_machine_threads(void)
{
    return parallel_threads();
}

int plumb_machine_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    return CPU_COUNT(&set);
}

const char *plumb_machine_blas(void)
{
    return blas_kernel();
}

const char *plumb_machine_blas_version(void)
{
    return blas_version();
}

const char *plumb_machine_blas_remedy(void)
{
    return blas_remedy();
}

const char *plumb_machine_compiler(void)
{
#if defined(__clang__)
    return __VERSION__; // "Debian Clang 14.0.6": says its name itself
#else
    return "gcc " __VERSION__;
#endif
}

const char *plumb_machine_build(void)
{
    return PLUMB_BUILD_TYPE;
}

void plumb_machine_record(plumb_record *record)
{
    plumb_record_text(record, "version", plumb_version());
    plumb_record_text(record, "instructions", plumb_machine_instructions());
    plumb_record_integer(record, "threads", plumb_machine_threads());
    plumb_record_integer(record, "cores", plumb_machine_cores());
    plumb_record_text(record, "blas", plumb_machine_blas());
    plumb_record_text(record, "blas_version", plumb_machine_blas_version());
    const char *remedy = plumb_machine_blas_remedy();
    if (remedy) plumb_record_text(record, "blas_remedy", remedy);
    else plumb_record_null(record, "blas_remedy");
    plumb_record_flag(record, "hdf5", plumb_file_hdf5());
    plumb_record_flag(record, "libsvm", plumb_scorer_available(PLUMB_SCORER_OCSVM));
    plumb_record_flag(record, "mpi", plumb_parallel_available());
    plumb_record_flag(record, "onednn", false); // comes with training
    plumb_record_text(record, "compiler", plumb_machine_compiler());
    plumb_record_text(record, "build_type", plumb_machine_build());
}
