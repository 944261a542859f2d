// SPDX-License-Identifier: MIT
// The part of Python's pickle that dictionaries of scores are made of, read without ever calling
// anything: names are looked up in a closed list, and whatever is not in it is refused.
#ifndef IO_PICKLE_H
#define IO_PICKLE_H

#include "base/arena.h"
#include "plumb/array.h"

enum {
    PICKLE_MOST_BYTES = 4 << 20,
    PICKLE_MOST_VALUES = 1 << 16, ///< and as many entries of lists and dictionaries
};

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INTEGER,
    PICKLE_REAL,
    PICKLE_TEXT,
    PICKLE_BYTES,
    PICKLE_LIST, ///< and tuples
    PICKLE_DICT, ///< items are key, value, key, value ...
    PICKLE_NAME, ///< one of the closed list
    PICKLE_STORAGE,
    PICKLE_TENSOR, ///< items: storage, offset, sizes, strides
    PICKLE_DTYPE,
    PICKLE_NDARRAY,
} pickle_kind;

typedef struct pickle_value pickle_value;
struct pickle_value {
    pickle_kind kind;
    bool fortran; ///< PICKLE_NDARRAY
    bool text;    ///< PICKLE_DTYPE: code points, `count` a string
    bool swapped; ///< PICKLE_DTYPE: the other byte order
    plumb_dtype dtype;
    int64_t integer; ///< PICKLE_BOOL too; PICKLE_STORAGE: how many elements
    double real;
    const char *bytes; ///< PICKLE_TEXT, PICKLE_BYTES, PICKLE_STORAGE (its key); ends with a zero
    pickle_value **item;
    int64_t count; ///< of items or bytes; PICKLE_DTYPE: characters a string
};

/// The value that `size` bytes stand for; it lives in `mem`, and so does everything it points to.
/// `what` names the thing in messages. Fails with PLUMB_EFORMAT or PLUMB_EMEMORY.
plumb_status pickle_parse(pickle_value **out, arena *mem, const unsigned char *bytes, size_t size,
                          const char *what);

/// The value of a text key, or NULL.
const pickle_value *pickle_find(const pickle_value *dict, const char *key);

#endif
