// SPDX-License-Identifier: MIT
// Lifecycle of result structs that own memory.
// A result has a pointer to its arena, so that one call frees all its arrays.
#include "base/result.h"

#include <stdlib.h>
#include <string.h>

arena *result_begin(void **memory)
{
    *memory = calloc(1, sizeof(arena));
    if (!*memory) fail(PLUMB_EMEMORY, "out of memory for the result");
    return *memory;
}

// Frees the arena of a result with all it holds.
static void free_memory(void *memory)
{
    if (memory) arena_clear(memory);
    free(memory);
}

plumb_status result_end(plumb_status st, void **memory)
{
    if (!st) return PLUMB_OK;
    free_memory(*memory);
    *memory = NULL;
    return st;
}

void result_clear(void *result, size_t size, void *memory)
{
    if (!result) return;
    free_memory(memory);
    memset(result, 0, size);
}
