// SPDX-License-Identifier: MIT
// HDF5 files, read and written by the helper program plumb-h5. The library itself never loads HDF5.
#ifndef IO_HDF5_CLIENT_H
#define IO_HDF5_CLIENT_H

#include "io/array_file.h"
#include "io/hdf5/protocol.h"

/// Returns true if the helper program is installed.
bool hdf5_client_available(void);

plumb_status hdf5_client_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status hdf5_client_read(plumb_array *out, arena *mem, void *state, int64_t index);
void hdf5_client_close(void *state);
plumb_status hdf5_client_save(const char *path, const plumb_named_array *arrays, int64_t count,
                              bool compress);

/// Gets the position of an array that is stored in one piece. For others ndim is -1.
plumb_status hdf5_client_info(plumb_array *out, uint64_t *offset, const input_file **file,
                              void *state, int64_t index);

/// Checks the reply to a write or reserve request.
plumb_status hdf5_client_check_written(const hdf5_reply *reply, const char *path);

/// Checks the superblock of a file of `size` bytes that starts with the `have` bytes at `start`:
/// at least HDF5_CLIENT_START bytes, or the whole file. Fails with PLUMB_EFORMAT.
enum { HDF5_CLIENT_START = 4096 };
plumb_status hdf5_client_precheck(const void *start, size_t have, uint64_t size, const char *path);

/// Checks an untrusted reply about one array, in a shared memory of `total` bytes, for a file of
/// `size` bytes. Sets type and shape of `out`, without data.
plumb_status hdf5_client_check_array(plumb_array *out, const hdf5_reply *reply, uint64_t total,
                                     uint64_t size, const char *path);
/// Checks an untrusted list of names, whose text is `body`, and copies them to `mem`.
plumb_status hdf5_client_check_names(array_file_names *out, arena *mem, const hdf5_reply *reply,
                                     const char *body, uint64_t total, const char *path);

#endif
