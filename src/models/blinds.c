// SPDX-License-Identifier: MIT
#include "models/blinds.h"

typedef struct blind {
    int64_t x, y, wide, high; // in the first frame
    int64_t right, down;      // pixels a frame
    uint8_t color[16];
} blind;

static int64_t between(rng *r, int64_t from, int64_t to)
{
    return from < to ? from + rng_below(r, to - from + 1) : from;
}

static blind draw(rng *r, int64_t steps, int64_t height, int64_t width)
{
    const int64_t wide = between(r, (width + 7) / 8, width / 3);
    const int64_t high = between(r, (height + 3) / 4, height);
    const int64_t x = between(r, -wide / 2, width - wide / 2);
    const int64_t y = between(r, -high / 2, height - high / 2);
    blind b = {.x = x, .y = y, .wide = wide, .high = high};
    if (rng_below(r, 3) == 0) {
        const int64_t fast = between(r, 1, 1 + width / 24), way = rng_below(r, 4);
        b.right = way == 0 ? fast : way == 1 ? -fast : 0;
        b.down = way == 2 ? fast : way == 3 ? -fast : 0;
        const int64_t back = rng_below(r, steps); // the frame at which it is where it was drawn
        b.x -= back * b.right;
        b.y -= back * b.down;
    }
    for (int k = 0; k < 16; k++) b.color[k] = (uint8_t)between(r, 25, 255);
    return b;
}

static void paint(uint8_t *frame, const blind *b, int64_t t, int64_t height, int64_t width,
                  int64_t channels)
{
    const int64_t left = b->x + t * b->right, top = b->y + t * b->down;
    for (int64_t y = top < 0 ? 0 : top; y < top + b->high && y < height; y++)
        for (int64_t x = left < 0 ? 0 : left; x < left + b->wide && x < width; x++)
            for (int64_t k = 0; k < channels; k++)
                frame[(y * width + x) * channels + k] = b->color[k % 16];
}

void blinds_hang(uint8_t *clip, int64_t steps, int64_t height, int64_t width, int64_t channels,
                 int64_t count, rng *r)
{
    for (int64_t i = 0; i < count; i++) {
        const blind b = draw(r, steps, height, width);
        for (int64_t t = 0; t < steps; t++)
            paint(clip + t * height * width * channels, &b, t, height, width, channels);
    }
}
