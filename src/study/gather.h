// SPDX-License-Identifier: MIT
// Film for training, from a world or from a file, into memory.
#ifndef STUDY_GATHER_H
#define STUDY_GATHER_H

#include "base/arena.h"
#include "models/footage.h"
#include "plumb/world.h"

/// Items first .. first + count - 1 of a world, `steps` frames each of `image` pixels (0: the
/// world's own), made by `threads` threads, which change no bit. Reports progress, stops on
/// plumb_stop. Fails with PLUMB_EVALUE if that is more than the machine's memory.
plumb_status gather_world(footage *out, arena *mem, const plumb_world *world, uint64_t seed,
                          int64_t first, int64_t count, int64_t steps, int64_t image, int threads);

/// The frames of all items of a dataset, or of the first `count` if that is not 0. All must be of
/// one shape.
plumb_status gather_data(footage *out, arena *mem, const char *path, int64_t count);

/// 32 hexadecimal digits that say which film it is.
void gather_identity(char out[33], const footage *f);

#endif
