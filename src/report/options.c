// SPDX-License-Identifier: MIT
// Options of reports and of figures of one item: the tables of their members, their defaults and
// their ranges.
#include "report/options.h"

#include "base/options_struct.h"
#include "base/parallel_for.h"

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_report_options, member)
static const option_spec report_specs[] = {
    {MEMBER(videos), .kind = OPTION_INT64, .low = 0, .high = 64,
     .help = "videos that a run rolls out for its figures; 0: none, which is fast"},
    {MEMBER(steps), .kind = OPTION_INT64, .low = 0, .high = 100000,
     .help = "frames per video; 0: the number that the run was evaluated on, or 1000"},
    {MEMBER(name), .kind = OPTION_STRING,
     .help = "name of the model; by default the name of the file"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {MEMBER(traversal_steps), .kind = OPTION_INT64, .low = 0, .high = 10000,
     .help = "steps of rollouts with one latent changed, for the figure paper-3e; 0: none"},
    {MEMBER(data), .kind = OPTION_STRING,
     .help = "a file of videos on which runs are rolled out, instead of their world"},
    {0},
};
#undef MEMBER

#define MEMBER(member) .name = #member, .offset = offsetof(plumb_item_figure_options, member)
static const option_spec item_figure_specs[] = {
    {MEMBER(frames), .kind = OPTION_INT64, .low = 0, .high = 1000,
     .help = "number of frames shown, evenly spaced; 0: 10, for a tuple 20"},
    {MEMBER(steps), .kind = OPTION_INT64, .low = 0, .high = 1e15,
     .help = "only the first T frames; 0: all"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table report_option_table = {"report_options", sizeof(plumb_report_options),
                                          report_specs};
const option_table item_figure_option_table = {
    "item_figure_options", sizeof(plumb_item_figure_options), item_figure_specs};

void plumb_report_options_init(plumb_report_options *options, size_t size)
{
    const plumb_report_options defaults = {.size = sizeof defaults, .videos = 4};
    options_init(options, size, &defaults, sizeof defaults);
}

void plumb_item_figure_options_init(plumb_item_figure_options *options, size_t size)
{
    const plumb_item_figure_options defaults = {.size = sizeof defaults};
    options_init(options, size, &defaults, sizeof defaults);
}
