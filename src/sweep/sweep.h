// SPDX-License-Identifier: MIT
// What the parts of plumb sweep share.
#ifndef SWEEP_SWEEP_H
#define SWEEP_SWEEP_H

#include "plumb/sweep.h"
#include "sweep/study_file.h"

enum { SWEEP_MAX_WORKERS = 256 };

struct plumb_sweep {
    study_file study;
};

/// Options that make no sense, with PLUMB_EVALUE.
plumb_status sweep_check(const plumb_sweep_options *o);

/// Threads of one run.
int sweep_threads(const plumb_sweep_options *o);

#endif
