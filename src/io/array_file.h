// SPDX-License-Identifier: MIT
// Interface of one array file format: a suffix and five functions. plumb_file picks the format by
// the suffix of the path.
#ifndef IO_ARRAY_FILE_H
#define IO_ARRAY_FILE_H

#include "base/arena.h"
#include "base/input_file.h"
#include "plumb/file.h"

/// Names of the arrays in a file, in the order of the file. The arena of the file owns them.
typedef struct array_file_names {
    const char **name; ///< `count` strings.
    int64_t count;     ///< Number of arrays.
} array_file_names;

/// One format. All functions get the `state` that `open` made.
typedef struct array_file_format {
    const char *suffix; ///< With the dot, compared without regard to case.
    /// Opens a file and lists its arrays. On failure nothing is left open.
    plumb_status (*open)(void **state, array_file_names *names, arena *mem, const char *path);
    /// Reads array `index` into memory from `mem`, in native byte order and row-major.
    plumb_status (*read)(plumb_array *out, arena *mem, void *state, int64_t index);
    void (*close)(void *state);
    /// Writes a new file atomically.
    plumb_status (*save)(const char *path, const plumb_named_array *arrays, int64_t count,
                         bool compress);
    /// Gets type and shape of an array. If its bytes are in the file exactly as in memory, and
    /// were checked, `*offset` is their position in `*file`; otherwise 0. ndim is -1 if only `read`
    /// can tell the shape. May be NULL.
    plumb_status (*info)(plumb_array *out, uint64_t *offset, const input_file **file, void *state,
                         int64_t index);
} array_file_format;

/// Gets type and shape of an array. Where the format allows it the values are not read and `data`
/// is NULL. If `*offset` is not 0, any part of the values can be read from `*in` at that position.
plumb_status array_file_info(plumb_array *out, uint64_t *offset, const input_file **in,
                             plumb_file *file, int64_t index);

#endif
