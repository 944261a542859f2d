// SPDX-License-Identifier: MIT
// HDF5 files, through the program plumb-h5: the library itself never loads HDF5.
#ifndef DATA_H5CLIENT_H
#define DATA_H5CLIENT_H

#include "data/file.h"

/// Is the program there?
bool h5client_available(void);

plumb_status h5client_open(void **state, file_names *names, arena *mem, const char *path);
plumb_status h5client_read(plumb_array *out, arena *mem, void *state, int64_t index);
void h5client_close(void *state);
plumb_status h5client_save(const char *path, const plumb_named_array *arrays, int64_t count,
                           bool compress);

#endif
