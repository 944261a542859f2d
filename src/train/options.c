// SPDX-License-Identifier: MIT
// Options of a training call: the table of their members, their defaults and their ranges.
#include "train/options.h"

#include "base/options_struct.h"
#include "base/parallel_for.h"

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_training_options, member)
static const option_spec specs[] = {
    {MEMBER(model), .kind = OPTION_STRING, .help = "the model to train"},
    {MEMBER(world), .kind = OPTION_STRING,
     .help = "the world to train on; plumb worlds lists them"},
    {MEMBER(data), .kind = OPTION_STRING, .help = "a file of plumb simulate instead of a world"},
    {MEMBER(out), .kind = OPTION_STRING,
     .help = "the run directory [MODEL-WORLD, or MODEL-STEM of a file]"},
    {MEMBER(preset), .kind = OPTION_STRING,
     .help = "paper (published sizes), cpu (minutes on two cores) or tiny (for tests) [cpu]"},
    {MEMBER(set), .kind = OPTION_POINTER, .type = "string",
     .help = "change a setting; can be repeated. --settings lists them"},
    {MEMBER(set_count), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "number of settings that are changed"},
    {MEMBER(steps), .kind = OPTION_INT64, .help = "training steps; -1: those of the preset"},
    {MEMBER(minutes), .kind = OPTION_DOUBLE, .low = 0, .high = 1e300,
     .help = "save and stop after this time; 0: no limit"},
    {MEMBER(resume), .kind = OPTION_BOOL,
     .help = "resume the run; the result is bit-identical to a run that was never stopped"},
    {MEMBER(force), .kind = OPTION_BOOL, .help = "overwrite an existing run"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {MEMBER(progress), .kind = OPTION_POINTER, .type = "function",
     .help = "called after every step"},
    {MEMBER(context), .kind = OPTION_POINTER, .type = "void",
     .help = "first argument of progress"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table training_option_table = {"training_options", sizeof(plumb_training_options),
                                            specs};

void plumb_training_options_init(plumb_training_options *options, size_t size)
{
    const plumb_training_options defaults = {.size = sizeof defaults, .steps = -1};
    options_init(options, size, &defaults, sizeof defaults);
}
