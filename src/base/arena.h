// SPDX-License-Identifier: MIT
// Arenas: memory with the lifetime of something you can point at.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena_block arena_block;

/// A plain struct the caller holds. `{0}` is an empty arena; blocks are taken as needed.
typedef struct arena {
    arena_block *top; // newest block; older ones hang below it
} arena;

typedef struct arena_mark {
    arena_block *block;
    size_t used;
} arena_mark;

void arena_clear(arena *mem);

/// `count` times `size` bytes, zeroed and aligned to 64; NULL if there is no memory or the product
/// overflows (the message is then already written, PLUMB_EMEMORY). Zero bytes give a valid pointer.
void *arena_alloc(arena *mem, int64_t count, size_t size);
char *arena_strdup(arena *mem, const char *text); ///< a copy

/// Scratch: what was taken after the mark is given back, and poisoned under AddressSanitizer.
arena_mark arena_get_mark(const arena *mem);
void arena_rewind(arena *mem, arena_mark mark);

/// Bytes taken from the system.
size_t arena_size(const arena *mem);

#define ARENA_ALLOC(mem, type, count) ((type *)arena_alloc((mem), (count), sizeof(type)))

#endif
