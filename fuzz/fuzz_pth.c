// SPDX-License-Identifier: MIT
// Any bytes as what torch.save writes. Those that begin like a zip file are one; all others are the
// pickle inside one, with a storage of 64 bytes beside it and checksums that are right, for few
// changed members would get past them.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/pth.h"
#include "support.h"

typedef struct out {
    uint8_t *b;
    size_t n;
} out;

static void put(out *o, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) o->b[o->n++] = i < 8 ? (uint8_t)(value >> 8 * i) : 0;
}

static void text(out *o, const void *bytes, size_t n)
{
    if (n) memcpy(o->b + o->n, bytes, n);
    o->n += n;
}

static uint32_t crc(const uint8_t *b, size_t n)
{
    uint32_t c = ~UINT32_C(0);
    for (size_t i = 0; i < n; i++) {
        c ^= b[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
    }
    return ~c;
}

static void entry(out *o, const char *name, const uint8_t *data, size_t size, uint32_t offset,
                  bool directory)
{
    text(o, directory ? "PK\1\2\24\0\24\0\0\0" : "PK\3\4\24\0\0\0", directory ? 10 : 8);
    put(o, 0, 2); // stored
    put(o, 0, 4);
    put(o, crc(data, size), 4);
    put(o, size, 4);
    put(o, size, 4);
    put(o, strlen(name), 2);
    put(o, 0, 2);
    if (directory) {
        put(o, 0, 10);
        put(o, offset, 4);
    }
    text(o, name, strlen(name));
    if (!directory) text(o, data, size);
}

static out wrap(const uint8_t *data, size_t size)
{
    static const char *const names[2] = {"a/data.pkl", "a/data/0"};
    static uint8_t storage[64];
    const uint8_t *const bytes[2] = {data, storage};
    const size_t sizes[2] = {size, sizeof storage};
    out o = {malloc(size + 1024), 0};
    if (!o.b) abort();
    uint32_t offset[2];
    for (int i = 0; i < 2; i++) {
        offset[i] = (uint32_t)o.n;
        entry(&o, names[i], bytes[i], sizes[i], 0, false);
    }
    const size_t start = o.n;
    for (int i = 0; i < 2; i++) entry(&o, names[i], bytes[i], sizes[i], offset[i], true);
    const size_t end = o.n;
    text(&o, "PK\5\6\0\0\0\0\2\0\2\0", 12);
    put(&o, end - start, 4);
    put(&o, start, 4);
    put(&o, 0, 2);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("input", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    const bool whole = size > 2 && data[0] == 'P' && data[1] == 'K';
    out o = whole ? (out){(uint8_t *)data, size} : wrap(data, size);
    if (ftruncate(fd, 0) || pwrite(fd, o.b, o.n, 0) != (ssize_t)o.n) abort();
    if (!whole) free(o.b);
    arena mem = {0};
    array_file_names names = {0};
    void *state;
    if (pth_open(&state, &names, &mem, path) == PLUMB_OK) {
        for (int64_t i = 0; i < names.count; i++) {
            plumb_array array;
            if (pth_read(&array, &mem, state, i)) continue;
            fuzz_read_array(&array);
        }
        pth_close(state);
    }
    arena_clear(&mem);
    return 0;
}
