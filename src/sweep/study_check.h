// SPDX-License-Identifier: MIT
// What is checked of a study before anything runs. For study_file.c.
#ifndef SWEEP_STUDY_CHECK_H
#define SWEEP_STUDY_CHECK_H

#include "io/yaml.h"
#include "sweep/study_file.h"

/// Is the key of `node` one of `keys`? Else names the nearest.
plumb_status study_check_key(const study_file *s, const yaml *node, const char *const *keys,
                             const char *where);
plumb_status study_check_whole(int64_t *out, const study_file *s, const yaml *node, int64_t low,
                               int64_t high);

/// Reads "evaluate" into the options of the study. `node` may be NULL.
plumb_status study_check_evaluate(study_file *s, const yaml *node);

/// Every run: its model, world, settings, and whether a model can be made of them.
plumb_status study_check_runs(study_file *s);

#endif
