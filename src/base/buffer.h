// SPDX-License-Identifier: MIT
// Growing byte buffer, for output whose size is not known in advance.
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/// `{0}` is an empty buffer. If memory runs out, `failed` is set and later appends do nothing, so
/// it is enough to check it once at the end.
typedef struct buffer {
    unsigned char *data;
    size_t size, capacity;
    bool failed;
} buffer;

/// Appends `bytes` bytes for the caller to fill. NULL if out of memory.
unsigned char *buffer_grow(buffer *b, size_t bytes);
void buffer_put(buffer *b, const void *data, size_t bytes);
void buffer_printf(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Makes the buffer empty and keeps its memory.
void buffer_reset(buffer *b);
void buffer_clear(buffer *b);

#endif
