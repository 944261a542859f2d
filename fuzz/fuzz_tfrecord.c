// SPDX-License-Identifier: MIT
// Any bytes as a TFRecord file, plain or gzip; the file lies in memory. A checksum is a wall that
// random bytes do not climb, so the same bytes are also framed and read back.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/tfrecord.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fd = -1;
static char path[64];

static void place(const void *data, size_t size, size_t at)
{
    if (size && pwrite(fd, data, size, (off_t)at) != (ssize_t)size) abort();
}

static int64_t read_all(void)
{
    tfrecord file;
    if (tfrecord_open(&file, path)) return -1;
    volatile unsigned sum = 0;
    for (int64_t i = file.count - 1; i >= 0; i--) {
        const unsigned char *bytes;
        size_t length;
        if (tfrecord_read(&bytes, &length, &file, i)) continue;
        for (size_t k = 0; k < length; k++) sum = sum + bytes[k];
    }
    const int64_t count = file.count;
    tfrecord_close(&file);
    return count;
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

    // Right frames around two parts of it, and then the rest as it is.
    const size_t half = size / 2;
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
    if (ftruncate(fd, 0)) abort();
    tfrecord_frame(head, tail, data, half);
    place(head, sizeof head, 0);
    place(data, half, sizeof head);
    place(tail, sizeof tail, sizeof head + half);
    // A length can happen to look like the start of gzip.
    if (read_all() != 1 && !(head[0] == 0x1f && head[1] == 0x8b)) abort();
    place(data + half, size - half, sizeof head + half + sizeof tail);
    read_all();
    return 0;
}
