// SPDX-License-Identifier: MIT
// Splicing rule of the probe tuples, and the check that compares frames byte by byte. If it holds,
// a program that sees fewer than three frames cannot tell possible and impossible clips apart.
#include "worlds/rooms/splice.h"

#include <string.h>

#include "plumb/world.h"

int room_splice_source(int64_t clip, const int64_t *cut, int64_t t)
{
    // Clip 2 starts as clip 0, clip 3 as clip 1; after each cut they change sides.
    int source = (int)(clip & 1);
    for (int i = 0; i < PLUMB_ROOM_CUTS && clip >= 2; i++) source ^= cut[i] >= 0 && t > cut[i];
    return source;
}

int64_t room_find_splice_error(const void *clips, int64_t steps, int64_t bytes, bool pairs)
{
    const uint8_t *first_clip = clips;
    const size_t clip = (size_t)steps * (size_t)bytes;
    const int64_t before = pairs && steps > 1; // compare one frame, or it and the one before
    for (int64_t t = before; t < steps; t++) {
        const uint8_t *frame = first_clip + (t - before) * bytes;
        const size_t n = (size_t)bytes * (size_t)(1 + before);
        const bool straight =
            !memcmp(frame, frame + 2 * clip, n) && !memcmp(frame + clip, frame + 3 * clip, n);
        const bool crossed =
            !memcmp(frame, frame + 3 * clip, n) && !memcmp(frame + clip, frame + 2 * clip, n);
        if (!straight && !crossed) return t;
    }
    return -1;
}
