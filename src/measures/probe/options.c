// SPDX-License-Identifier: MIT
// Options of the probe: the table of its members, their defaults and their ranges.
#include "measures/probe/options.h"

#include "base/options_struct.h"
#include "base/parallel_for.h"

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_probe_options, member)
static const option_spec specs[] = {
    {MEMBER(folds), .kind = OPTION_INT64, .low = 3, .high = 20,
     .help = "folds of trajectories: each is predicted by readouts fitted to the others"},
    {MEMBER(penalties), .kind = OPTION_INT64, .low = 1, .high = 64,
     .help = "penalties of the ridge to choose from"},
    {MEMBER(penalty_low), .kind = OPTION_DOUBLE, .low = 1e-12, .high = 1e12,
     .help = "the smallest penalty, for latents of deviation 1, per row"},
    {MEMBER(penalty_high), .kind = OPTION_DOUBLE, .low = 1e-12, .high = 1e12,
     .help = "the largest penalty"},
    {MEMBER(nonlinear), .kind = OPTION_BOOL, .help = "fit the non-linear probe too"},
    {MEMBER(centres), .kind = OPTION_INT64, .low = 1, .high = 4096,
     .help = "centres of the kernel of the non-linear probe"},
    {MEMBER(controls), .kind = OPTION_BOOL, .help = "measure the controls too"},
    {MEMBER(shuffles), .kind = OPTION_INT64, .low = 0, .high = 1000,
     .help = "shuffles of the targets over trajectories"},
    {MEMBER(window), .kind = OPTION_INT64, .low = 1, .high = 64,
     .help = "earlier steps in the control \"past\""},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 100000000,
     .help = "bootstrap draws for the 95 % intervals; 0: none"},
    {MEMBER(seed), .kind = OPTION_UINT64,
     .help = "seed of folds, shuffles, projections, centres and bootstrap"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table probe_option_table = {"probe_options", sizeof(plumb_probe_options), specs};

void plumb_probe_options_init(plumb_probe_options *options, size_t size)
{
    const plumb_probe_options defaults = {
        .size = sizeof defaults,
        .folds = 5,
        .penalties = 10,
        .penalty_low = 1e-8,
        .penalty_high = 10.0,
        .nonlinear = true,
        .centres = 256,
        .controls = true,
        .shuffles = 5,
        .window = 4,
        .resamples = 2000,
        .seed = 1,
    };
    options_init(options, size, &defaults, sizeof defaults);
}

plumb_status probe_options_check(const plumb_probe_options *opt)
{
    const plumb_status st = options_check_ranges(&probe_option_table, opt);
    if (st) return st;
    if (opt->penalty_low > opt->penalty_high)
        return fail(PLUMB_EVALUE, "the option penalty_low is %g, above penalty_high %g",
                    opt->penalty_low, opt->penalty_high);
    return PLUMB_OK;
}
