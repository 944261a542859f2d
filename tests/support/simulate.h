// SPDX-License-Identifier: MIT
// Short forms for tests that simulate items of worlds.
#ifndef TESTS_SUPPORT_SIMULATE_H
#define TESTS_SUPPORT_SIMULATE_H

#include "plumb/dataset.h"

/// Options of plumb_dataset_simulate(): SIMULATE(.count = 7, .steps = 6, .seed = 9).
#define SIMULATE(...)                                               \
    &(plumb_dataset_simulate_options)                               \
    {                                                               \
        .size = sizeof(plumb_dataset_simulate_options), __VA_ARGS__ \
    }

/// Simulates an item of a room with frames of `image` pixels; 0: the size of the room.
static inline plumb_status simulate_room(const plumb_world_item *out, const plumb_world *room,
                                         uint64_t seed, int64_t item, int64_t image)
{
    plumb_world_options options = plumb_world_defaults();
    options.image = image;
    return plumb_world_simulate(out, room, seed, item, PLUMB_ROOM_STEPS, &options);
}

/// Which items of a room to write.
typedef struct room_file {
    int64_t count, first, image;
    uint64_t seed;
    int threads;
} room_file;

/// Writes items of a room to a file. May be NULL: write.
static inline plumb_status write_room(const char *path, const plumb_world *room, room_file file,
                                      const plumb_dataset_write_options *write)
{
    plumb_world_options world = plumb_world_defaults();
    plumb_dataset_simulate_options options = plumb_dataset_simulate_defaults();
    world.image = file.image;
    options.count = file.count;
    options.seed = file.seed;
    options.first = file.first;
    options.threads = file.threads;
    options.world = &world;
    options.write = write;
    return plumb_dataset_simulate(path, room, &options);
}

#endif
