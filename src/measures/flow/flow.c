// SPDX-License-Identifier: MIT
// The measure of the flow: its parts in order, the verdict, the public functions.
#include "measures/flow/flow.h"

#include <math.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/options_struct.h"
#include "base/result.h"
#include "base/status.h"
#include "base/text.h"
#include "math/rng.h"
#include "math/stats.h"
#include "measures/flow/options.h"

enum { STREAM_FLOW = 23 };

plumb_status flow_interval(plumb_interval *out, const flow_work *work, flow_statistic *statistic,
                           const void *context)
{
    const int64_t resamples = work->opt->resamples;
    out->low = out->high = (double)NAN;
    if (!resamples) return PLUMB_OK;
    const arena_mark mark = arena_get_mark(work->mem);
    double *times = ARENA_ALLOC(work->mem, double, work->trajectories);
    double *draws = ARENA_ALLOC(work->mem, double, resamples);
    if (!times || !draws) return PLUMB_EMEMORY;
    rng r = rng_at(work->opt->seed, STREAM_FLOW);
    int64_t count = 0;
    for (int64_t i = 0; i < resamples; i++) {
        rng_resample(times, &r, work->trajectories);
        draws[count] = statistic(context, times);
        count += !isnan(draws[count]);
    }
    if (count) *out = stats_interval_95(draws, count);
    arena_rewind(work->mem, mark);
    return PLUMB_OK;
}

// ---- verdict ----

// Does an interval say that a change is beyond the bar, within it, or neither?
static plumb_verdict decide_change(double change, plumb_interval ci, double bar)
{
    if (isnan(change)) return PLUMB_VERDICT_NOT_DETERMINED;
    const double low = isnan(ci.low) ? change : ci.low, high = isnan(ci.high) ? change : ci.high;
    if (high < -bar || low > bar) return PLUMB_VERDICT_NOT_LEARNT;
    return low >= -bar && high <= bar ? PLUMB_VERDICT_LEARNT : PLUMB_VERDICT_NOT_DETERMINED;
}

static void format_reason(char *text, size_t size, const plumb_flow *r, const flow_work *work,
                          plumb_verdict area, plumb_verdict energy)
{
    const long long steps = (long long)work->steps;
    const double bar = 100.0 * work->opt->change_bar;
    if (!work->in.truth)
        text_format(text, size,
                    "not determined: without the truth nothing says how areas should "
                    "change");
    else if (area == PLUMB_VERDICT_NOT_LEARNT)
        text_format(text, size,
                    "the area changes by %+.1f %% [%+.1f, %+.1f] over %lld steps, beyond the true "
                    "flow: more than %g %%",
                    100.0 * r->area_change, 100.0 * r->area_change_ci.low,
                    100.0 * r->area_change_ci.high, steps, bar);
    else if (energy == PLUMB_VERDICT_NOT_LEARNT)
        text_format(text, size,
                    "the energy changes by %+.1f %% [%+.1f, %+.1f] over %lld steps, beyond the "
                    "true flow: more than %g %%",
                    100.0 * r->energy_change, 100.0 * r->energy_change_ci.low,
                    100.0 * r->energy_change_ci.high, steps, bar);
    else if (isnan(r->area_change))
        text_format(text, size,
                    "not determined: the map from truth to latents is not known well "
                    "enough early and late in the trajectories");
    else if (area == PLUMB_VERDICT_LEARNT)
        text_format(text, size, "%s by less than %g %% over %lld steps, beyond the true flow",
                    energy == PLUMB_VERDICT_LEARNT ? "area and energy change" : "area changes", bar,
                    steps);
    else
        text_format(text, size,
                    "not determined: the area changes by %+.1f %% [%+.1f, %+.1f] over %lld steps; "
                    "more trajectories would tell",
                    100.0 * r->area_change, 100.0 * r->area_change_ci.low,
                    100.0 * r->area_change_ci.high, steps);
}

plumb_status flow_decide(plumb_flow *out, arena *keep, const flow_work *work)
{
    const double bar = work->opt->change_bar;
    const plumb_verdict area = decide_change(out->area_change, out->area_change_ci, bar);
    plumb_verdict energy = decide_change(out->energy_change, out->energy_change_ci, bar);
    // What drives a system changes its energy.
    const bool energy_counts = !work->driven && !isnan(out->energy_change);
    if (!energy_counts) energy = PLUMB_VERDICT_NOT_DETERMINED;
    out->verdict = area;
    if (energy == PLUMB_VERDICT_NOT_LEARNT) out->verdict = energy;
    // An energy that may have changed leaves it open, unless no energy was given or read.
    else if (area == PLUMB_VERDICT_LEARNT && energy != PLUMB_VERDICT_LEARNT && energy_counts)
        out->verdict = PLUMB_VERDICT_NOT_DETERMINED;
    char text[400];
    format_reason(text, sizeof text, out, work, area, energy);
    out->why = arena_strdup(keep, text);
    return out->why ? PLUMB_OK : PLUMB_EMEMORY;
}

// ---- public functions ----

static plumb_status measure_flow(plumb_flow *out, arena *keep, flow_work *work)
{
    plumb_status st = flow_input_read(work);
    if (st == PLUMB_EVALUE) { // too few data
        out->measured = false;
        out->verdict = PLUMB_VERDICT_NOT_DETERMINED;
        out->why = arena_strdup(keep, plumb_last_error());
        return out->why ? PLUMB_OK : PLUMB_EMEMORY;
    }
    if (!st) st = flow_measure_rates(out, work);
    if (!st && work->in.truth) st = flow_measure_area_change(out, work);
    if (!st && work->in.energy) st = flow_measure_energy(out, work);
    if (!st && work->in.truth) st = flow_measure_clock(out, work);
    out->trajectories = work->trajectories;
    out->steps = work->steps;
    out->driven = work->driven;
    return st ? st : flow_decide(out, keep, work);
}

plumb_status plumb_flow_measure(plumb_flow *result, const plumb_flow_input *input,
                                const plumb_flow_options *options)
{
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(input);
    const double started = clock_now(), nan = (double)NAN;
    const plumb_interval unknown = {nan, nan};
    plumb_flow_options opt = plumb_flow_defaults();
    plumb_flow_input in = {.size = sizeof in};
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_flow_options");
    if (!st) st = options_check_ranges(&flow_option_table, &opt);
    if (!st) st = options_resolve(&in, sizeof in, input, "plumb_flow_input");
    if (!st && !in.latent) st = fail(PLUMB_EVALUE, "latent is NULL");
    if (st) return st;
    plumb_flow found = {.measured = true,
                        .kappa = nan,
                        .area_rate = nan,
                        .area_rate_ci = unknown,
                        .volume_rate = nan,
                        .true_area_rate = nan,
                        .area_change = nan,
                        .area_change_ci = unknown,
                        .energy_change = nan,
                        .energy_change_ci = unknown,
                        .clock = nan,
                        .clock_ci = unknown,
                        .r2 = nan,
                        .r2_clock = nan};
    arena scratch = {0}, *keep = result_begin(&found.memory);
    flow_work work = {.mem = &scratch, .opt = &opt, .in = in};
    st = keep ? measure_flow(&found, keep, &work) : PLUMB_EMEMORY;
    arena_clear(&scratch);
    st = result_end(st, &found.memory);
    if (st) return st;
    found.seconds = clock_now() - started;
    *result = found;
    return PLUMB_OK;
}

void plumb_flow_clear(plumb_flow *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
