// SPDX-License-Identifier: MIT
// Turns frames of any number type and size into bytes of the size that a model takes.
#ifndef DATASET_VIDEO_RESIZE_H
#define DATASET_VIDEO_RESIZE_H

#include "base/arena.h"
#include "base/status.h"
#include "plumb/array.h"

enum { VIDEO_LARGEST_SIDE = 64 }; ///< Larger frames of a file are resized, unless the user says so.

/// The size that frames of a file get. All 0: at most VIDEO_LARGEST_SIDE on the larger side.
typedef struct frame_size {
    int64_t side;          ///< Pixels of the larger side; frames are never enlarged.
    int64_t height, width; ///< The exact size; `side` does not count then.
} frame_size;

/// Sets out->height and out->width for frames of this size.
void video_resize_fit(frame_size *out, const frame_size *wanted, int64_t height, int64_t width);

/// Converts frames (steps, height, width, channels), or grey ones (steps, height, width), to bytes
/// (steps, size->height, size->width, channels). Pixels are averages over areas. Floats are 0 to 1,
/// integers 0 to 255; other values fail with PLUMB_EFORMAT. `what` is for messages.
plumb_status video_resize(uint8_t *out, const plumb_array *frames, const frame_size *size,
                          const char *what);

#endif
