// SPDX-License-Identifier: MIT
// Converts array data from a file to native byte order and row-major.
#ifndef IO_REORDER_H
#define IO_REORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Reverses the bytes of each of `count` elements of `size` bytes (1, 2, 4 or 8), in place.
void reorder_bytes(void *data, size_t size, int64_t count);

/// Copies a column-major array (first axis varies fastest) into a row-major one.
void reorder_to_rows(void *restrict out, const void *restrict in, size_t size, int ndim,
                     const int64_t *shape);

/// Returns true if every byte is 0 or 1.
bool reorder_is_bool(const void *data, size_t bytes);

#endif
