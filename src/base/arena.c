// SPDX-License-Identifier: MIT
// Arena allocator: a stack of blocks. Each new block is as large as all blocks before it together,
// up to 64 MiB, so that an arena needs few calls of malloc. Larger requests get their own block.
// Memory that is not in use is poisoned under AddressSanitizer.
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif

#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#define POISON(address, size) __asan_poison_memory_region((address), (size))
#define UNPOISON(address, size) __asan_unpoison_memory_region((address), (size))
#else
#define POISON(address, size) ((void)(address), (void)(size))
#define UNPOISON(address, size) ((void)(address), (void)(size))
#endif

// 64 bytes: a cache line, and a register of AVX-512.
enum { ALIGN = 64, FIRST_BLOCK = 1 << 16 };

struct arena_block {
    arena_block *below;
    size_t size; // of the data
    size_t used;
    size_t total; // of this block and all below
    unsigned char *data;
};

// Allocates a block on top of `below`. NULL if out of memory.
static arena_block *block_create(arena_block *below, size_t size)
{
    arena_block *block = malloc(sizeof *block);
    if (!block) return NULL;
    block->data = aligned_alloc(ALIGN, size);
    if (!block->data) {
        free(block);
        return NULL;
    }
    block->below = below;
    block->size = size;
    block->used = 0;
    block->total = size + (below ? below->total : 0);
    POISON(block->data, size);
    return block;
}

static void block_free(arena_block *block)
{
    UNPOISON(block->data, block->size);
    free(block->data);
    free(block);
}

void arena_clear(arena *mem)
{
    while (mem->top) {
        arena_block *below = mem->top->below;
        block_free(mem->top);
        mem->top = below;
    }
}

void *arena_alloc(arena *mem, int64_t count, size_t size)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) || bytes > SIZE_MAX / 2) {
        fail(PLUMB_EMEMORY, "%lld items of %zu bytes are more than memory can hold",
             (long long)count, size);
        return NULL;
    }
    // An empty request gets memory too, so that NULL always means failure.
    bytes = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;

    // A new block if the request does not fit into the top one.
    if (!mem->top || mem->top->size - mem->top->used < bytes) {
        // Growth is limited, because the last block may stay mostly unused.
        size_t want = mem->top ? mem->top->total : FIRST_BLOCK;
        if (want > ((size_t)1 << 26)) want = (size_t)1 << 26;
        if (want < bytes) want = bytes;
        arena_block *block = block_create(mem->top, want);
        if (!block) {
            fail(PLUMB_EMEMORY, "out of memory for %zu bytes", bytes);
            return NULL;
        }
        mem->top = block;
    }
    unsigned char *place = mem->top->data + mem->top->used;
    mem->top->used += bytes;
    UNPOISON(place, bytes);
    // All memory of an arena starts as zero.
    memset(place, 0, bytes);
    return place;
}

char *arena_strdup(arena *mem, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = arena_alloc(mem, (int64_t)size, 1);
    if (copy) memcpy(copy, text, size);
    return copy;
}

arena_mark arena_get_mark(const arena *mem)
{
    return (arena_mark){mem->top, mem->top ? mem->top->used : 0};
}

void arena_rewind(arena *mem, arena_mark mark)
{
    // Free the blocks above the mark, then what is above it in its block.
    while (mem->top != mark.block) {
        arena_block *below = mem->top->below;
        block_free(mem->top);
        mem->top = below;
    }
    if (!mem->top) return;
    POISON(mem->top->data + mark.used, mem->top->used - mark.used);
    mem->top->used = mark.used;
}

size_t arena_size(const arena *mem)
{
    return mem->top ? mem->top->total : 0;
}
