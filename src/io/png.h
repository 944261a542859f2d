// SPDX-License-Identifier: MIT
// Wrapper of libpng: 8-bit images in memory. Videos are written without it, faster.
#ifndef IO_PNG_H
#define IO_PNG_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

/// Largest width or height in pixels, the limit of libpng itself.
enum { PNG_MAX_EDGE = 1000000 };

/// Size of an image: rows of `width` pixels with `channels` bytes each.
typedef struct png_shape {
    int64_t width, height; ///< In pixels.
    int channels;          ///< 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA.
    int64_t frame;         ///< Writing a video: rows of each frame; 0 if unknown.
} png_shape;

/// Reads an image of exactly this shape into `out`, which has space for it. `what` names it in
/// messages. Fails with PLUMB_EFORMAT if it has another shape, is not 8-bit, or is damaged.
plumb_status png_read(uint8_t *out, png_shape want, const void *data, size_t size,
                      const char *what);

/// Reads an image of this size whatever its colours: 16 bits become 8, a palette is expanded, alpha
/// is dropped, and grey is repeated where `want` has 3 channels. Fails with PLUMB_EFORMAT if it has
/// another size, has colours where `want` has 1 channel, or is damaged.
plumb_status png_read_any(uint8_t *out, png_shape want, const void *data, size_t size,
                          const char *what);
/// Gets the shape from the header: 1 channel if the image is grey, else 3. Fails with PLUMB_EFORMAT
/// if the data are no PNG.
plumb_status png_find_shape(png_shape *out, const void *data, size_t size, const char *what);

/// Chooses the compression settings: a strip of video frames, as the DeepMind files have it, or a
/// drawing with large areas of one colour.
typedef enum png_use { PNG_USE_VIDEO, PNG_USE_DRAWING } png_use;

/// Appends the image to `out` as a PNG file.
plumb_status png_write(buffer *out, const uint8_t *pixels, png_shape shape, png_use use);

#endif
