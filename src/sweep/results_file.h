// SPDX-License-Identifier: MIT
// results.jsonl: one line a run, added at the end under a lock, by however many processes. A line
// that a kill cut short is no line: readers pass over it, and the next writer cuts it off.
#ifndef SWEEP_RESULTS_FILE_H
#define SWEEP_RESULTS_FILE_H

#include "base/arena.h"
#include "base/status.h"

/// Adds `line`, which has no newline, to results.jsonl in `folder`, on the disk when it returns.
plumb_status results_file_append(const char *folder, const char *line);

/// Names of the runs that have a line there which tells of no failure, sorted. In `mem`.
typedef struct results_file_names {
    const char **name;
    int64_t count;
} results_file_names;
plumb_status results_file_finished(results_file_names *out, arena *mem, const char *folder);
bool results_file_has(const results_file_names *names, const char *name);

#endif
