// SPDX-License-Identifier: MIT
// What a file format is to plumb_file: four functions and a suffix.
#ifndef DATA_FILE_H
#define DATA_FILE_H

#include "base/arena.h"
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
} file_format;

#endif
