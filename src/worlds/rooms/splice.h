// SPDX-License-Identifier: MIT
// Splicing of probe tuples: clips 2 and 3, the impossible ones, are clips 0 and 1 cut at frames in
// which both show the same image, and joined crosswise.
#ifndef WORLDS_ROOMS_SPLICE_H
#define WORLDS_ROOMS_SPLICE_H

#include <stdbool.h>
#include <stdint.h>

/// Returns which of the possible clips, 0 or 1, a clip of a tuple shows at frame t. `cut` has
/// PLUMB_ROOM_CUTS frames: the last frame before a change, or -1.
int room_splice_source(int64_t clip, const int64_t *cut, int64_t t);

/// Checks that the impossible clips of a tuple are the possible ones joined crosswise. `clips` has
/// four clips of `steps` frames of `bytes` bytes, the first two possible. Returns -1 if at every
/// time the pair of frames is the same in both; with `pairs`, if that holds for the pair of
/// consecutive frames, which is stronger. Otherwise returns the first frame at which it fails (of
/// consecutive frames the second).
int64_t room_find_splice_error(const void *clips, int64_t steps, int64_t bytes, bool pairs);

#endif
