// SPDX-License-Identifier: MIT
// What a file format is to plumb_file: four functions and a suffix.
#ifndef IO_ARRAY_FILE_H
#define IO_ARRAY_FILE_H

#include "base/arena.h"
#include "base/input_file.h"
#include "plumb/file.h"

/// The arrays of a file, in the file's order. Everything lives in the file's arena.
typedef struct file_names {
    const char **name;
    int64_t count;
} file_names;

typedef struct file_format {
    const char *suffix;
    /// Lists the arrays. On failure nothing is left open.
    plumb_status (*open)(void **state, file_names *names, arena *mem, const char *path);
    plumb_status (*read)(plumb_array *out, arena *mem, void *state, int64_t index);
    void (*close)(void *state);
    plumb_status (*save)(const char *path, const plumb_named_array *arrays, int64_t count,
                         bool compress);
    /// Type and shape; `*offset` is where the numbers lie in `*file` if they lie there as they do
    /// in memory, checked, else 0. With ndim -1 it says that only reading can tell. May be NULL.
    plumb_status (*look)(plumb_array *out, uint64_t *offset, const infile **file, void *state,
                         int64_t index);
} file_format;

/// An array by its type and shape, without its numbers where that can be had: `data` is NULL then.
/// With an offset, any part of the numbers can be read from `*in`.
plumb_status file_look(plumb_array *out, uint64_t *offset, const infile **in, plumb_file *file,
                       int64_t index);

#endif
