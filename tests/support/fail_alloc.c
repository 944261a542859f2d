// SPDX-License-Identifier: MIT
// Linked into plumb_faulty, whose calls of malloc and its relatives the linker sends here (--wrap):
// allocation number PLUMB_FAIL_ALLOC of plumb's own code fails, counted from 0. Those of libraries
// do not. It works under AddressSanitizer too, which has an allocator of its own. At the end of
// each process the file PLUMB_COUNT_ALLOC gets a line with their number.
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);

static atomic_long alloc_count;
static long fails_at = -1;

__attribute__((constructor)) static void read_number(void)
{
    const char *text = getenv("PLUMB_FAIL_ALLOC");
    if (text) fails_at = strtol(text, NULL, 10);
}

__attribute__((destructor)) static void write_count(void)
{
    const char *path = getenv("PLUMB_COUNT_ALLOC");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", atomic_load(&alloc_count));
    fclose(file);
}

static bool is_refused(void)
{
    if (atomic_fetch_add(&alloc_count, 1) != fails_at) return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_refused() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_refused() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return is_refused() ? NULL : __real_strdup(text);
}
