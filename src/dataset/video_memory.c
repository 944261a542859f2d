// SPDX-License-Identifier: MIT
// Memory for videos. The file of a mapping is removed as soon as it is open: its space is freed
// when the program ends, however it ends.
#define _GNU_SOURCE
#include "dataset/video_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/input_file.h"
#include "base/status.h"

// A file of `bytes` bytes without a name. Its space is reserved, so that no later write can fail.
static plumb_status create_file(int *out, const char *folder, int64_t bytes)
{
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/videos.XXXXXX", folder);
    const int file = mkostemp(path, O_CLOEXEC);
    if (file < 0)
        return fail(PLUMB_EFILE, "%s: no temporary file for the videos: %s", folder,
                    strerror(errno));
    unlink(path);
    // The free space is checked first: a file system may fill itself before it fails.
    struct statvfs about;
    double space = INFINITY;
    if (!fstatvfs(file, &about)) space = (double)about.f_bavail * (double)about.f_frsize;
    const int error = (double)bytes > space ? ENOSPC : posix_fallocate(file, 0, (off_t)bytes);
    if (error) {
        close(file);
        return fail(PLUMB_EFILE, "%s: no space for %.1f GB of training videos: %s", folder,
                    (double)bytes / 1e9, strerror(error));
    }
    *out = file;
    return PLUMB_OK;
}

static plumb_status map_file(uint8_t **out, video_mapping *mapping, const char *folder,
                             int64_t bytes)
{
    int file;
    plumb_status st = create_file(&file, folder, bytes);
    if (st) return st;
    void *at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        st = fail(PLUMB_EMEMORY, "%s: the videos cannot be mapped: %s", folder, strerror(errno));
    close(file);
    if (st) return st;
    *mapping = (video_mapping){at, (size_t)bytes};
    *out = at;
    return PLUMB_OK;
}

plumb_status video_memory_alloc(uint8_t **out, video_set *videos, arena *mem,
                                const video_place *place, bool mask)
{
    const int64_t shape[] = {videos->count, videos->steps, videos->height, videos->width,
                             mask ? 1 : videos->channels};
    int64_t bytes;
    const bool counted = array_count_checked(&bytes, shape, 5, 1);
    const uint64_t limit = input_file_memory_limit();
    const bool disk = place->folder && counted &&
                      (place->storage == VIDEO_STORAGE_DISK ||
                       (place->storage == VIDEO_STORAGE_AUTO && (uint64_t)bytes > limit / 2));
    if (!counted || (!disk && (uint64_t)bytes > limit))
        return fail(PLUMB_EVALUE,
                    "%lld trajectories of %lld frames do not fit into memory; take fewer, or "
                    "shorter ones",
                    (long long)videos->count, (long long)videos->steps);
    if (disk) {
        const plumb_status st = map_file(out, &videos->mapping[mask], place->folder, bytes);
        if (st) return st;
    } else if (!(*out = ARENA_ALLOC(mem, uint8_t, bytes))) {
        return PLUMB_EMEMORY;
    }
    if (mask) videos->mask = *out;
    else videos->frames = *out;
    return PLUMB_OK;
}

void video_memory_clear(video_set *videos)
{
    for (int i = 0; i < 2; i++) {
        if (!videos->mapping[i].at) continue;
        munmap(videos->mapping[i].at, videos->mapping[i].size);
        videos->mapping[i] = (video_mapping){0};
        if (i) videos->mask = NULL;
        else videos->frames = NULL;
    }
}
