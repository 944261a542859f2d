// SPDX-License-Identifier: MIT
// Bytes from a file into native, row-major order.
#ifndef IO_REORDER_H
#define IO_REORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Turns the bytes of `count` elements of `size` bytes (1, 2, 4 or 8) around, in place.
void reorder_bytes(void *data, size_t size, int64_t count);

/// Copies an array whose first axis is fastest into one whose last axis is.
void reorder_to_rows(void *restrict out, const void *restrict in, size_t size, int ndim,
                     const int64_t *shape);

/// Is every byte 0 or 1?
bool reorder_is_bool(const void *data, size_t bytes);

#endif
