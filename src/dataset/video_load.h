// SPDX-License-Identifier: MIT
// Film for training, from a world or from a file, into memory.
#ifndef DATASET_VIDEO_LOAD_H
#define DATASET_VIDEO_LOAD_H

#include "base/arena.h"
#include "dataset/video.h"
#include "plumb/room.h"
#include "plumb/world.h"

/// Items first .. first + count - 1 of a world, `steps` frames each of `image` pixels (0: the
/// world's own), made by `threads` threads, which change no bit. Reports progress, stops on
/// plumb_set_stop. Fails with PLUMB_EVALUE if that is more than the machine's memory.
plumb_status video_load_world(video_set *out, arena *mem, const plumb_world *world, uint64_t seed,
                              int64_t first, int64_t count, int64_t steps, int64_t image,
                              int threads);

/// The same of a room, and with `masks` which pixels belong to which object. Of a probe these are
/// its impossible clips: what a model of the impossible learns from. "rooms/impossible" is those of
/// all concepts in turn.
plumb_status video_load_room(video_set *out, arena *mem, const char *name, uint64_t seed,
                             int64_t first, int64_t count, int64_t image, bool masks, int threads);
/// Is that the name of a room? Fails with PLUMB_EVALUE if it is neither a room nor a world.
plumb_status video_load_is_room(bool *out, const char *name);

/// The frames of all items of a dataset, or of the first `count` clips if that is not 0. All must
/// be of one shape. Of tuples, (4, steps, height, width, channels) an item, the impossible clips.
plumb_status video_load_file(video_set *out, arena *mem, const char *path, int64_t count,
                             bool masks);

/// 32 hexadecimal digits that say which film it is.
void video_hash(char out[33], const video_set *f);

#endif
