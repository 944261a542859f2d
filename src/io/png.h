// SPDX-License-Identifier: MIT
// The door to libpng: 8-bit pictures in memory.
#ifndef IO_PNG_H
#define IO_PNG_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

/// Largest width or height, libpng's own limit.
enum { PNG_LIMIT = 1000000 };

/// What a picture has to be: rows of `width` pixels of `channels` bytes (1 grey, 2 grey and alpha,
/// 3 RGB, 4 RGBA).
typedef struct png_shape {
    int64_t width, height;
    int channels;
} png_shape;

/// Reads a picture of exactly this shape into `out`, which has room for it. `what` names it in
/// messages. Fails with PLUMB_EFORMAT if it is another shape, not 8-bit, or damaged.
plumb_status png_read(uint8_t *out, png_shape want, const void *data, size_t size,
                      const char *what);

/// For what a picture is packed best: a strip of frames, as the published files have it, or a
/// drawing with large areas of one colour.
typedef enum png_use { PNG_USE_FILM, PNG_USE_DRAWING } png_use;

/// Appends a picture to `out`.
plumb_status png_write(buffer *out, const uint8_t *pixels, png_shape shape, png_use use);

#endif
