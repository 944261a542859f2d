// SPDX-License-Identifier: MIT
// results.jsonl: one line per run, appended under a lock by any number of processes. Readers skip a
// line that a kill left incomplete, and the next writer cuts it off.
#ifndef SWEEP_RESULTS_FILE_H
#define SWEEP_RESULTS_FILE_H

#include "base/arena.h"
#include "base/status.h"

/// Appends `line`, which has no newline, to results.jsonl in `folder`. When it returns, the line is
/// on the disk.
plumb_status results_file_append(const char *folder, const char *line);

/// Names of the runs that have a line without a failure, sorted.
typedef struct results_file_names {
    const char **names;
    int64_t count;
} results_file_names;
/// Reads them into `mem`. A file that does not exist has none.
plumb_status results_file_finished(results_file_names *out, arena *mem, const char *folder);
/// True if `name` is one of the names.
bool results_file_has(const results_file_names *names, const char *name);

#endif
