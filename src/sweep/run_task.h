// SPDX-License-Identifier: MIT
// One run of a study: how far it is, and the rest of it.
#ifndef SWEEP_RUN_TASK_H
#define SWEEP_RUN_TASK_H

#include "plumb/sweep.h"
#include "sweep/study_file.h"

/// How far the run is in the directory `folder` of the study. Fails with PLUMB_EVALUE if it was
/// begun with other settings.
plumb_status run_task_state(plumb_sweep_state *state, const study_file *s, const study_run *run,
                            const char *folder);

/// Trains what is left to train, judges, and adds its line to results.jsonl; a failure has its line
/// too. `*state` is then DONE, FAILED, STOPPED or BUSY, and the last message says why.
plumb_status run_task_run(plumb_sweep_state *state, const study_file *s, const study_run *run,
                          const char *folder, int threads);

/// Adds the line of a run that is done, or with `why` of one that failed with `status`; if that is
/// PLUMB_ENUMERIC it would fail again.
plumb_status run_task_append_result(const study_file *s, const study_run *run, const char *folder,
                                    const char *why, plumb_status status);

#endif
