// SPDX-License-Identifier: MIT
// Arena allocator: many allocations, freed together.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena_block arena_block;

/// `{0}` is an empty arena; blocks are allocated when they are needed.
typedef struct arena {
    arena_block *top; // newest block; older ones hang below it
} arena;

typedef struct arena_mark {
    arena_block *block;
    size_t used;
} arena_mark;

void arena_clear(arena *mem);

/// Allocates `count` times `size` bytes, zeroed and aligned to 64. NULL, with the message of
/// PLUMB_EMEMORY, if out of memory or if the product overflows. Zero bytes give a valid pointer.
void *arena_alloc(arena *mem, int64_t count, size_t size);
char *arena_strdup(arena *mem, const char *text); ///< Copies a string; NULL if out of memory.

/// A mark for scratch memory: arena_rewind() frees what was allocated after it.
arena_mark arena_get_mark(const arena *mem);
void arena_rewind(arena *mem, arena_mark mark);

/// Bytes allocated from the system.
size_t arena_size(const arena *mem);

#define ARENA_ALLOC(mem, type, count) ((type *)arena_alloc((mem), (count), sizeof(type)))

#endif
