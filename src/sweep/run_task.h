// SPDX-License-Identifier: MIT
// One run of a study: finds out its state and does what is left of it.
#ifndef SWEEP_RUN_TASK_H
#define SWEEP_RUN_TASK_H

#include "plumb/sweep.h"
#include "sweep/study_file.h"

/// Gets the state of a run in the directory `folder` of the study. Fails with PLUMB_EVALUE if the
/// run was started with other settings.
plumb_status run_task_state(plumb_sweep_state *state, const study_file *study, const study_run *run,
                            const char *folder);

/// Trains and evaluates what is left of a run and appends its line to results.jsonl, also if it
/// failed. `*state` becomes DONE, FAILED, STOPPED or BUSY; the last message has the reason.
plumb_status run_task_run(plumb_sweep_state *state, const study_file *study, const study_run *run,
                          const char *folder, int threads);

/// Appends the line of a run to results.jsonl. May be NULL: why, for a run that is done; otherwise
/// it failed with `status`, and would fail again if that is PLUMB_ENUMERIC.
plumb_status run_task_append_result(const study_file *study, const study_run *run,
                                    const char *folder, const char *why, plumb_status status);

#endif
