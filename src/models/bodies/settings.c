// SPDX-License-Identifier: MIT
// Settings of the model `bodies`: the table, the presets, and the configuration that they make.
#include "models/bodies/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

// In the order of the enumerations they stand for.
static const char *const structures[] = {"points", "chain", NULL};
static const char *const pairs[] = {"none", "linear", "inverse", "log", NULL};
static const char *const fields[] = {"auto", "on", "off", NULL};
static const char *const mass_rules[] = {"equal", "free", "by_size", NULL};
static const char *const profiles[] = {"disc", "learnt", NULL};

// clang-format off
#define AT(member) offsetof(bodies_settings, member)
const setting_spec bodies_setting_specs[] = {
    // {name, type, member, words, lowest, highest, help}, {paper, cpu, tiny}, rule
    {{"structure", OPTION_ENUM, AT(structure), structures, 0, 0,
      "masses that move freely, or on the links of a chain that hangs from a pivot", NULL}, {"points"}, SETTING_FIXED},
    {{"objects", OPTION_INT64, AT(objects), NULL, 0, SPRITES_MAX,
      "objects in every video; 0: found in the videos", NULL}, {"0"}, SETTING_FIXED},
    {{"colours", OPTION_INT64, AT(colours), NULL, 0, SPRITES_MAX,
      "colours of objects in all videos together; fewer than objects: some look the same; 0: as many as objects, or found along with them", NULL}, {"0"}, SETTING_FIXED},
    {{"periodic", OPTION_BOOL, AT(periodic), NULL, 0, 0,
      "an object that leaves the picture returns on the other side", NULL}, {"off"}, SETTING_FIXED},
    {{"constants", OPTION_BOOL, AT(constants), NULL, 0, 0,
      "size, colour, centre, lengths and strength differ from video to video", NULL}, {"off"}, SETTING_FIXED},
    {{"rows", OPTION_INT64, AT(rows), NULL, 1, 1e6,
      "with constants: training videos that are used, each with constants of its own", NULL}, {"400"}, SETTING_FIXED},
    {{"window", OPTION_INT64, AT(window), NULL, 3, 99,
      "frames to which a polynomial is fitted, for the state at their middle; odd", NULL}, {"9", NULL, "5"}, SETTING_FIXED},
    {{"degree", OPTION_INT64, AT(degree), NULL, 1, 8,
      "degree of this polynomial", NULL}, {"3"}, SETTING_FIXED},
    {{"inference_frames", OPTION_INT64, AT(inference_frames), NULL, 0, 999,
      "input frames to which the state is fitted by Levenberg-Marquardt; 0: the polynomial alone", NULL}, {"0"}, SETTING_FIXED},
    {{"track_noise", OPTION_DOUBLE, AT(track_noise), NULL, 1e-6, 10,
      "with constants: standard deviation of the places of objects, in pixels", NULL}, {"0.002"}, SETTING_FIXED},
    {{"horizons", OPTION_STRING, AT(horizons), NULL, 0, 0,
      "frames that are predicted each way from the window, stage by stage", NULL}, {"5,15,30", NULL, "2,4"}, SETTING_FIXED},
    {{"horizons_end", OPTION_DOUBLE, AT(horizons_end), NULL, 0, 1,
      "share of the steps over which the stages are spread", NULL}, {"0.7"}, SETTING_FIXED},
    {{"pair", OPTION_ENUM, AT(pair), pairs, 0, 0,
      "potential between two objects, a network of their distance: of r, of r and 1/r, or of log r and 1/r^2", NULL}, {"linear"}, SETTING_FIXED},
    {{"field", OPTION_ENUM, AT(field), fields, 0, 0,
      "potential of each object from outside, a network of its place; auto: if there is one object", NULL}, {"auto"}, SETTING_FIXED},
    {{"masses", OPTION_ENUM, AT(masses), mass_rules, 0, 0,
      "masses of objects: equal, learnt for each, or a function of the size that is learnt", NULL}, {"free"}, SETTING_FIXED},
    {{"width", OPTION_INT64, AT(width), NULL, 8, 256,
      "units of the two layers of a potential, a multiple of 8", NULL}, {"64", NULL, "16"}, SETTING_FIXED},
    {{"nodes", OPTION_INT64, AT(nodes), NULL, 4, 4096,
      "distances at which the potential of a pair is tabulated", NULL}, {"64", NULL, "24"}, SETTING_FIXED},
    {{"grid_nodes", OPTION_INT64, AT(grid_nodes), NULL, 4, 256,
      "points per axis at which a potential of the place is tabulated", NULL}, {"24", NULL, "10"}, SETTING_FIXED},
    {{"output_scale", OPTION_DOUBLE, AT(output_scale), NULL, 0, 100,
      "size of the initial weights of the last layer", NULL}, {"0.1"}, SETTING_FIXED},
    {{"field_penalty", OPTION_DOUBLE, AT(field_penalty), NULL, 0, 100,
      "weight of the mean square of the force of the field, in the loss", NULL}, {"0"}, SETTING_FIXED},
    {{"dt", OPTION_DOUBLE, AT(dt), NULL, 1e-9, 1e9,
      "time between frames, in the unit of the model", NULL}, {"0.1"}, SETTING_FIXED},
    {{"substeps", OPTION_INT64, AT(substeps), NULL, 1, 1000,
      "steps of the integrator per frame", NULL}, {"1"}, SETTING_FIXED},
    {{"profile", OPTION_ENUM, AT(profile), profiles, 0, 0,
      "objects are discs with a soft edge, or round with a profile that is learnt", NULL}, {"disc"}, SETTING_ADDED_LATER},
    {{"pixels", OPTION_BOOL, AT(pixels), NULL, 0, 0,
      "after training on places, refine: draw the rollouts and compare frames", NULL}, {"off"}, SETTING_ADDED_LATER},
    {{"pixels_share", OPTION_DOUBLE, AT(pixels_share), NULL, 0, 1,
      "with pixels: share of the steps, the last ones, that compare frames", NULL}, {"0.1"}, SETTING_ADDED_LATER},
    {.option = {0}},
};
#undef AT
// clang-format on

// ---- presets ----

#define SCHEDULE                                                                                \
    "trajectories=500", "frames=120", "batch=64", "learning_rate=3e-3", "warmup=50",            \
        "decay=cosine", "decay_start=0.4", "beta2=0.99", "clip_norm=1", "checkpoint_steps=500", \
        "log_steps=50"
const char *const bodies_cpu[] = {SCHEDULE, "steps=1500", NULL};
const char *const bodies_tiny[] = {"trajectories=16", "frames=30", "batch=8", NULL};
const char *const bodies_points[] = {SCHEDULE, "steps=1500", NULL};
const char *const bodies_box[] = {SCHEDULE,     "steps=1500", "periodic=on", "pair=log",
                                  "substeps=2", "width=32",   "batch=24",    NULL};
const char *const bodies_chain[] = {
    SCHEDULE,   "steps=1200",         "structure=chain",     "substeps=2",
    "window=5", "degree=4",           "inference_frames=25", "batch=32",
    "width=32", "horizons=4,8,16,25", "horizons_end=0.6",    "output_scale=0.05",
    NULL};
const char *const bodies_points_constants[] = {SCHEDULE,
                                               "steps=2000",
                                               "trajectories=400",
                                               "constants=on",
                                               "colours=6",
                                               "masses=by_size",
                                               "pair=inverse",
                                               "degree=4",
                                               "inference_frames=25",
                                               "horizons=8,20,40",
                                               "width=32",
                                               "horizons_end=0.6",
                                               "field_penalty=1e-2",
                                               NULL};
const char *const bodies_chain_constants[] = {SCHEDULE,
                                              "steps=1500",
                                              "trajectories=400",
                                              "structure=chain",
                                              "substeps=2",
                                              "constants=on",
                                              "colours=6",
                                              "masses=by_size",
                                              "degree=4",
                                              "inference_frames=25",
                                              "width=32",
                                              "horizons=6,15,30",
                                              "horizons_end=0.6",
                                              "output_scale=0.05",
                                              NULL};

// ---- configuration ----

// "5,15,30": frames of each stage.
static plumb_status read_horizons(bodies_config *config, const char *text)
{
    const char *at = text;
    while (*at) {
        char *end;
        const long frames = strtol(at, &end, 10);
        if (end == at || frames < 1 || frames > 10000 || (*end && *end != ',') ||
            config->stages == BODIES_MAX_STAGES)
            return fail(PLUMB_EVALUE,
                        "horizons takes up to %d numbers of frames separated by commas, not "
                        "\"%.80s\"",
                        BODIES_MAX_STAGES, text);
        config->horizon[config->stages++] = (int)frames;
        at = *end ? end + 1 : end;
    }
    return config->stages ? PLUMB_OK : fail(PLUMB_EVALUE, "horizons is empty");
}

// Which constants of a trajectory exist, and how fast they are learnt.
static void set_rows(bodies_config *config)
{
    config->row_size = config->chain ? ROW_LENGTH + config->objects : ROW_LENGTH;
    config->row_active[ROW_X] = config->row_active[ROW_Y] = config->chain || config->has_field;
    // One strength for all is part of the potential.
    config->row_active[ROW_STRENGTH] = config->constants && (config->chain || config->has_pair);
    for (int i = 0; i < config->row_size; i++) {
        if (i >= ROW_LENGTH) config->row_active[i] = true;
        // A row is used in few steps, so it learns faster than what all share. Pivot and lengths
        // are known from circles before training.
        const double place = config->chain ? 0.3 : 4.0, strength = config->chain ? 5.0 : 20.0;
        config->row_scale[i] = !config->constants ? 1.0 : i == ROW_STRENGTH ? strength : place;
    }
}

static plumb_status check_settings(const bodies_settings *options)
{
    if (options->window % 2 == 0)
        return fail(PLUMB_EVALUE, "window=%lld is even; its middle must be a frame",
                    (long long)options->window);
    if (options->degree >= options->window)
        return fail(PLUMB_EVALUE, "degree=%lld needs a window of %lld frames at least",
                    (long long)options->degree, (long long)options->degree + 1);
    if (options->width % 8)
        return fail(PLUMB_EVALUE, "width=%lld is not a multiple of 8", (long long)options->width);
    if (options->colours && options->colours < options->objects && options->constants)
        return fail(PLUMB_EVALUE,
                    "colours=%lld is fewer than objects=%lld; objects that share a colour look the "
                    "same, which needs constants=off",
                    (long long)options->colours, (long long)options->objects);
    if (options->objects && options->colours > options->objects && !options->constants)
        return fail(PLUMB_EVALUE, "colours=%lld is more than objects=%lld; that needs constants=on",
                    (long long)options->colours, (long long)options->objects);
    if (options->profile && options->constants)
        return fail(PLUMB_EVALUE, "profile=learnt needs constants=off: one profile for all videos");
    if (options->structure == BODIES_CHAIN && (options->objects > 2 || options->periodic))
        return fail(PLUMB_EVALUE, "a chain has one or two objects, and is not periodic");
    if (options->inference_frames && options->inference_frames < options->window)
        return fail(PLUMB_EVALUE, "inference_frames=%lld is fewer than window=%lld",
                    (long long)options->inference_frames, (long long)options->window);
    if (options->constants && !options->inference_frames)
        return fail(PLUMB_EVALUE, "constants=on needs inference_frames, to find the constants");
    return PLUMB_OK;
}

plumb_status bodies_settings_config(bodies_config *out, const bodies_settings *options,
                                    const video_set *frames)
{
    plumb_status st = check_settings(options);
    if (st) return st;
    const int64_t side = frames->height > frames->width ? frames->height : frames->width;
    const bool chain = options->structure == BODIES_CHAIN, one = options->objects == 1;
    *out = (bodies_config){
        .chain = chain,
        .periodic = options->periodic,
        .constants = options->constants,
        // Before they are found any number stands for them.
        .objects = (int)(options->objects ? options->objects : 1),
        .colours = (int)(options->colours   ? options->colours
                         : options->objects ? options->objects
                                            : 1),
        .profile = options->profile == PROFILE_LEARNT,
        .window = (int)options->window,
        .degree = (int)options->degree,
        .inference = (int)options->inference_frames,
        .noise = options->track_noise,
        .stages_end = options->horizons_end,
        .drawn_share = options->pixels ? options->pixels_share : 0.0,
        .has_pair = !chain && !one && options->pair != PAIR_NONE,
        .has_field = chain || options->field == FIELD_ON || (options->field == FIELD_AUTO && one),
        .pair = options->pair == PAIR_LOG       ? RADIAL_LOG
                : options->pair == PAIR_INVERSE ? RADIAL_INVERSE
                                                : RADIAL_LINEAR,
        .masses = (bodies_masses)options->masses,
        .width = (int)options->width,
        .nodes = (int)options->nodes,
        .grid_nodes = (int)options->grid_nodes,
        .substeps = (int)options->substeps,
        .output_scale = options->output_scale,
        .field_penalty = options->field_penalty,
        .dt = options->dt,
        .box = options->periodic ? 2.0 : 0.0,
        .pixels = side > 1 ? 0.5 * (double)(side - 1) : 1.0,
        .middle = {0.5 * (double)(frames->width - 1), 0.5 * (double)(frames->height - 1)},
        .rows = options->constants ? options->rows : 1};
    out->has_spring = !chain && out->has_field;
    set_rows(out);
    return read_horizons(out, options->horizons);
}

int64_t bodies_clip_length(const bodies_config *config, int stage)
{
    return 2 * config->horizon[stage] + config->window;
}
