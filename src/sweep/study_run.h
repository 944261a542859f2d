// SPDX-License-Identifier: MIT
// What a run of a study trains: its settings, resolved.
#ifndef SWEEP_STUDY_RUN_H
#define SWEEP_STUDY_RUN_H

#include "sweep/study_file.h"

/// Resolves all settings of a run. Fails with PLUMB_EFORMAT, "path:line: ...".
plumb_status study_run_resolve(run_config *out, arena *mem, const study_file *study,
                               const study_run *run);

/// Writes a hash that is equal for runs whose training steps cost the same: model, model settings,
/// batch, replicas and frame size.
plumb_status study_run_cost_class(char out[33], const run_config *config);

/// Puts "path:line: " before the last message and returns PLUMB_EFORMAT. Leaves PLUMB_OK,
/// PLUMB_EMEMORY and PLUMB_ESTOPPED as they are.
plumb_status study_run_add_line(plumb_status st, const study_file *study, int line);

#endif
