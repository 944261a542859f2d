// SPDX-License-Identifier: MIT
// Memory for the frames of training videos: of the program, or a temporary file that is mapped and
// that the system reads page by page as clips are taken from it.
#ifndef DATASET_VIDEO_MEMORY_H
#define DATASET_VIDEO_MEMORY_H

#include "base/arena.h"
#include "dataset/video.h"

/// Where videos are held.
typedef enum video_storage {
    VIDEO_STORAGE_AUTO, ///< in memory if they take at most half of it, else on disk
    VIDEO_STORAGE_MEMORY,
    VIDEO_STORAGE_DISK,
} video_storage;

typedef struct video_place {
    video_storage storage;
    const char *folder; ///< of the temporary file; NULL: always in memory
} video_place;

/// Takes memory for the frames of `videos`, whose shape is set, or with `mask` for their masks.
/// Fails with PLUMB_EVALUE if they do not fit, PLUMB_EFILE if the disk has not enough space. What
/// is on disk is freed by video_memory_clear(), the rest with `mem`.
plumb_status video_memory_alloc(uint8_t **out, video_set *videos, arena *mem,
                                const video_place *place, bool mask);

/// Frees what is on disk. Frames and masks of it are NULL afterwards.
void video_memory_clear(video_set *videos);

#endif
