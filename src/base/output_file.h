// SPDX-License-Identifier: MIT
// Atomic output files: written under a temporary name, synced, then renamed. Symbolic links are
// followed. A device or a pipe is written to directly.
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

typedef struct output_file {
    FILE *stream;         ///< write here
    char path[4096];      ///< the final name, symbolic links followed
    char temporary[4096]; ///< the name until output_file_commit
    bool is_direct;       ///< a device or a pipe: there is no temporary file
} output_file;

/// Opens a file with a unique temporary name next to `path`: PATH.part- and six letters, so that
/// the file of a killed process can be recognised.
plumb_status output_file_open(output_file *out, const char *path);
/// Syncs and renames it. On failure nothing is left behind and the old file, if any, stays.
plumb_status output_file_commit(output_file *out);
/// Removes what was written. Does nothing after output_file_commit.
void output_file_discard(output_file *out);

/// Writes a whole file atomically.
plumb_status output_file_write_all(const char *path, const void *data, size_t size);

#endif
