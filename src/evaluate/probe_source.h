// SPDX-License-Identifier: MIT
// Where probe tuples come from: rooms or files.
#ifndef EVALUATE_PROBE_SOURCE_H
#define EVALUATE_PROBE_SOURCE_H

#include "base/arena.h"
#include "plumb/dataset.h"
#include "plumb/world.h"

enum { PROBE_SOURCE_NAME_SIZE = 32 };

/// Tuples of one kind, in frames of one shape.
typedef struct probe_source {
    const plumb_world *world; ///< or NULL:
    plumb_dataset *data;
    const char *path;
    int64_t tuples, steps, height, width, channels;
    int64_t stored_height, stored_width; ///< of the file; others if its frames are resized
    uint64_t seed;
    int64_t first; ///< index of the first tuple, in the room's stream or in the file
} probe_source;

/// The rooms that are probes, one after the other; false after the last.
bool probe_source_room(probe_source *out, int64_t index, int64_t image);
/// The room of this name, "rooms/support"; false if there is no such room of probes.
bool probe_source_find(probe_source *out, const char *name, int64_t image);
/// At most `tuples` of a file, from tuple `first` on. Fails with PLUMB_ESHAPE if it does not hold
/// tuples of clips, PLUMB_EVALUE if it has no tuple `first`.
plumb_status probe_source_open(probe_source *out, const char *path, int64_t first, int64_t tuples);
/// Frames of the file get this size when they are read. Fails with PLUMB_ESHAPE if they are smaller
/// or have another ratio of the sides.
plumb_status probe_source_resize(probe_source *p, int64_t height, int64_t width);
void probe_source_close(probe_source *p);

/// Tuples from .. from + count - 1: frames (count, 4, steps, height, width, channels), mask without
/// the channels if it is not NULL, concept (count, PROBE_SOURCE_NAME_SIZE).
plumb_status probe_source_read(const probe_source *p, int64_t from, int64_t count, uint8_t *frames,
                               uint8_t *mask, uint8_t *concept, int threads);

#endif
