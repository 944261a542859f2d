// SPDX-License-Identifier: MIT
// Options of the flow: the table of its members and their defaults.
#include "measures/flow/options.h"

#include "base/options_struct.h"

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_flow_options, member)
static const option_spec specs[] = {
    {MEMBER(lag), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "steps between the two ends of the map of the latents; 0: chosen"},
    {MEMBER(change_bar), .kind = OPTION_DOUBLE, .low = 0, .high = 1e300,
     .help = "area and energy may change by this share"},
    {MEMBER(drop_nonfinite), .kind = OPTION_BOOL,
     .help = "leave out trajectories that are not finite"},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "bootstrap draws for the 95 % intervals; 0: none"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of the bootstrap"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table flow_option_table = {"flow_options", sizeof(plumb_flow_options), specs};

void plumb_flow_options_init(plumb_flow_options *options, size_t size)
{
    const plumb_flow_options defaults = {
        .size = sizeof defaults, .change_bar = 0.1, .resamples = 2000, .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}
