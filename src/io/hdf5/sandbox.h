// SPDX-License-Identifier: MIT
// The walls around HDF5: what a process that reads a stranger's file may still do.
#ifndef IO_HDF5_SANDBOX_H
#define IO_HDF5_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/// No core files, no new privileges, few descriptors, and an end when the parent ends.
void hdf5_sandbox_enter(void);

/// This much memory beyond what was in use at the first call, milliseconds of the processor from
/// now, and bytes of output.
void hdf5_sandbox_limit(uint64_t memory, uint64_t milliseconds, uint64_t output);

/// From here on only the system calls that reading needs: no network, no programs, no processes;
/// and without `may_open` no other files.
void hdf5_sandbox_restrict_calls(bool may_open);

#endif
