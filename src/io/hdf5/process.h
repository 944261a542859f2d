// SPDX-License-Identifier: MIT
// Starts the helper program plumb-h5 and waits for its end.
#ifndef IO_HDF5_PROCESS_H
#define IO_HDF5_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/// Finds the helper: the environment variable PLUMB_H5, else next to the library or the running
/// program, else the install path. Returns false if it is in none of them.
bool hdf5_process_find(char *path, size_t size);

/// Creates shared memory for request and reply. `path` is used in messages.
plumb_status hdf5_process_memory(int *out, const char *path);

/// Runs `plumb-h5 verb [name]` with the descriptors of an HDF5 file and of shared memory, for at
/// most `seconds`. PLUMB_OK means that it exited normally; the reply has its result. `path` is used
/// in messages. May be NULL: name.
plumb_status hdf5_process_run(const char *verb, const char *name, int file, int memory,
                              double seconds, const char *path);

#endif
