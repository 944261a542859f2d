// SPDX-License-Identifier: MIT
// Videos as PNG sequences: a folder for each video, with its frames in the order of their names.
#ifndef DATASET_IMAGE_FOLDER_H
#define DATASET_IMAGE_FOLDER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "io/png.h"

/// The frames of one video, in their order.
typedef struct image_video {
    const char *folder;
    char **name;
    int64_t frames;
} image_video;

typedef struct image_folder {
    image_video *video;
    int64_t videos;
    int64_t steps;   ///< frames of the shortest video; of the others as many are read
    png_shape shape; ///< of every frame: that of the first
} image_folder;

/// Is there a PNG in the folder, or in one of its folders?
bool image_folder_is(const char *path);
/// Lists the videos: the folders that hold PNGs, or, if `path` holds them itself, one. Names are in
/// natural order, frame2 before frame10. Fails with PLUMB_EFILE if there is none.
plumb_status image_folder_open(image_folder *out, arena *mem, const char *path);
/// Reads a video into out (steps, height, width, channels).
plumb_status image_folder_read(uint8_t *out, const image_folder *folder, int64_t video);

#endif
