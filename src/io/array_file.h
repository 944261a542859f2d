// SPDX-License-Identifier: MIT
// What a file format is to plumb_file: four functions and a suffix.
#ifndef IO_ARRAY_FILE_H
#define IO_ARRAY_FILE_H

#include "base/arena.h"
#include "base/input_file.h"
#include "plumb/file.h"

/// The arrays of a file, in the file's order. Everything lives in the file's arena.
typedef struct array_file_names {
    const char **name;
    int64_t count;
} array_file_names;

typedef struct array_file_format {
    const char *suffix;
    /// Lists the arrays. On failure nothing is left open.
    plumb_status (*open)(void **state, array_file_names *names, arena *mem, const char *path);
    plumb_status (*read)(plumb_array *out, arena *mem, void *state, int64_t index);
    void (*close)(void *state);
    plumb_status (*save)(const char *path, const plumb_named_array *arrays, int64_t count,
                         bool compress);
    /// Type and shape; `*offset` is where the numbers lie in `*file` if they lie there as they do
    /// in memory, checked, else 0. With ndim -1 it says that only reading can tell. May be NULL.
    plumb_status (*look)(plumb_array *out, uint64_t *offset, const input_file **file, void *state,
                         int64_t index);
} array_file_format;

/// An array by its type and shape, without its numbers where that can be had: `data` is NULL then.
/// With an offset, any part of the numbers can be read from `*in`.
plumb_status array_file_info(plumb_array *out, uint64_t *offset, const input_file **in,
                             plumb_file *file, int64_t index);

#endif
