// SPDX-License-Identifier: MIT
// Sandbox of the HDF5 helper: resource limits and a system-call filter for a process that reads
// untrusted files.
#ifndef IO_HDF5_SANDBOX_H
#define IO_HDF5_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/// Sets what holds from the start: no core files, no new privileges, 16 descriptors, and the end of
/// the process when its parent ends.
void hdf5_sandbox_enter(void);

/// Limits memory to `memory` bytes more than were in use at the first call, processor time to
/// `milliseconds` from now, and written files to `output` bytes.
void hdf5_sandbox_limit(uint64_t memory, uint64_t milliseconds, uint64_t output);

/// Allows from now on only the system calls that reading needs: no network, no programs, no
/// processes. Without `may_open`, no opening of files either.
void hdf5_sandbox_restrict_calls(bool may_open);

#endif
