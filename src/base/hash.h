// SPDX-License-Identifier: MIT
// Identity of inputs: XXH3-128 of dtype, shape and values.
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "plumb/array.h"

/// Writes 32 hexadecimal digits and a zero. Arrays that are NULL count as absent.
void hash_arrays(char out[33], const plumb_array *const *arrays, int count);

/// The same of `size` bytes: the hash of one uint8 array.
void hash_bytes(char out[33], const void *data, size_t size);

#endif
