// SPDX-License-Identifier: MIT
// Loads training videos, from a world or a file, into memory or into a mapped file.
#ifndef DATASET_VIDEO_LOAD_H
#define DATASET_VIDEO_LOAD_H

#include "base/arena.h"
#include "dataset/video_memory.h"
#include "dataset/video_resize.h"
#include "plumb/world.h"

/// Which videos of a world to load.
typedef struct video_request {
    const plumb_world *world;
    uint64_t seed;
    int64_t first; ///< Index of the first item; in rooms/impossible of the first tuple per concept.
    int64_t count; ///< Number of videos. An item of a probe gives two: its impossible clips.
    int64_t steps; ///< Frames per video; ignored in rooms, which have 15.
    int64_t image; ///< Height and width in pixels; 0: the size of the world.
    bool masks;    ///< Also load the masks of the objects. Rooms only.
    int threads;   ///< Does not affect the result.
    video_place place; ///< Does not affect the result either.
} video_request;

/// Simulates videos. Reports progress and stops after plumb_set_stop(). Fails with PLUMB_EVALUE if
/// they do not fit. Call video_memory_clear() afterwards if `place` has a folder.
plumb_status video_load_world(video_set *out, arena *mem, const video_request *request);

/// Returns true if items of the world have masks of objects: rooms and probes.
bool video_has_masks(const plumb_world *world);

/// May be NULL: place, size. Loads the frames of all items of a dataset, or of the first `count`
/// videos if that is not 0, as bytes of this size (video_resize.h); one line is logged if that is
/// another one. All items must have one shape. Of tuples, (4, steps, height, width, channels) per
/// item, the impossible clips are loaded; these must be bytes, and keep their size.
plumb_status video_load_file(video_set *out, arena *mem, const char *path, int64_t count,
                             bool masks, const frame_size *size, const video_place *place);

/// The shape that video_load_file() would give, without the frames. The same files are refused.
plumb_status video_read_shape(video_set *out, const char *path, const frame_size *size);

/// Writes 32 hexadecimal digits that identify the frames.
void video_hash(char out[33], const video_set *videos);
/// The same of the videos that video_load_file() would load, item by item: memory for one is
/// enough.
plumb_status video_hash_file(char out[33], const char *path, int64_t count, const frame_size *size);

#endif
