// SPDX-License-Identifier: MIT
// NumPy .npy files: one array behind a short header. Versions 1, 2 and 3. Arrays of strings are
// read as character codes with one more axis: dtype U5 of shape (3,) becomes u4 (3, 5), S5 u1.
#ifndef IO_NPY_H
#define IO_NPY_H

#include <stdio.h>

#include "base/arena.h"
#include "io/array_file.h"

enum {
    NPY_MAX_HEADER = 1 << 16,             ///< Longest header text that is read, in bytes.
    NPY_MAX_PREFIX = NPY_MAX_HEADER + 12, ///< The same with magic, version and length.
};

/// Checked contents of a header: `offset + bytes` is the size of the whole file.
typedef struct npy_header {
    plumb_dtype dtype; ///< Type of one element; of strings, type of one character.
    bool swapped;      ///< The byte order differs from this machine's.
    bool fortran;      ///< Column-major: the first axis varies fastest.
    bool text;         ///< Strings: the characters, u1 or u4, are the last axis.
    int64_t letters;   ///< Characters per string if `text`.
    int ndim;
    int64_t shape[PLUMB_MAX_DIMS];
    size_t offset; ///< Position of the first data byte.
    size_t bytes;  ///< Size of the data.
} npy_header;

/// Parses the header of a file of `total` bytes. The first `have` bytes are at `bytes`: all of
/// them, or at least NPY_MAX_PREFIX. `what` names the array in messages.
plumb_status npy_parse(npy_header *out, const void *bytes, size_t have, uint64_t total,
                       const char *what);

/// Fills `out` with exactly the next `bytes` bytes, or fails.
typedef plumb_status npy_source(void *context, void *out, size_t bytes);

/// Reads the array behind a checked header: allocates it in `mem`, fills it from `source`, and
/// converts it to native byte order and row-major.
plumb_status npy_load(plumb_array *out, arena *mem, const npy_header *header, npy_source *source,
                      void *context, const char *what);

/// Writes the header of `array` into `text`, padded to a multiple of 64 bytes, and returns its
/// size. NPY_MAX_WRITTEN bytes are always enough.
enum { NPY_MAX_WRITTEN = 1024 };
size_t npy_format_header(unsigned char text[NPY_MAX_WRITTEN], const plumb_array *array);

// ---- the format for plumb_file: a file with one array named "" ----

plumb_status npy_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status npy_read(plumb_array *out, arena *mem, void *state, int64_t index);
void npy_close(void *state);
plumb_status npy_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress);

#endif
