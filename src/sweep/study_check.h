// SPDX-License-Identifier: MIT
// Checks of a study file that are made before anything runs. For study_file.c.
#ifndef SWEEP_STUDY_CHECK_H
#define SWEEP_STUDY_CHECK_H

#include "io/yaml.h"
#include "sweep/study_file.h"

/// Fails with PLUMB_EFORMAT, naming the nearest key, if the key of `node` is not in `keys`, a list
/// with NULL at the end. `where` names the map, for the message.
plumb_status study_check_key(const study_file *study, const yaml *node, const char *const *keys,
                             const char *where);
/// Reads a whole number from `low` to `high`. Fails with PLUMB_EFORMAT.
plumb_status study_check_whole(int64_t *out, const study_file *study, const yaml *node, int64_t low,
                               int64_t high);

/// Reads the block "evaluate" into the options of the study. May be NULL: node.
plumb_status study_check_evaluate(study_file *study, const yaml *node);

/// Checks every run: its model, its world, its settings, and that its model can be created.
plumb_status study_check_runs(study_file *study);

#endif
