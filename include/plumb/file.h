// SPDX-License-Identifier: MIT
// Files of arrays: .npy, .npz, .safetensors, HDF5 if this build has it, and read only the
// dictionaries that PyTorch saves as .pth, tables of numbers (.csv, .tsv) and folders of .npy and
// .npz files.
//
// Files are not trusted: every size is checked against the bytes that exist before memory is
// allocated. HDF5 is read in a child process with its own limits.
//
// Rejecting a file costs at most twice its size plus 16 MiB of memory; up to 64 MiB for HDF5 files
// with many small datasets, whose list alone is larger. Compressed data that declares more than
// twice its compressed size is decompressed once as a trial, so reading it costs two
// decompressions. An array or file of 64 MiB or more with a compression ratio above 1000 is
// rejected, because only a bomb or a constant compresses that well: save a constant uncompressed.
#ifndef PLUMB_FILE_H
#define PLUMB_FILE_H

#include <stdbool.h>

#include "plumb/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An open file of named arrays. It owns the arrays that were read from it.
typedef struct plumb_file plumb_file;

/// Opens x.npy, x.npz, x.h5 (.hdf5), x.safetensors or x.pth (.pt) and lists its arrays. Arrays are
/// read on demand. A .npy file has one array whose name is "". Of x.csv (.tsv), a line of names and
/// then numbers, each column is an array (rows,); columns z[0], z[1] ... are z (rows, k). A folder
/// has the array x of x.npy or x.npz.
PLUMB_API plumb_status plumb_file_open(plumb_file **out, const char *path);

/// Closes the file and frees every array read from it. May be NULL: file.
PLUMB_API void plumb_file_close(plumb_file *file);

/// Number of arrays, and their names: "latent" in an .npz, "/group/latent" in an .h5.
PLUMB_API int64_t plumb_file_array_count(const plumb_file *file);
PLUMB_API const char *plumb_file_array_name(const plumb_file *file, int64_t index);

/// Returns true if the file has an array of this name. In HDF5 the leading slash may be left out.
PLUMB_API bool plumb_file_has_array(const plumb_file *file, const char *name);

/// Reads one array, in native byte order and row-major. `out->data` belongs to the file. A name
/// "q,p" joins arrays: columns of a table become one array (rows, 2), two arrays (trajectories,
/// steps) one (trajectories, steps, 2), and other arrays are joined along their last axis. Fails
/// with PLUMB_EFILE and a list of the names if there is no such array, PLUMB_ESHAPE if arrays
/// cannot be joined.
PLUMB_API plumb_status plumb_file_read_array(plumb_array *out, plumb_file *file, const char *name);

/// Reads the array that a command-line argument names: "x.npy", "x.npz:key", "x.h5:/path". Without
/// a key it reads the array `fallback`, or the only array of the file. Close `*file` after use of
/// `out`. May be NULL: fallback.
PLUMB_API plumb_status plumb_file_read_spec(plumb_array *out, plumb_file **file,
                                            const char *argument, const char *fallback);

/// One array to write.
typedef struct plumb_named_array {
    const char *name;  ///< A key; in .h5 a path whose groups are created as needed.
    plumb_array array; ///< Row-major.
} plumb_named_array;

/// Writes arrays to x.npy (one array), x.npz (compressed if `compress`), x.safetensors or x.h5. The
/// file is written atomically and replaces an existing one.
PLUMB_API plumb_status plumb_file_write(const char *path, const plumb_named_array *arrays,
                                        int64_t count, bool compress);

#ifdef __cplusplus
}
#endif
#endif
