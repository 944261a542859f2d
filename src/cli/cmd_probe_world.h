// SPDX-License-Identifier: MIT
// Targets that a world supplies: velocities, forces, energy, orbital elements, constants.
#ifndef CLI_CMD_PROBE_WORLD_H
#define CLI_CMD_PROBE_WORLD_H

#include "cli/common/command.h"

enum { PROBE_WORLD_MAX = 80 };

/// Arrays made of the true states of a world.
typedef struct probe_world {
    const plumb_world_info *info;
    plumb_array array[PROBE_WORLD_MAX];
    const char *name[PROBE_WORLD_MAX];
    const char *const *columns[PROBE_WORLD_MAX]; ///< names of columns, or NULL
    int count;
} probe_world;

/// Computes the quantities of the states `truth` of world `name`. Constants are in the array
/// "parameters" of `file`, or in arrays with their own names; without them those of the world
/// count. Returns the exit code.
int probe_world_read(probe_world *out, const char *name, const plumb_array *truth,
                     plumb_file *file);
void probe_world_free(probe_world *targets);

#endif
