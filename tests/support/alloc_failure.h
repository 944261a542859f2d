// SPDX-License-Identifier: MIT
// An allocator that refuses the k-th request: include it in one test program, which then has it in
// place of the C library's. Not under the sanitizers, which have one of their own.
#ifndef TESTS_SUPPORT_ALLOC_FAILURE_H
#define TESTS_SUPPORT_ALLOC_FAILURE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STARVE 0
#else
#define STARVE 1

static long starve_until = -1; ///< requests that still succeed; negative: all
static long starve_live;       ///< blocks taken while counting, not yet given back
static bool starve_counting;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static bool starve_refuses(void)
{
    if (!starve_counting || starve_until < 0) return false;
    if (starve_until > 0) {
        starve_until--;
        return false;
    }
    errno = ENOMEM;
    return true;
}

static void *starve_count(void *block)
{
    if (block && starve_counting) starve_live++;
    return block;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return starve_refuses() ? NULL : starve_count(__libc_malloc(size));
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return starve_refuses() ? NULL : starve_count(__libc_calloc(count, size));
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t size)
{
    if (starve_refuses()) return NULL;
    void *block = __libc_realloc(old, size);
    return old ? block : starve_count(block);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size)
{
    return starve_refuses() ? NULL : starve_count(__libc_memalign(alignment, size));
}

__attribute__((visibility("default"))) void free(void *block)
{
    if (block && starve_counting) starve_live--;
    __libc_free(block);
}
#pragma GCC diagnostic pop
#endif

#endif
