// SPDX-License-Identifier: MIT
// Options of evaluations, rollouts, audits and loss files: the tables of their members, their
// defaults and their ranges.
#include "evaluate/options.h"

#include <string.h>

#include "base/argument.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "measures/surprise/options.h"

// In the order of the enumerators.
static const char *const protocol_words[] = {"own", "paper", NULL};

// Ranges are checked by options_check_ranges(); `help` is also the text of --help.
// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_evaluation_options, member)
static const option_spec evaluation_specs[] = {
    {MEMBER(first), .kind = OPTION_INT64, .low = 0, .high = 0x1p39,
     .help = "index of the first test item, of those that training never uses"},
    {MEMBER(world), .kind = OPTION_STRING, .help = "another world than that of the run"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {MEMBER(forecast_videos), .kind = OPTION_INT64, .low = 2, .high = 1000000,
     .help = "videos of the forecast"},
    {MEMBER(forecast_steps), .kind = OPTION_INT64, .low = 1, .high = 1000000,
     .help = "frames that the VPT can count"},
    {MEMBER(phase_trajectories), .kind = OPTION_INT64, .low = 2, .high = 1000000,
     .help = "trajectories of R2, Sym and kappa"},
    {MEMBER(data), .kind = OPTION_STRING, .help = "a file of plumb simulate instead of a world"},
    {MEMBER(network), .kind = OPTION_BOOL, .help = "measure SyMetric by a network too"},
    {MEMBER(symetric), .kind = OPTION_POINTER, .type = "symetric_options",
     .help = "options of SyMetric"},
    {MEMBER(kappa), .kind = OPTION_POINTER, .type = "kappa_options", .help = "options of kappa"},
    {MEMBER(forecast), .kind = OPTION_POINTER, .type = "forecast_options",
     .help = "options of the forecast"},
    {MEMBER(tuples), .kind = OPTION_INT64, .low = 2, .high = 1000000,
     .help = "probe tuples per concept"},
    {MEMBER(free_clips), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "free-scene clips whose frames are predicted; 0: none"},
    {MEMBER(probes), .kind = OPTION_POINTER, .type = "string",
     .help = "a file of probe tuples or a room, rooms/support, instead of the five rooms; can be repeated"},
    {MEMBER(probe_count), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "number of probe files"},
    {MEMBER(naive), .kind = OPTION_STRING,
     .help = "a run trained on impossible clips, for the scorer naive"},
    {MEMBER(save), .kind = OPTION_STRING,
     .help = "write surprise, feature and concept to a file that plumb surprise reads"},
    {MEMBER(surprise), .kind = OPTION_POINTER, .type = "surprise_options",
     .help = "options of the scorers"},
    {MEMBER(allow_training_data), .kind = OPTION_BOOL,
     .help = "evaluate also on the videos that the model was trained on"},
    {MEMBER(protocol), .kind = OPTION_ENUM, .words = protocol_words,
     .help = "paper: as published, 10 videos, SyMetric in mode reference; other options still count"},
    {MEMBER(best), .kind = OPTION_BOOL,
     .help = "the weights with the least validation error, best.safetensors, not the last ones"},
    {MEMBER(network_trajectories), .kind = OPTION_INT64, .low = 0, .high = 1e9,
     .help = "mlp: at most this many trajectories, also if the network needs more; 0: all it needs, "
             "and no network if these are more than 20,000"},
    {MEMBER(resize), .kind = OPTION_BOOL,
     .help = "larger frames of files of probes are resized to those of the model, by the average of areas"},
    {0},
};
#undef MEMBER

#define MEMBER(member) .name = #member, .offset = offsetof(plumb_rollout_options, member)
static const option_spec rollout_specs[] = {
    {MEMBER(count), .kind = OPTION_INT64, .low = 2, .high = 1000000, .help = "videos"},
    {MEMBER(steps), .kind = OPTION_INT64, .low = 1, .high = 1000000, .help = "frames per video"},
    {MEMBER(first), .kind = OPTION_INT64, .low = 0, .high = 0x1p39,
     .help = "index of the first test video"},
    {MEMBER(world), .kind = OPTION_STRING, .help = "another world than that of the run"},
    {MEMBER(data), .kind = OPTION_STRING, .help = "a file of plumb simulate instead of a world"},
    {MEMBER(backward), .kind = OPTION_BOOL,
     .help = "take the last frames as input and predict the earlier ones"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {MEMBER(measured), .kind = OPTION_BOOL,
     .help = "the trajectories on which plumb evaluate measures R2, Sym and kappa (100 of 60 steps "
             "by its defaults): latents and states, no frames"},
    {MEMBER(traversal_steps), .kind = OPTION_INT64, .low = 0, .high = 100000,
     .help = "steps of rollouts from the first state with one latent at -2, 0 and 2; 0: none"},
    {MEMBER(encoded), .kind = OPTION_BOOL,
     .help = "write the latents inferred from the true frames around each frame too"},
    {0},
};
#undef MEMBER

#define MEMBER(member) .name = #member, .offset = offsetof(plumb_audit_options, member)
static const option_spec audit_specs[] = {
    {MEMBER(max_tuples), .kind = OPTION_INT64, .low = 0, .high = 100000,
     .help = "at most this many tuples for the classifiers, evenly spaced"},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "bootstrap draws for the 95 % intervals"},
    {MEMBER(seed), .kind = OPTION_UINT64,
     .help = "seed of the halves that the classifiers are trained on, and of the bootstrap"},
    {0},
};
#undef MEMBER

#define MEMBER(member) .name = #member, .offset = offsetof(plumb_surprise_losses_options, member)
static const option_spec losses_specs[] = {
    {MEMBER(metadata), .kind = OPTION_STRING,
     .help = "a table that says what the clips of a .pth file without labels are, as in IntPhys 2"},
    {MEMBER(context), .kind = OPTION_INT64,
     .help = "index of the context length of a .pth file, from 0; -1: the least loss of all"},
    {MEMBER(frames), .kind = OPTION_ENUM, .words = surprise_frames_words,
     .help = "how the windows of a clip are reduced if clips differ in length"},
    {MEMBER(score), .kind = OPTION_STRING,
     .help = "column of a table that has the score; by default score, surprise or loss"},
    {MEMBER(plausible), .kind = OPTION_BOOL,
     .help = "higher scores of a table mean more plausible"},
    {MEMBER(concept_by), .kind = OPTION_STRING,
     .help = "columns of a table that are the concept together: Difficulty,Camera"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table evaluation_option_table = {"evaluation_options",
                                              sizeof(plumb_evaluation_options), evaluation_specs};
const option_table rollout_option_table = {"rollout_options", sizeof(plumb_rollout_options),
                                           rollout_specs};
const option_table audit_option_table = {"audit_options", sizeof(plumb_audit_options), audit_specs};
const option_table surprise_losses_option_table = {
    "surprise_losses_options", sizeof(plumb_surprise_losses_options), losses_specs};

void plumb_evaluation_options_init(plumb_evaluation_options *options, size_t size)
{
    const plumb_evaluation_options defaults = {.size = sizeof defaults,
                                               .forecast_videos = 30,
                                               .forecast_steps = 1000,
                                               .phase_trajectories = 100,
                                               .network = true,
                                               .tuples = 250,
                                               .free_clips = 64};
    options_init(options, size, &defaults, sizeof defaults);
}

plumb_status plumb_evaluation_set_protocol(plumb_evaluation_options *options,
                                           plumb_symetric_options *symetric,
                                           plumb_forecast_options *forecast,
                                           plumb_evaluation_protocol protocol)
{
    REQUIRE_ARGUMENT(options);
    REQUIRE_ARGUMENT(symetric);
    REQUIRE_ARGUMENT(forecast);
    if (protocol != PLUMB_EVALUATION_PROTOCOL_OWN && protocol != PLUMB_EVALUATION_PROTOCOL_PAPER)
        return fail(PLUMB_EVALUE, "protocol is %d; there are 0 (own) and 1 (paper)", (int)protocol);
    const plumb_evaluation_options defaults = plumb_evaluation_defaults();
    const plumb_symetric_options published = plumb_symetric_defaults();
    plumb_evaluation_options all = defaults;
    plumb_symetric_options phase = published;
    plumb_forecast_options frames = plumb_forecast_defaults();
    plumb_status st = options_resolve(&all, sizeof all, options, "plumb_evaluation_options");
    if (!st) st = options_resolve(&phase, sizeof phase, symetric, "plumb_symetric_options");
    if (!st) st = options_resolve(&frames, sizeof frames, forecast, "plumb_forecast_options");
    if (st) return st;
    // Most published values are the defaults.
    const bool paper = protocol == PLUMB_EVALUATION_PROTOCOL_PAPER;
    all.forecast_videos = paper ? 10 : defaults.forecast_videos;
    all.forecast_steps = defaults.forecast_steps;
    all.phase_trajectories = defaults.phase_trajectories;
    all.network = defaults.network;
    all.protocol = protocol;
    all.symetric = symetric;
    all.forecast = forecast;
    phase.mode = paper ? PLUMB_SYMETRIC_MODE_REFERENCE : published.mode;
    phase.mask = published.mask;
    phase.points = published.points;
    phase.batch = published.batch;
    phase.r2 = published.r2;
    phase.scale = published.scale;
    frames.average = PLUMB_FORECAST_AVERAGE_MEAN;
    frames.backward_count = PLUMB_FORECAST_VPT_ORIGIN_INFERRED;
    // A caller that was compiled with an older header has shorter structs.
    all.size = options->size, phase.size = symetric->size, frames.size = forecast->size;
    memcpy(options, &all, options->size);
    memcpy(symetric, &phase, symetric->size);
    memcpy(forecast, &frames, forecast->size);
    return PLUMB_OK;
}

void plumb_rollout_options_init(plumb_rollout_options *options, size_t size)
{
    const plumb_rollout_options defaults = {
        .size = sizeof defaults, .count = 10, .steps = 120, .encoded = true};
    options_init(options, size, &defaults, sizeof defaults);
}

void plumb_audit_options_init(plumb_audit_options *options, size_t size)
{
    const plumb_audit_options defaults = {
        .size = sizeof defaults, .max_tuples = 500, .resamples = 2000, .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}

void plumb_surprise_losses_options_init(plumb_surprise_losses_options *options, size_t size)
{
    const plumb_surprise_losses_options defaults = {
        .size = sizeof defaults, .context = -1, .frames = PLUMB_SURPRISE_FRAMES_MEAN};
    options_init(options, size, &defaults, sizeof defaults);
}
