// SPDX-License-Identifier: MIT
// The measure: reads states out, compares their motion with the truth, decides.
#include "measures/dynamics/dynamics.h"

#include <math.h>
#include <string.h>

#include "base/argument.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/result.h"
#include "base/status.h"
#include "base/text.h"
#include "measures/fit/layout_columns.h"

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_dynamics_options, member)
static const option_spec specs[] = {
    {MEMBER(context), .kind = OPTION_INT64, .low = 0, .high = 1e12,
     .help = "steps that the model was given, which are not scored"},
    {MEMBER(deviations), .kind = OPTION_DOUBLE, .low = 0, .high = 1e300,
     .help = "VPT ends at the first error above this many standard deviations"},
    {MEMBER(folds), .kind = OPTION_INT64, .low = 3, .high = 20,
     .help = "folds of trajectories of the probe"},
    {MEMBER(nonlinear), .kind = OPTION_BOOL,
     .help = "the probe may use kernels where they are better"},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 100000000,
     .help = "bootstrap draws for the 95 % intervals; 0: none"},
    {MEMBER(truth_layout), .kind = OPTION_ENUM, .words = layout_words,
     .help = "order of the true states, for the flow: (q1, q2, p1, p2), (p1, p2, q1, q2) or "
             "(q1, p1, q2, p2)"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of folds, centres and bootstrap"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table dynamics_option_table = {"dynamics_options", sizeof(plumb_dynamics_options),
                                            specs};

void plumb_dynamics_options_init(plumb_dynamics_options *options, size_t size)
{
    const plumb_dynamics_options defaults = {.size = sizeof defaults,
                                             .deviations = 0.5,
                                             .folds = 5,
                                             .nonlinear = true,
                                             .resamples = 2000,
                                             .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}

// The errors of a readout against the truth.
static plumb_status measure_errors(plumb_state_forecast *out, double *readout,
                                   const plumb_array *truth, const plumb_dynamics_options *opt)
{
    plumb_state_forecast_options options = plumb_state_forecast_defaults();
    options.context = opt->context;
    options.deviations = opt->deviations;
    options.resamples = opt->resamples;
    options.seed = opt->seed;
    options.threads = opt->threads;
    const plumb_array prediction = plumb_array_view(readout, PLUMB_FLOAT64, 3, truth->shape);
    const plumb_state_forecast_input in = {
        .size = sizeof in, .prediction = &prediction, .truth = truth};
    return plumb_state_forecast_measure(out, &in, &options);
}

// Is anything in an action not 0?
static bool is_driving(const plumb_array *action)
{
    double value;
    for (int64_t i = 0; action && i < plumb_array_count(action); i++) {
        plumb_array_to_double(&value, action, i, 1);
        if (isfinite(value) && value != 0.0) return true;
    }
    return false;
}

// Were arrays exchanged, or is their layout another?
static plumb_status find_hint(plumb_dynamics *out, arena *mem, const dynamics_states *s)
{
    static const double follows = 0.95, clearly = 0.1;
    char text[300] = "";
    if (s->dims > s->latents && out->r2_worst > follows)
        text_format(text, sizeof text,
                    "the truth has %lld columns and follows from %lld latents: were latents and "
                    "truth exchanged?",
                    (long long)s->dims, (long long)s->latents);
    else if (1.0 - s->r2_exchanged < clearly * (1.0 - s->r2))
        text_format(text, sizeof text,
                    "the state is read better out of the rollout (R2 %.3f) than out of the encoded "
                    "latents (%.3f): were latent and encoded exchanged?",
                    s->r2_exchanged, s->r2);
    else if (s->wrapped >= 0)
        text_format(text, sizeof text,
                    "column %lld of the truth jumps by a turn: is it an angle? (option "
                    "angle, which reads out its sine and cosine)",
                    (long long)s->wrapped);
    else if (s->interleaved)
        text_format(text, sizeof text,
                    "the truth looks like (q1, p1, q2, p2): the flow reads positions first, then "
                    "momenta (option truth_layout: interleaved)");
    if (!*text) return PLUMB_OK;
    out->hint = arena_strdup(mem, text);
    return out->hint ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status measure_all(plumb_dynamics *out, arena *mem, const plumb_dynamics_input *given,
                                const plumb_dynamics_options *options)
{
    plumb_array truth;
    plumb_dynamics_options kept = *options;
    const plumb_dynamics_options *opt = &kept;
    dynamics_encoded_part part;
    plumb_status st = dynamics_crop_encoded(&part, mem, given);
    if (st) return st;
    plumb_dynamics_input plain = part.input, *in = &plain;
    kept.context = options->context > part.before ? options->context - part.before : 0;
    out->unencoded_before = part.before;
    out->unencoded_after = part.after;
    st = dynamics_check_layout(&part.input, opt->truth_layout);
    if (st) return st;
    st = dynamics_replace_angles(&truth, mem, part.input.truth, given->angles);
    plain.truth = &truth;
    dynamics_states states;
    if (!st) st = dynamics_states_read(&states, mem, in, opt);
    if (!st) st = measure_errors(&out->motion, states.rollout, in->truth, opt);
    if (!st) st = measure_errors(&out->floor, states.encoded, in->truth, opt);
    const double *energy = NULL;
    if (!st && in->energy) {
        energy = array_as_doubles(mem, in->energy);
        if (!energy) st = PLUMB_EMEMORY;
    }
    for (int64_t i = 0; !st && energy && i < plumb_array_count(in->energy); i++)
        if (!isfinite(energy[i])) st = fail(PLUMB_ENUMERIC, "energy has NaN or infinity");
    if (!st) st = dynamics_find_conserved(out, mem, &states, energy);
    if (!st) st = dynamics_compare_motion(out, mem, &states);
    if (st) return st;
    out->driven = is_driving(in->action);
    const dynamics_given as_given = {.columns = given->truth->shape[2],
                                     .angles = given->angles,
                                     .layout = opt->truth_layout,
                                     .energy = energy,
                                     .action = in->action};
    st = dynamics_measure_flow(&out->flow, mem, &states, &as_given, opt);
    if (st) return st;
    out->r2 = states.r2;
    out->r2_worst = states.r2_worst;
    st = find_hint(out, mem, &states);
    if (st) return st;
    hash_arrays(out->input_hash,
                (const plumb_array *[]){given->latent, given->encoded, given->truth, given->energy,
                                        given->action},
                given->action ? 5 : 4);
    return dynamics_decide(out, mem);
}

plumb_status plumb_dynamics_measure(plumb_dynamics *out, const plumb_dynamics_input *input,
                                    const plumb_dynamics_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(input);
    const double start = clock_now();
    plumb_dynamics_options opt = plumb_dynamics_defaults();
    plumb_dynamics_input in = {.size = sizeof in};
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_dynamics_options");
    if (!st) st = options_resolve(&in, sizeof in, input, "plumb_dynamics_input");
    if (!st) st = options_check_ranges(&dynamics_option_table, &opt);
    if (st) return st;
    if (!in.latent || !in.encoded || !in.truth)
        return fail(PLUMB_EVALUE, "plumb_dynamics_measure: %s is NULL",
                    !in.latent    ? "latent"
                    : !in.encoded ? "encoded"
                                  : "truth");
    plumb_dynamics result = {0};
    arena *mem = result_begin(&result.memory);
    st = mem ? measure_all(&result, mem, &in, &opt) : PLUMB_EMEMORY;
    if (st) {
        plumb_state_forecast_clear(&result.motion);
        plumb_state_forecast_clear(&result.floor);
        plumb_flow_clear(&result.flow);
        return result_end(st, &result.memory);
    }
    result.seconds = clock_now() - start;
    *out = result;
    return PLUMB_OK;
}

void plumb_dynamics_clear(plumb_dynamics *result)
{
    if (!result) return;
    plumb_state_forecast_clear(&result->motion);
    plumb_state_forecast_clear(&result->floor);
    plumb_flow_clear(&result->flow);
    result_clear(result, sizeof *result, result->memory);
}
