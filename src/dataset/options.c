// SPDX-License-Identifier: MIT
// Options of writing and simulating datasets and of the data loader: the tables of their members,
// their defaults and their ranges.
#include "dataset/options.h"

#include "base/options_struct.h"
#include "base/parallel_for.h"

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_dataset_write_options, member)
static const option_spec write_specs[] = {
    {MEMBER(compress), .kind = OPTION_BOOL,
     .help = "deflate the arrays (.npz, .h5), gzip the file (.tfrecord)"},
    {MEMBER(published), .kind = OPTION_BOOL,
     .help = "write to a .tfrecord only what the published files have; rooms as Physical Concepts"},
    {MEMBER(narrow), .kind = OPTION_BOOL,
     .help = "write real numbers to a .tfrecord as float32"},
    {MEMBER(replace), .kind = OPTION_BOOL, .help = "overwrite an existing file"},
    {0},
};
#undef MEMBER

#define MEMBER(member) .name = #member, .offset = offsetof(plumb_dataset_simulate_options, member)
static const option_spec simulate_specs[] = {
    {MEMBER(count), .kind = OPTION_INT64, .low = 1, .high = 0x1p40, .help = "trajectories"},
    {MEMBER(steps), .kind = OPTION_INT64, .low = 0, .high = 0x1p32,
     .help = "frames per trajectory; the first is the initial state; 0: 256, in rooms 15"},
    {MEMBER(seed), .kind = OPTION_UINT64,
     .help = "trajectory I with seed S is always the same"},
    {MEMBER(first), .kind = OPTION_INT64, .low = 0, .high = 0x1p48,
     .help = "index of the first trajectory; a test set starts where training ends"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {MEMBER(loops), .kind = OPTION_INT64, .low = 0, .high = 0x1p20,
     .help = "write this many closed loops of states instead of `count` trajectories"},
    {MEMBER(loop_states), .kind = OPTION_INT64, .low = 0, .high = 4096,
     .help = "trajectories that start along each loop, at least 8; 0: 64"},
    {MEMBER(world), .kind = OPTION_POINTER, .type = "world_options", .help = "options of the world"},
    {MEMBER(write), .kind = OPTION_POINTER, .type = "dataset_write_options",
     .help = "how the file is written"},
    {0},
};
#undef MEMBER

#define MEMBER(member) .name = #member, .offset = offsetof(plumb_loader_options, member)
static const option_spec loader_specs[] = {
    {MEMBER(batch), .kind = OPTION_INT64, .low = 1, .high = 0x1p31,
     .help = "trajectories per batch"},
    {MEMBER(window), .kind = OPTION_INT64, .low = 1, .high = 0x1p31,
     .help = "frames per trajectory; rooms need 15"},
    {MEMBER(steps), .kind = OPTION_INT64, .low = 0, .high = 0x1p31,
     .help = "length of the trajectories that windows are cut from; 0: the window"},
    {MEMBER(ahead), .kind = OPTION_INT64, .low = 1, .high = 0x1p31,
     .help = "batches made ahead of the one in use"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of the trajectories and of the windows"},
    {MEMBER(first), .kind = OPTION_INT64, .low = 0, .high = 0x1p48,
     .help = "index of the first trajectory"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the batches"},
    {MEMBER(states), .kind = OPTION_BOOL, .help = "also fill state, canonical and time"},
    {MEMBER(world), .kind = OPTION_POINTER, .type = "world_options", .help = "options of the world"},
    {0},
};
#undef MEMBER
// clang-format on

// The tables under the names that plumb_option_info_at() takes.
const option_table dataset_write_option_table = {"dataset_write_options",
                                                 sizeof(plumb_dataset_write_options), write_specs};
const option_table dataset_simulate_option_table = {
    "dataset_simulate_options", sizeof(plumb_dataset_simulate_options), simulate_specs};
const option_table loader_option_table = {"loader_options", sizeof(plumb_loader_options),
                                          loader_specs};

// Zero is the default of every member: no compression, all arrays, no overwriting.
void plumb_dataset_write_options_init(plumb_dataset_write_options *options, size_t size)
{
    const plumb_dataset_write_options defaults = {.size = sizeof defaults};
    options_init(options, size, &defaults, sizeof defaults);
}

void plumb_dataset_simulate_options_init(plumb_dataset_simulate_options *options, size_t size)
{
    const plumb_dataset_simulate_options defaults = {
        .size = sizeof defaults, .count = 100, .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}

void plumb_loader_options_init(plumb_loader_options *options, size_t size)
{
    const plumb_loader_options defaults = {
        .size = sizeof defaults, .batch = 32, .window = 64, .ahead = 2, .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}
