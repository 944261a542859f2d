// SPDX-License-Identifier: MIT
// NumPy's .npy: one array, a short header in front of its bytes. Versions 1, 2 and 3. Arrays of
// strings are read as their letters: dtype U5, (3,) as u4 (3, 5), dtype S5 as u1.
#ifndef IO_NPY_H
#define IO_NPY_H

#include <stdio.h>

#include "base/arena.h"
#include "io/array_file.h"

enum {
    NPY_HEADER_LIMIT = 1 << 16,               ///< longest header text that is read
    NPY_PREFIX_LIMIT = NPY_HEADER_LIMIT + 12, ///< the same with magic, version and length
};

/// What a header says, checked: `offset + bytes` is the size of the whole file.
typedef struct npy_header {
    plumb_dtype dtype;
    bool swapped; ///< the other byte order than this machine's
    bool fortran; ///< first axis fastest
    bool text;    ///< of strings: letters, u1 or u4, are an axis of their own, the last
    int64_t letters;
    int ndim;
    int64_t shape[PLUMB_MAX_DIMS];
    size_t offset; ///< where the data starts
    size_t bytes;  ///< of data
} npy_header;

/// Reads the header of an array of `total` bytes altogether, of which the first `have` are at
/// `bytes`: all, or at least NPY_PREFIX_LIMIT. `what` names the thing in messages.
plumb_status npy_parse(npy_header *out, const void *bytes, size_t have, uint64_t total,
                       const char *what);

/// Fills `out` with the next `bytes` bytes, all of them, or fails.
typedef plumb_status npy_source(void *context, void *out, size_t bytes);

/// The array behind a checked header: taken from `mem`, filled by `source`, made native and
/// row-major.
plumb_status npy_load(plumb_array *out, arena *mem, const npy_header *header, npy_source *source,
                      void *context, const char *what);

/// Writes the header of `array`, padded to a multiple of 64 bytes, into `text` and returns its
/// size. NPY_WRITE_LIMIT is always enough.
enum { NPY_WRITE_LIMIT = 1024 };
size_t npy_format_header(unsigned char text[NPY_WRITE_LIMIT], const plumb_array *array);

/// A .npy file as a file of one array.
plumb_status npy_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status npy_read(plumb_array *out, arena *mem, void *state, int64_t index);
void npy_close(void *state);
plumb_status npy_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress);

#endif
