// SPDX-License-Identifier: MIT
// A folder of two PNGs as a video: the first two bytes say where the second file begins. The shape
// is that of the first frame; the second may have any other.
#include "dataset/image_folder.h"
#include "support.h"

enum { LARGEST = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    const size_t where = (size_t)data[0] | (size_t)data[1] << 8, bytes = size - 2;
    const size_t first = where < bytes ? where : bytes;
    fuzz_write("frame1.png", data + 2, first);
    fuzz_write("frame2.png", data + 2 + first, bytes - first);
    arena mem = {0};
    image_folder folder;
    if (image_folder_open(&folder, &mem, fuzz_folder()) == PLUMB_OK) {
        const png_shape s = folder.shape;
        const int64_t pixels = (int64_t)s.width * s.height * s.channels;
        if (folder.videos != 1 || folder.steps != 2 || pixels <= 0) abort();
        uint8_t *out = pixels <= LARGEST ? calloc((size_t)pixels, 2) : NULL;
        if (out && image_folder_read(out, &folder, 0) == PLUMB_OK) {
            const plumb_array frames =
                plumb_array_view(out, PLUMB_UINT8, 1, &(int64_t){2 * pixels});
            fuzz_read_array(&frames);
        }
        free(out);
    }
    arena_clear(&mem);
    return 0;
}
