// SPDX-License-Identifier: MIT
// What this build and this machine can do.
#define _GNU_SOURCE
#include "plumb/system.h"

#include <sched.h>

#include "base/parallel_for.h"
#include "distributed/comm.h"
#include "io/hdf5/client.h"
#include "math/blas.h"
#include "math/vector.h"
#include "measures/surprise/scorers.h"

// The default of every option `threads`.
int plumb_system_threads(void)
{
    return parallel_threads();
}

// Cores that this process may use, not those of the machine.
static int count_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

void plumb_system_get_info(plumb_system_info *info)
{
    if (!info) return;
    // Texts are constants or live as long as the process.
    *info = (plumb_system_info)
    {
        .instructions = vector_instructions(), .threads = parallel_threads(),
        .cores = count_cores(), .blas = blas_kernel(), .blas_version = blas_version(),
        .blas_fix = blas_wanted_kernel(),
#if defined(__clang__)
        .compiler = __VERSION__, // "Debian Clang 14.0.6": it contains the name
#else
        .compiler = "gcc " __VERSION__,
#endif
            .build_type = PLUMB_BUILD_TYPE, .hdf5 = hdf5_client_available(),
        .libsvm = scorer_available(PLUMB_SCORER_OCSVM), .mpi = comm_available(),
    };
}

// The record of `plumb doctor`; its keys do not change.
void plumb_system_record(plumb_record *record)
{
    if (!record) return;
    plumb_system_info info;
    plumb_system_get_info(&info);
    plumb_record_set_string(record, "version", plumb_version());
    plumb_record_set_string(record, "instructions", info.instructions);
    plumb_record_set_int(record, "threads", info.threads);
    plumb_record_set_int(record, "cores", info.cores);
    plumb_record_set_string(record, "blas", info.blas);
    plumb_record_set_string(record, "blas_version", info.blas_version);
    if (info.blas_fix) plumb_record_set_string(record, "blas_remedy", info.blas_fix);
    else plumb_record_set_null(record, "blas_remedy");
    plumb_record_set_bool(record, "hdf5", info.hdf5);
    plumb_record_set_bool(record, "libsvm", info.libsvm);
    plumb_record_set_bool(record, "mpi", info.mpi);
    plumb_record_set_bool(record, "onednn", false); // kept for readers of the record
    plumb_record_set_string(record, "compiler", info.compiler);
    plumb_record_set_string(record, "build_type", info.build_type);
}
