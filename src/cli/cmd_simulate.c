// SPDX-License-Identifier: MIT
// plumb simulate: simulates trajectories of a world and writes them to a file.
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "cli/common/command.h"

typedef struct simulate_command {
    const char *out;
    plumb_dataset_simulate_options simulate;
    plumb_world_options world;
    plumb_dataset_write_options data;
    bool json;
} simulate_command;

// clang-format off
#define AT(member) .offset = offsetof(simulate_command, member)
static const cli_option command_options[] = {
    {.name = "out", .letter = 'o', .group = "output", .kind = OPTION_STRING, AT(out), .value = "F",
     .help = "the file to write: F.h5, F.npz or F.tfrecord"},
    {.name = "force", .letter = 'f', FROM(dataset_write_options, data, "replace")},
    {.name = "compress", FROM(dataset_write_options, data, "compress")},
    {.name = "published", FROM(dataset_write_options, data, "published")},
    {.name = "narrow", FROM(dataset_write_options, data, "narrow")},
    {.name = "count", .letter = 'n', .group = "trajectories", FROM(dataset_simulate_options, simulate, "count")},
    {.name = "steps", FROM(dataset_simulate_options, simulate, "steps"), .value = "T"},
    {.name = "seed", FROM(dataset_simulate_options, simulate, "seed"), .value = "S"},
    {.name = "first", FROM(dataset_simulate_options, simulate, "first"), .value = "I"},
    {.name = "loops", FROM(dataset_simulate_options, simulate, "loops"), .value = "K"},
    {.name = "loop-states", FROM(dataset_simulate_options, simulate, "loop_states"), .value = "S"},
    {.name = "threads", FROM(dataset_simulate_options, simulate, "threads")},
    {.name = "dt", .group = "world", FROM(world_options, world, "dt"), .value = "X"},
    {.name = "stride", FROM(world_options, world, "stride"), .value = "K"},
    {.name = "image", FROM(world_options, world, "image"), .value = "P"},
    {.name = "backward", FROM(world_options, world, "backward")},
    {.name = "colors", FROM(world_options, world, "colors")},
    {.name = "background", FROM(world_options, world, "background")},
    {.name = "profile", FROM(world_options, world, "profile")},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    simulate_command *cmd = given;
    cmd->simulate = plumb_dataset_simulate_defaults();
    cmd->world = plumb_world_defaults();
    cmd->data = plumb_dataset_write_defaults();
}

// Context of cli_print().
typedef struct simulation {
    const simulate_command *cmd;
    const plumb_world_info *world;
    double seconds;
} simulation;

static void print_simulation(const void *context)
{
    // What an item of the file is, by the kind of the world.
    static const char *const items[] = {[PLUMB_WORLD_TRAJECTORY] = "trajectories",
                                        [PLUMB_WORLD_ROOM] = "clips",
                                        [PLUMB_WORLD_PROBE] = "tuples of four clips"};
    const simulation *done = context;
    const plumb_dataset_simulate_options *options = &done->cmd->simulate;
    printf("%s: %lld %s of %s, %lld frames each, in %.3g s\n", done->cmd->out,
           (long long)options->count, items[done->world->kind], done->world->name,
           (long long)options->steps, done->seconds);
}

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const simulation *done = context;
    const plumb_dataset_simulate_options *options = &done->cmd->simulate;
    plumb_record_set_string(record, "world", done->world->name);
    plumb_record_set_int(record, "count", options->count);
    plumb_record_set_int(record, "steps", options->steps);
    plumb_record_set_int(record, "seed", (int64_t)options->seed);
    plumb_record_set_int(record, "first", options->first);
    plumb_record_set_double(record, "seconds", done->seconds);
    plumb_record_set_string(record, "file", done->cmd->out);
    plumb_record_set_string(record, "version", plumb_version());
}

// An option that rooms do not have is wrong usage. The size of the image is checked later.
static bool is_misused(const simulate_command *cmd, const plumb_world *world)
{
    plumb_world_options options = cmd->world;
    options.image = 0;
    return plumb_world_get_info(world)->kind != PLUMB_WORLD_TRAJECTORY &&
           plumb_world_check_options(world, cmd->simulate.steps, &options);
}

static int run(void *given, int files, char **file)
{
    simulate_command *cmd = given;
    const cli_command *c = &cmd_simulate;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one world, not %d; plumb worlds lists them", files);
    if (!cmd->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb simulate --help");
    const plumb_world *world;
    if (plumb_world_find(&world, file[0]))
        return cli_error(c, EXIT_USAGE, "%s", plumb_last_error());
    const plumb_world_info *info = plumb_world_get_info(world);
    // The default is resolved here because the result states it.
    if (!cmd->simulate.steps) cmd->simulate.steps = info->steps ? info->steps : 256;
    cmd->simulate.world = &cmd->world;
    cmd->simulate.write = &cmd->data;
    if (info->clips != 1 && !info->concept_name)
        return cli_error(c, EXIT_USAGE, "%s is for training only; simulate its probes", info->name);
    if (is_misused(cmd, world)) return cli_error(c, EXIT_USAGE, "%s", plumb_last_error());

    if (cmd->simulate.loops && !cmd->simulate.loop_states) cmd->simulate.loop_states = 64;
    if (cmd->simulate.loops) cmd->simulate.count = cmd->simulate.loops * cmd->simulate.loop_states;
    // The library checks the remaining options before it writes anything.
    const double started = progress_clock();
    signals_begin();
    cli_show_log(c);
    progress_begin("simulate");
    const plumb_status st = plumb_dataset_simulate(cmd->out, world, &cmd->simulate);
    progress_end();
    if (st) return signals_end(cli_last_error(c));
    const simulation done = {cmd, info, progress_clock() - started};
    return signals_end(cli_print(c, cmd->json, fill_record, print_simulation, &done));
}

const cli_command cmd_simulate = {
    .name = "simulate",
    .summary = "simulate trajectories of a world, with their frames, into a file",
    .usage = "WORLD --out F [options]",
    .text =
        "Simulates trajectories of a world (plumb worlds lists them) and writes frames, state, "
        "derivative, canonical, energy, time and one array per parameter to F.h5, F.npz or "
        "F.tfrecord, the last with features.txt next to it as in the published folders. The file "
        "is written atomically. The trajectories do not depend on the count, the number of threads "
        "or "
        "the file format.\n\n"
        "Rooms (rooms/freeform, rooms/continuity ...) have frames, mask, camera_pose and objects. "
        "Probes have four clips per item, two possible and then two impossible ones, and concept "
        "and cut.",
    .example = "plumb simulate pendulum --count 500 --steps 256 --out pendulum.h5",
    .complete = CLI_COMPLETE_WORLDS,
    .options = command_options,
    .options_size = sizeof(simulate_command),
    .defaults = defaults,
    .run = run,
};
