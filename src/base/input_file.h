// SPDX-License-Identifier: MIT
// Input files: regular files, read by offset, never past the end.
#ifndef BASE_INPUT_FILE_H
#define BASE_INPUT_FILE_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/// An open file and its size when it was opened. `path` is the caller's and must outlive it.
typedef struct input_file {
    int fd;
    int64_t size;
    const char *path;
} input_file;

/// Opens a regular file; a directory, a FIFO or a device is refused without waiting for it.
plumb_status input_file_open(input_file *out, const char *path);
void input_file_close(input_file *file);

/// Exactly `bytes` bytes from `offset`. Fails with PLUMB_EFILE if the file has become shorter.
plumb_status input_file_read(void *out, const input_file *file, uint64_t offset, size_t bytes);

/// Reads a whole file into `mem`, with a zero byte after the last. Fails with PLUMB_EFORMAT if it
/// is larger than `limit` bytes.
plumb_status input_file_read_all(char **text, size_t *size, arena *mem, const char *path,
                                 int64_t limit);

/// The next entry of an open directory. NULL at the end, and where it cannot be read: then `*st`
/// becomes a failure that names `path`. Does nothing if `*st` is one already.
struct dirent *input_file_next_entry(plumb_status *st, DIR *directory, const char *path);

/// Bytes of memory this machine has: no file may ask for more.
uint64_t input_file_memory_limit(void);

#endif
