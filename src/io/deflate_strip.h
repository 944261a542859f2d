// SPDX-License-Identifier: MIT
// A fast encoder of zlib streams for pictures: strips of video frames, in which most bytes are
// equal to those of the row or the frame before. It is several times faster than zlib on them, and
// any reader of zlib streams can read it [RFC 1950, RFC 1951].
#ifndef IO_DEFLATE_STRIP_H
#define IO_DEFLATE_STRIP_H

#include <stdint.h>

#include "base/buffer.h"

enum { DEFLATE_STRIP_DISTANCES = 3 };

/// Appends `data` as one zlib stream. `distance`: how many bytes before a byte there is mostly an
/// equal one, smallest first; 0: no more of them. Out of memory sets out->failed.
void deflate_strip(buffer *out, const uint8_t *data, size_t size,
                   const int64_t distance[DEFLATE_STRIP_DISTANCES]);

#endif
