// SPDX-License-Identifier: MIT
// NumPy .npz files: a zip file whose members KEY.npy are the arrays.
#ifndef IO_NPZ_H
#define IO_NPZ_H

#include "io/array_file.h"

plumb_status npz_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status npz_read(plumb_array *out, arena *mem, void *state, int64_t index);
void npz_close(void *state);
plumb_status npz_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress);
/// Reads an uncompressed array once to verify its checksum; of a compressed one only the header.
plumb_status npz_info(plumb_array *out, uint64_t *offset, const input_file **file, void *state,
                      int64_t index);

#endif
