// SPDX-License-Identifier: MIT
// What the parts of plumb sweep share.
#ifndef SWEEP_SWEEP_H
#define SWEEP_SWEEP_H

#include "plumb/sweep.h"
#include "sweep/study_file.h"

struct plumb_sweep {
    studyfile study;
};

/// Options that make no sense, with PLUMB_EVALUE.
plumb_status sweeping_check(const plumb_sweep_options *o);

/// Threads of one run.
int sweeping_threads(const plumb_sweep_options *o);

#endif
