// SPDX-License-Identifier: MIT
// Options of the measure of loops: the table of its members and their defaults.
#include "measures/loops/options.h"

#include "base/options_struct.h"

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_loops_options, member)
static const option_spec specs[] = {
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "bootstrap draws for the 95 % intervals; 0: none"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of the bootstrap"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table loops_option_table = {"loops_options", sizeof(plumb_loops_options), specs};

void plumb_loops_options_init(plumb_loops_options *options, size_t size)
{
    const plumb_loops_options defaults = {.size = sizeof defaults, .resamples = 2000, .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}
