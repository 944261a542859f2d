// SPDX-License-Identifier: MIT
// Bytes that grow at their end, for what has no size before it is made.
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/// `{0}` is an empty buffer. Memory that runs out is remembered in `failed`, and nothing is put
/// any more: look at it once, at the end.
typedef struct buffer {
    unsigned char *data;
    size_t size, capacity;
    bool failed;
} buffer;

/// `bytes` more bytes, not set, to be filled by the caller at once; NULL if memory ran out.
unsigned char *buffer_grow(buffer *b, size_t bytes);
void buffer_put(buffer *b, const void *data, size_t bytes);
void buffer_printf(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Empty again; the memory stays for what comes next.
void buffer_reset(buffer *b);
void buffer_clear(buffer *b);

#endif
