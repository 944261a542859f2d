// SPDX-License-Identifier: MIT
// Judges of the cases in golden/datasets, and what they share.
#ifndef TESTS_GOLDEN_WORLDS_H
#define TESTS_GOLDEN_WORLDS_H

#include "golden/golden.h"
#include "plumb/world.h"

int golden_bodies(plumb_file *file, const char *path);    ///< springs, pendulums, two bodies
int golden_game(plumb_file *file, const char *path);      ///< matching pennies, rock paper scissors
int golden_molecules(plumb_file *file, const char *path); ///< Lennard-Jones boxes
int golden_room(plumb_file *file, const char *path);      ///< the room of the camera worlds
int golden_render(plumb_file *file, const char *path);    ///< particles alone
int golden_samplers(plumb_file *file, const char *path);  ///< distributions of initial states
int golden_tfrecord(plumb_file *file, const char *path);  ///< published records, in and out

enum { GOLDEN_WORLDS_ARRAYS = 256 };

/// A case's file under way. Arrays read stay until golden_worlds_end.
typedef struct golden_worlds {
    plumb_file *file;
    const char *path;
    int failures;
    int arrays;
    double *array[GOLDEN_WORLDS_ARRAYS];
} golden_worlds;

golden_worlds golden_worlds_begin(plumb_file *file, const char *path);
int golden_worlds_end(golden_worlds *g); ///< the number of failures

/// An array of `count` numbers; its absence or another count is a failure, and NULL. With count -1
/// any number will do and is stored.
const double *golden_worlds_read(golden_worlds *g, const char *name, int64_t *count);

/// As golden_near, but the tolerance is relative to the largest number of `want`.
void golden_worlds_near(golden_worlds *g, const char *what, const double *got, const double *want,
                        int64_t count, double tolerance);

/// All bytes as wanted, but for `share` of them that may differ by `levels`.
void golden_worlds_bytes(golden_worlds *g, const char *what, const uint8_t *got, const double *want,
                         int64_t count, int levels, double share);

#endif
