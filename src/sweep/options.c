// SPDX-License-Identifier: MIT
// Options of a sweep: the table of their members, their defaults and their ranges.
// A sweep over several tasks divides the runs by their number.
#include "sweep/options.h"

#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "sweep/sweep.h"

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_sweep_options, member)
static const option_spec specs[] = {
    {MEMBER(out), .kind = OPTION_STRING, .help = "the directory of all runs and of results.jsonl"},
    {MEMBER(workers), .kind = OPTION_INT, .low = 1, .high = SWEEP_MAX_WORKERS,
     .help = "runs at a time, each in its own process"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "threads per run; 0: the cores divided by the workers; does not affect the result"},
    {MEMBER(retry), .kind = OPTION_BOOL,
     .help = "also repeat runs that failed for good, for example by NaN"},
    {MEMBER(task), .kind = OPTION_INT64, .low = 0, .high = 1e15,
     .help = "run only the runs whose number is task modulo tasks"},
    {MEMBER(tasks), .kind = OPTION_INT64, .low = 1, .high = 1e15,
     .help = "number of tasks that share the study"},
    {MEMBER(progress), .kind = OPTION_POINTER, .type = "function",
     .help = "called when a run begins and when it ends"},
    {MEMBER(context), .kind = OPTION_POINTER, .type = "void",
     .help = "first argument of progress"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table sweep_option_table = {"sweep_options", sizeof(plumb_sweep_options), specs};

void plumb_sweep_options_init(plumb_sweep_options *options, size_t size)
{
    const plumb_sweep_options defaults = {.size = sizeof defaults, .workers = 1, .tasks = 1};
    options_init(options, size, &defaults, sizeof defaults);
}
