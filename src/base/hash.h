// SPDX-License-Identifier: MIT
// Identity of inputs: XXH3-128 of dtype, shape and values.
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "plumb/array.h"
#include "plumb/status.h"

/// Writes 32 hexadecimal digits and a zero. Arrays that are NULL count as absent.
void hash_arrays(char out[33], const plumb_array *const *arrays, int count);

/// The hash of one array whose values come in parts, in order. `shape` is that of the whole.
/// hash_stream_end() frees it and writes what hash_arrays() writes of the array.
typedef struct hash_stream hash_stream;
plumb_status hash_stream_begin(hash_stream **out, plumb_dtype dtype, int ndim,
                               const int64_t *shape);
void hash_stream_add(hash_stream *stream, const void *data, size_t size);
void hash_stream_end(char out[33], hash_stream *stream);

/// The same of `size` bytes: the hash of one uint8 array.
void hash_bytes(char out[33], const void *data, size_t size);

#endif
