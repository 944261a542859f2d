// SPDX-License-Identifier: MIT
// What the parts of plumb sweep share.
#ifndef STUDY_SWEEPING_H
#define STUDY_SWEEPING_H

#include "plumb/sweep.h"
#include "study/studyfile.h"

struct plumb_sweep {
    studyfile study;
};

/// Options that make no sense, with PLUMB_EVALUE.
plumb_status sweeping_check(const plumb_sweep_options *o);

/// Threads of one run.
int sweeping_threads(const plumb_sweep_options *o);

#endif
