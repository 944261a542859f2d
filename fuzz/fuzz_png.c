// SPDX-License-Identifier: MIT
// Any bytes as a PNG, wanted in the size and kind its header says, if that is not large.
#include <stdlib.h>

#include "io/png.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t big(const uint8_t *b)
{
    return (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

// As a frame of a video: any depth and colours, in the shape of the header.
static void read_as_frame(const uint8_t *data, size_t size)
{
    png_shape want;
    if (png_find_shape(&want, data, size, "x") || want.width > 4096 || want.height > 4096 ||
        want.width * want.height > 1 << 18)
        return;
    for (want.channels = 1; want.channels <= 3; want.channels += 2) {
        const int64_t count = want.width * want.height * want.channels;
        uint8_t *out = malloc((size_t)count);
        volatile unsigned sum = 0;
        if (out && !png_read_any(out, want, data, size, "x"))
            for (int64_t i = 0; i < count; i++) sum = sum + out[i];
        free(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int channels[] = {1, 1, 3, 1, 2, 3, 4};
    png_shape want = {2, 4, 3, 0};
    if (size > 26 && data[25] < 7) {
        want = (png_shape){big(data + 16), big(data + 20), channels[data[25]], 0};
        if (want.width > 4096 || want.height > 4096 || want.width * want.height > 1 << 18) return 0;
    }
    // As much as is wanted and not a byte more, for AddressSanitizer to watch.
    uint8_t *out = malloc((size_t)(want.width * want.height * want.channels) + 1);
    if (!out) return 0;
    const plumb_status st = png_read(out, want, data, size, "x");
    volatile unsigned sum = 0;
    for (int64_t i = 0; !st && i < want.width * want.height * want.channels; i++)
        sum = sum + out[i];
    if (!st) { // what was read can be written and read again
        buffer again = {0};
        if (png_write(&again, out, want, PNG_USE_VIDEO) ||
            png_read(out, want, again.data, again.size, "x"))
            abort();
        buffer_clear(&again);
    }
    free(out);
    read_as_frame(data, size);
    return 0;
}
