// SPDX-License-Identifier: MIT
// Output files that appear whole or not at all: written beside, synced, then renamed.
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include <stdio.h>

#include "base/status.h"

typedef struct output_file {
    FILE *stream;      ///< write here
    char path[4096];   ///< what it will be called
    char beside[4096]; ///< what it is called until then
} output_file;

/// Opens a file of a unique name beside `path`: x.part- and six letters, so that what a killed
/// process left is known for what it is.
plumb_status output_file_open(output_file *out, const char *path);
/// Syncs and renames it. On failure nothing is left behind and the old file, if any, stays.
plumb_status output_file_commit(output_file *out);
/// Gives up: removes what was written. Harmless after a commit.
void output_file_discard(output_file *out);

#endif
