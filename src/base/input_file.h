// SPDX-License-Identifier: MIT
// Input files: regular ones only, read by offset, never past the end.
#ifndef BASE_INPUT_FILE_H
#define BASE_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/// An open file and its size when it was opened. `path` is the caller's and must outlive it.
typedef struct infile {
    int fd;
    int64_t size;
    const char *path;
} infile;

/// Opens a regular file; a directory, a FIFO or a device is refused without waiting for it.
plumb_status infile_open(infile *out, const char *path);
void infile_close(infile *file);

/// Exactly `bytes` bytes from `offset`. Fails with PLUMB_EFILE if the file has become shorter.
plumb_status infile_read(void *out, const infile *file, uint64_t offset, size_t bytes);

/// Bytes of memory this machine has: no file may ask for more.
uint64_t infile_memory(void);

#endif
