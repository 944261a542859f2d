// SPDX-License-Identifier: MIT
// Reads the subset of Python's pickle format that dictionaries of scores and tensors need, without
// calling anything: global names are looked up in a closed list and all others are rejected.
#ifndef IO_PICKLE_H
#define IO_PICKLE_H

#include "base/arena.h"
#include "plumb/array.h"

enum {
    PICKLE_MAX_BYTES = 4 << 20,
    PICKLE_MAX_VALUES = 1 << 16, ///< Also the limit on entries of all lists and dictionaries.
};

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INTEGER,
    PICKLE_REAL,
    PICKLE_TEXT,
    PICKLE_BYTES,
    PICKLE_LIST, ///< Lists and tuples.
    PICKLE_DICT, ///< Items are key, value, key, value ...
    PICKLE_NAME, ///< A global name of the closed list.
    PICKLE_STORAGE,
    PICKLE_TENSOR, ///< Items: storage, offset, sizes, strides.
    PICKLE_DTYPE,
    PICKLE_NDARRAY,
} pickle_kind;

typedef struct pickle_value pickle_value;
struct pickle_value {
    pickle_kind kind;
    bool frozen;   ///< Later instructions may not change it: a tuple, or part of a checked object.
    bool fortran;  ///< PICKLE_NDARRAY: column-major.
    bool text;     ///< PICKLE_DTYPE: strings of `count` characters each.
    bool bfloat16; ///< PICKLE_STORAGE: elements are bfloat16, stored as u2.
    bool swapped;  ///< PICKLE_DTYPE: the byte order differs from this machine's.
    plumb_dtype dtype; ///< PICKLE_STORAGE, PICKLE_DTYPE.
    int64_t integer;   ///< PICKLE_INTEGER, PICKLE_BOOL; PICKLE_STORAGE: number of elements.
    double real;       ///< PICKLE_REAL.
    const char *bytes; ///< PICKLE_TEXT, PICKLE_BYTES, PICKLE_STORAGE (its key); zero-terminated.
    pickle_value **item;
    int64_t count; ///< Number of items or bytes; PICKLE_DTYPE: characters per string.
};

/// Parses `size` bytes. The value and everything it points to live in `mem`. `what` names the file
/// in messages. Fails with PLUMB_EFORMAT or PLUMB_EMEMORY.
plumb_status pickle_parse(pickle_value **out, arena *mem, const unsigned char *bytes, size_t size,
                          const char *what);

#endif
