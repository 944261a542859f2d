// SPDX-License-Identifier: MIT
// Runs the program plumb-h5 and waits for it.
#ifndef IO_HDF5_PROCESS_H
#define IO_HDF5_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/// Where the program is: PLUMB_H5, else beside the library or the program, else where it was
/// installed. False if it is nowhere.
bool hdf5_process_find(char *path, size_t size);

/// Memory that both can see.
plumb_status hdf5_process_memory(int *out, const char *path);

/// Runs `plumb-h5 verb [name]` on the descriptors of an HDF5 file and of shared memory, for at most
/// `seconds`. PLUMB_OK means that it ended by itself, not that it was content. `path` is for
/// messages.
plumb_status hdf5_process_run(const char *verb, const char *name, int file, int memory,
                              double seconds, const char *path);

#endif
