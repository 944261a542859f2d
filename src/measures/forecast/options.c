// SPDX-License-Identifier: MIT
// Options of the forecast: the table of its members, their defaults and their ranges.
#include "measures/forecast/options.h"

#include <math.h>

#include "base/options_struct.h"
#include "base/parallel_for.h"

// Words of the enumerated options, in the order of their enumerators.
static const char *const frames_words[] = {
    "plain", "overlap-by-one", "no-overlap", "include-inference", "autoregressive", NULL};
static const char *const count_words[] = {"inferred", "published", NULL};
static const char *const average_words[] = {"median", "mean", NULL};

// Larger frame counts are mistakes; below this their sums cannot overflow.
#define MAX_FRAMES 1099511627776.0 // 2^40

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_forecast_options, member)
static const option_spec specs[] = {
    {MEMBER(frames), .kind = OPTION_ENUM, .words = frames_words,
     .help = "which frames the model took as input and which it was trained to predict"},
    {MEMBER(split), .kind = OPTION_INT64, .low = 0, .high = MAX_FRAMES,
     .help = "frames of reconstruction in the protocol plain; the others are extrapolation"},
    {MEMBER(extrapolate), .kind = OPTION_INT64, .low = 0, .high = MAX_FRAMES,
     .help = "frames of extrapolation, the nearest, in MSE Ext; 0: all"},
    {MEMBER(inference), .kind = OPTION_INT64, .low = 1, .high = MAX_FRAMES,
     .help = "frames from which the state is inferred"},
    {MEMBER(target), .kind = OPTION_INT64, .low = 0, .high = MAX_FRAMES,
     .help = "frames that the model was trained to predict"},
    {MEMBER(threshold), .kind = OPTION_DOUBLE, .low = 0, .high = 1e300,
     .help = "relative error that ends the valid prediction time"},
    {MEMBER(backward_count), .kind = OPTION_ENUM, .words = count_words,
     .help = "backward VPT counts from the inferred state, or from the far end as published"},
    {MEMBER(average), .kind = OPTION_ENUM, .words = average_words,
     .help = "VPT of many trajectories: median of each batch (published code) or mean (paper)"},
    {MEMBER(batch), .kind = OPTION_INT64, .low = 0, .high = 1e15,
     .help = "trajectories per median; 0: all in one"},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 100000000,
     .help = "bootstrap draws for the 95 % intervals; 0: none"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of the bootstrap"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table forecast_option_table = {"forecast_options", sizeof(plumb_forecast_options),
                                            specs};

void plumb_forecast_options_init(plumb_forecast_options *options, size_t size)
{
    const plumb_forecast_options defaults = {
        .size = sizeof defaults,
        .frames = PLUMB_FORECAST_PROTOCOL_PLAIN,
        .split = 60,
        .extrapolate = 60,
        .inference = 5,
        .target = 60,
        .threshold = 0.025,
        .backward_count = PLUMB_FORECAST_VPT_ORIGIN_INFERRED,
        .average = PLUMB_FORECAST_AVERAGE_MEDIAN,
        .batch = 5,
        .resamples = 2000,
        .seed = 1,
    };
    options_init(options, size, &defaults, sizeof defaults);
}

plumb_status forecast_options_check(const plumb_forecast_options *opt)
{
    const plumb_status st = options_check_ranges(&forecast_option_table, opt);
    if (st) return st;
    // A model that predicts each frame from the one before is not scored on its first frame. A
    // model that is scored on all its input need not predict more, and HGN does not.
    const int64_t least = opt->frames == PLUMB_FORECAST_PROTOCOL_AUTOREGRESSIVE      ? 2
                          : opt->frames == PLUMB_FORECAST_PROTOCOL_INCLUDE_INFERENCE ? 0
                                                                                     : 1;
    if (opt->target < least)
        return fail(PLUMB_EVALUE, "target is %lld; it must be at least %lld for these frames",
                    (long long)opt->target, (long long)least);
    return PLUMB_OK;
}
