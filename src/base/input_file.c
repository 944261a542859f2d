// SPDX-License-Identifier: MIT
// Input files. They are read with pread, not mapped: if another program truncates a mapped file,
// the reader is killed.
#define _GNU_SOURCE
#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

plumb_status input_file_open(input_file *out, const char *path)
{
    // O_NONBLOCK: opening a FIFO without a writer would wait forever.
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    struct stat about;
    if (fstat(fd, &about) || !S_ISREG(about.st_mode)) {
        close(fd);
        return fail(PLUMB_EFILE, "%s: is %s; expected a regular file", path,
                    S_ISDIR(about.st_mode) ? "a directory" : "not a regular file");
    }
    *out = (input_file){.fd = fd, .size = (int64_t)about.st_size, .path = path};
    return PLUMB_OK;
}

void input_file_close(input_file *file)
{
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
}

plumb_status input_file_read(void *out, const input_file *file, uint64_t offset, size_t bytes)
{
    unsigned char *place = out;
    size_t done = 0;
    while (done < bytes) {
        const size_t left = bytes - done;
        // Linux reads at most 2 GiB per call, so large files are read in parts of 1 GiB.
        const size_t step = left < (1u << 30) ? left : 1u << 30;
        const ssize_t got = pread(file->fd, place + done, step, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(PLUMB_EFILE, "%s: %s", file->path, strerror(errno));
        if (got == 0) return fail(PLUMB_EFILE, "%s: became shorter while it was read", file->path);
        done += (size_t)got;
    }
    return PLUMB_OK;
}

plumb_status input_file_read_all(char **text, size_t *size, arena *mem, const char *path,
                                 int64_t limit)
{
    input_file file;
    plumb_status st = input_file_open(&file, path);
    if (st) return st;
    *size = (size_t)file.size;
    // One byte more is allocated: the text ends with a zero.
    if (file.size > limit)
        st = fail(PLUMB_EFORMAT, "%s: has %lld bytes, expected at most %lld", path,
                  (long long)file.size, (long long)limit);
    else if (!(*text = arena_alloc(mem, file.size + 1, 1))) st = PLUMB_EMEMORY;
    else st = input_file_read(*text, &file, 0, *size);
    input_file_close(&file);
    return st;
}

// The physical memory, or 16 GiB if it is unknown.
struct dirent *input_file_next_entry(plumb_status *st, DIR *directory, const char *path)
{
    if (*st) return NULL;
    errno = 0; // readdir() tells an error from the end by errno alone
    struct dirent *entry = readdir(directory);
    if (!entry && errno) *st = fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    return entry;
}

uint64_t input_file_memory_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)1 << 34;
}
