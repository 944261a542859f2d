// SPDX-License-Identifier: MIT
// The score files of other benchmarks, as plumb surprise takes them.
#ifndef CLI_CMD_SURPRISE_LOSSES_H
#define CLI_CMD_SURPRISE_LOSSES_H

#include "cli/common/command.h"

typedef struct losses_file {
    plumb_surprise_losses losses;
    plumb_array concept; ///< text, if there is metadata
    bool has_concept;
    void *text; ///< what `concept` points to
} losses_file;

/// Reads "losses" with "labels", or with "names" and a table that says what each clip is. Returns
/// the exit code, everything else having been said. Clear `out` in any case.
int losses_read(losses_file *out, const cli_command *c, plumb_file *file, const char *path,
                const char *metadata, int64_t context, plumb_surprise_frames frames);
void losses_clear(losses_file *losses);

#endif
