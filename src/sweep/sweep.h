// SPDX-License-Identifier: MIT
// Declarations shared by the files of this module.
#ifndef SWEEP_SWEEP_H
#define SWEEP_SWEEP_H

#include "plumb/sweep.h"
#include "sweep/study_file.h"

enum { SWEEP_MAX_WORKERS = 256 };

struct plumb_sweep {
    study_file study;
};

/// Reads the caller's options into `out` and checks them. Fails with PLUMB_EVALUE.
plumb_status sweep_resolve_options(plumb_sweep_options *out, const plumb_sweep_options *given);

/// Number of threads of each run.
int sweep_threads(const plumb_sweep_options *options);

#endif
