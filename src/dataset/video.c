// SPDX-License-Identifier: MIT
#include "dataset/video.h"

#include <assert.h>

#include "base/status.h"
#include "math/rng.h"

// A stream of random numbers a step, far from those of worlds, which begin at 1 << 56, and of
// plumb_loader, 0x77 << 48. Each sample has four words of it, of which two are used.
static const uint64_t cut_stream = (uint64_t)0x66 << 48;

plumb_status video_check_length(const video_set *f, int64_t length)
{
    if (f->steps >= length) return PLUMB_OK;
    return fail(PLUMB_ESHAPE, "trajectories of %lld frames; a clip takes %lld", (long long)f->steps,
                (long long)length);
}

video_window video_sample_window(const video_set *f, uint64_t seed, int64_t step, int64_t sample,
                                 int64_t length)
{
    assert(length >= 1 && length <= f->steps && step >= 0 && sample >= 0);
    enum { WORDS = 4 };
    rng r = rng_at(seed, cut_stream + (uint64_t)step);
    r.counter = (uint64_t)sample * WORDS;
    video_window cut;
    cut.item = rng_below(&r, f->count);
    r.counter = (uint64_t)sample * WORDS + WORDS / 2; // whatever the first one took
    cut.start = rng_below(&r, f->steps - length + 1);
    return cut;
}

const uint8_t *video_window_frames(const video_set *f, video_window cut)
{
    return f->frames + (cut.item * f->steps + cut.start) * f->height * f->width * f->channels;
}

const uint8_t *video_window_mask(const video_set *f, video_window cut)
{
    return f->mask + (cut.item * f->steps + cut.start) * f->height * f->width;
}
