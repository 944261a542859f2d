// SPDX-License-Identifier: MIT
// HDF5 files, through the program plumb-h5: the library itself never loads HDF5.
#ifndef IO_HDF5_CLIENT_H
#define IO_HDF5_CLIENT_H

#include "io/array_file.h"
#include "io/hdf5/protocol.h"

/// Is the program there?
bool hdf5_client_available(void);

plumb_status hdf5_client_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status hdf5_client_read(plumb_array *out, arena *mem, void *state, int64_t index);
void hdf5_client_close(void *state);
plumb_status hdf5_client_save(const char *path, const plumb_named_array *arrays, int64_t count,
                              bool compress);

/// Where an array in one piece lies; of others only reading can tell.
plumb_status hdf5_client_info(plumb_array *out, uint64_t *offset, const input_file **file,
                              void *state, int64_t index);

/// A reply to anything that was to be written.
plumb_status hdf5_client_check_written(const hdf5_reply *reply, const char *path);

/// Could a file of `size` bytes that starts with the `have` bytes at `start` be HDF5? Looks at the
/// superblock only; `have` is at least H5CLIENT_START or all there is. Fails with PLUMB_EFORMAT.
enum { H5CLIENT_START = 4096 };
plumb_status hdf5_client_precheck(const void *start, size_t have, uint64_t size, const char *path);

/// What the program says is not trusted. Checks a reply about one array, in a memory of `total`
/// bytes, about a file of `size`, and makes `out` of it, without data.
plumb_status hdf5_client_check_array(plumb_array *out, const hdf5_reply *reply, uint64_t total,
                                     uint64_t size, const char *path);
/// The same for a list of names, whose text is `body`: copies them to `mem`.
plumb_status hdf5_client_check_names(array_file_names *out, arena *mem, const hdf5_reply *reply,
                                     const char *body, uint64_t total, const char *path);

#endif
