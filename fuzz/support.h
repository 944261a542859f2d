// SPDX-License-Identifier: MIT
// What the targets share: files that lie in memory, and reading all of an array.
#ifndef FUZZ_SUPPORT_H
#define FUZZ_SUPPORT_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plumb/array.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_folder_path[64];

static inline void fuzz_remove_folder(void)
{
    DIR *folder = opendir(fuzz_folder_path);
    if (!folder) return;
    for (struct dirent *item; (item = readdir(folder));)
        if (item->d_name[0] != '.') unlinkat(dirfd(folder), item->d_name, 0);
    closedir(folder);
    rmdir(fuzz_folder_path);
}

/// A folder for the files of one target, the same in all calls. In memory where there is /dev/shm;
/// removed at the end.
static inline const char *fuzz_folder(void)
{
    if (fuzz_folder_path[0]) return fuzz_folder_path;
    snprintf(fuzz_folder_path, sizeof fuzz_folder_path, "%s/plumb-fuzz-%d",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (int)getpid());
    fuzz_remove_folder(); // of an earlier process that crashed
    if (mkdir(fuzz_folder_path, 0700)) abort();
    atexit(fuzz_remove_folder);
    return fuzz_folder_path;
}

/// Path of a file in the folder. The last eight paths are kept.
static inline const char *fuzz_path(const char *name)
{
    static char paths[8][128];
    static int next;
    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s", fuzz_folder(), name);
    return paths[next];
}

/// Writes a file of the folder. Returns its path.
static inline const char *fuzz_write(const char *name, const void *data, size_t size)
{
    const char *path = fuzz_path(name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size)) abort();
    close(fd);
    return path;
}

/// Reads every byte and every value, for AddressSanitizer to watch.
static inline void fuzz_read_array(const plumb_array *array)
{
    volatile double sum = 0;
    const int64_t count = plumb_array_count(array);
    const size_t bytes = (size_t)count * plumb_dtype_size(array->dtype);
    for (size_t i = 0; i < bytes; i++) sum = sum + ((const uint8_t *)array->data)[i];
    double values[256];
    for (int64_t i = 0; i < count; i += 256) {
        const int64_t n = count - i < 256 ? count - i : 256;
        plumb_array_to_double(values, array, i, n);
        sum = sum + values[n - 1];
    }
}

#endif
