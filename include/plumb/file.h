// SPDX-License-Identifier: MIT
// Files of arrays: NumPy's .npy and .npz, .safetensors, HDF5 where this build has it, and to read
// only the dictionaries of numbers that PyTorch saves as .pth.
//
// Nothing in a file is trusted: every size is checked against the bytes that are there before
// memory is taken. HDF5 is read in a child process with limits of its own.
//
// A file that is refused has cost no more than twice its size and 16 MiB of memory; HDF5 files of
// many small datasets, whose list alone is larger, up to 64 MiB. What is compressed is unpacked on
// trial first if it promises more than twice what it takes in the file, so that reading it costs
// twice the unpacking. An array or a file that would unpack to 64 MiB or more at over 1000 to 1 is
// refused, since only a bomb or a constant does that: save a constant uncompressed.
#ifndef PLUMB_FILE_H
#define PLUMB_FILE_H

#include <stdbool.h>

#include "plumb/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An open file of named arrays. It owns what was read from it.
typedef struct plumb_file plumb_file;

/// Opens x.npy, x.npz, x.h5 (.hdf5), x.safetensors or x.pth (.pt) and lists what is in it; arrays
/// are read when asked for. A .npy file holds one array whose name is "".
PLUMB_API plumb_status plumb_file_open(plumb_file **out, const char *path);

/// Ends the file and every array read from it. NULL is allowed.
PLUMB_API void plumb_file_close(plumb_file *file);

/// How many arrays, and their names: "latent" in an .npz, "/group/latent" in an .h5.
PLUMB_API int64_t plumb_file_array_count(const plumb_file *file);
PLUMB_API const char *plumb_file_array_name(const plumb_file *file, int64_t index);

/// Is there an array of this name? In HDF5 the leading slash may be left out.
PLUMB_API bool plumb_file_has_array(const plumb_file *file, const char *name);

/// Reads one array, native byte order and row-major whatever the file has. `out->data` belongs to
/// the file. Fails with PLUMB_EFILE and a list of the names there are if `name` is not one.
PLUMB_API plumb_status plumb_file_read_array(plumb_array *out, plumb_file *file, const char *name);

/// Reads the array that an argument names: "x.npy", "x.npz:key", "x.h5:/path"; without a key
/// `fallback` is read, or the only array there is. Close `*file` when done with `out`.
PLUMB_API plumb_status plumb_file_read_spec(plumb_array *out, plumb_file **file,
                                            const char *argument, const char *fallback);

/// One array to be written.
typedef struct plumb_named_array {
    const char *name; ///< a key; for .h5 a path whose groups are made as needed
    plumb_array array;
} plumb_named_array;

/// Writes arrays to x.npy (one array), x.npz (stored, or deflated if `compress`), x.safetensors or
/// x.h5. The file appears whole or not at all, replacing what was there.
PLUMB_API plumb_status plumb_file_write(const char *path, const plumb_named_array *arrays,
                                        int64_t count, bool compress);

/// Can this build, on this machine, read and write HDF5?
PLUMB_API bool plumb_file_hdf5(void);

#ifdef __cplusplus
}
#endif
#endif
