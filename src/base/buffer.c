// SPDX-License-Identifier: MIT
// Growing byte buffer. It grows by half its size at a time, so that many small appends stay linear.
// A failure is kept in the buffer, so that a caller checks once at the end.
#include "base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

unsigned char *buffer_grow(buffer *b, size_t bytes)
{
    size_t wanted;
    if (b->failed || __builtin_add_overflow(b->size, bytes, &wanted)) {
        b->failed = true;
        return NULL;
    }
    // Reallocate with some room to spare.
    if (wanted > b->capacity || !b->data) {
        const size_t room = wanted < SIZE_MAX / 2 ? wanted + wanted / 2 + 64 : wanted;
        unsigned char *grown = realloc(b->data, room);
        if (!grown) {
            b->failed = true;
            return NULL;
        }
        b->data = grown;
        b->capacity = room;
    }
    unsigned char *place = b->data + b->size;
    b->size = wanted;
    return place;
}

void buffer_put(buffer *b, const void *data, size_t bytes)
{
    unsigned char *place = buffer_grow(b, bytes);
    if (place && bytes) memcpy(place, data, bytes);
}

void buffer_printf(buffer *b, const char *format, ...)
{
    char line[1024];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = text_format_list(line, sizeof line, format, arguments);
    va_end(arguments);
    // Most texts fit into the line; longer ones are printed again, into the buffer itself.
    if (length >= 0 && (size_t)length < sizeof line) {
        buffer_put(b, line, (size_t)length);
    } else if (length >= 0) {
        unsigned char *place = buffer_grow(b, (size_t)length + 1);
        if (place) {
            text_format_list((char *)place, (size_t)length + 1, format, again);
            b->size--; // without the zero
        }
    }
    va_end(again);
}

void buffer_reset(buffer *b)
{
    b->size = 0;
    b->failed = false;
}

void buffer_clear(buffer *b)
{
    free(b->data);
    *b = (buffer){0};
}
