// SPDX-License-Identifier: MIT
// Any bytes as a safetensors file, which lies in memory; and any bytes as the header of one whose
// length is right.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fd = -1;
static char path[64];

static void place(const void *data, size_t size, size_t at)
{
    if (size && pwrite(fd, data, size, (off_t)at) != (ssize_t)size) abort();
}

static void read_all(void)
{
    arena mem = {0};
    safetensors s;
    if (!safetensors_begin(&s, &mem, path)) {
        volatile unsigned sum = 0;
        for (int64_t i = 0; i < s.count; i++) {
            const arena_mark mark = arena_get_mark(&mem);
            plumb_array a;
            if (safetensors_find(&s, safetensors_name(&s, i)) != i) abort();
            if (safetensors_read(&a, &mem, &s, i)) continue;
            const size_t bytes = (size_t)plumb_array_count(&a) * plumb_dtype_size(a.dtype);
            for (size_t k = 0; k < bytes; k++) sum = sum + ((const uint8_t *)a.data)[k];
            arena_rewind(&mem, mark);
        }
        for (int64_t i = 0; i < s.metadata_count; i++)
            if (!safetensors_metadata(&s, s.metadata[i].key)) abort();
        safetensors_end(&s);
    }
    arena_clear(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (fd < 0) {
        fd = memfd_create("input", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0)) abort();
    place(data, size, 0);
    read_all();

    if (ftruncate(fd, 0)) abort();
    uint8_t head[8];
    for (int i = 0; i < 8; i++) head[i] = (uint8_t)((uint64_t)size >> 8 * i);
    place(head, 8, 0);
    place(data, size, 8);
    place("\0\1\2\3\4\5\6\7", 8, 8 + size);
    read_all();
    return 0;
}
