// SPDX-License-Identifier: MIT
// A folder of .npy and .npz files as one file of arrays: x.npy is the array x, and so is x.npz if
// it has one array; of more they are x/a, x/b ...
#ifndef IO_FOLDER_H
#define IO_FOLDER_H

#include <stdbool.h>

#include "io/array_file.h"

/// True if the path is a folder.
bool folder_is(const char *path);

plumb_status folder_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status folder_read(plumb_array *out, arena *mem, void *state, int64_t index);
void folder_close(void *state);
plumb_status folder_save(const char *path, const plumb_named_array *arrays, int64_t count,
                         bool compress);

#endif
