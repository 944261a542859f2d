// SPDX-License-Identifier: MIT
// Random temporal crops of training videos.
#include "dataset/video.h"

#include <assert.h>

#include "base/status.h"
#include "math/rng.h"

// One stream of random numbers per step, apart from those of worlds, which start at 1 << 56, and of
// plumb_loader, 0x77 << 48. Each sample has four words of it and uses two.
static const uint64_t window_stream = (uint64_t)0x66 << 48;

plumb_status video_check_length(const video_set *videos, int64_t length)
{
    if (videos->steps >= length) return PLUMB_OK;
    return fail(PLUMB_ESHAPE, "trajectories of %lld frames; a clip takes %lld",
                (long long)videos->steps, (long long)length);
}

video_window video_sample_window(const video_set *videos, uint64_t seed, int64_t step,
                                 int64_t sample, int64_t length)
{
    assert(length >= 1 && length <= videos->steps && step >= 0 && sample >= 0);
    enum { WORDS = 4 };
    rng random = rng_at(seed, window_stream + (uint64_t)step);
    random.counter = (uint64_t)sample * WORDS;
    video_window window;
    window.item = rng_below(&random, videos->count);
    random.counter = (uint64_t)sample * WORDS + WORDS / 2; // however many words the first draw took
    window.start = rng_below(&random, videos->steps - length + 1);
    return window;
}

const uint8_t *video_window_frames(const video_set *videos, video_window window)
{
    return videos->frames + (window.item * videos->steps + window.start) * videos->height *
                                videos->width * videos->channels;
}

const uint8_t *video_window_mask(const video_set *videos, video_window window)
{
    return videos->mask +
           (window.item * videos->steps + window.start) * videos->height * videos->width;
}
