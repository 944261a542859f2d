// SPDX-License-Identifier: MIT
// Any bytes as an .npz file, which lies in memory: refused, or arrays that are all there. Few
// changed members get past their checksum; what comes behind it is fuzz_npy.c's.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/npz.h"
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("input", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size) abort();
    arena mem = {0};
    array_file_names names = {0};
    void *state;
    if (npz_open(&state, &names, &mem, path) == PLUMB_OK) {
        for (int64_t i = 0; i < names.count; i++) {
            plumb_array array;
            if (npz_read(&array, &mem, state, i)) continue;
            fuzz_read_array(&array);
        }
        npz_close(state);
    }
    arena_clear(&mem);
    return 0;
}
