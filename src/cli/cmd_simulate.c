// SPDX-License-Identifier: MIT
// plumb simulate: trajectories of a world into a file.
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "cli/common/command.h"

typedef struct settings {
    const char *out;
    plumb_dataset_simulate_options simulate;
    plumb_world_options world;
    plumb_dataset_write_options data;
    int colors;
    bool json;
} settings;

static const char *const color_rules[] = {"world", "fixed", "six", NULL};

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_TEXT, AT(out), .value = "F",
     .help = "the file to write: F.h5, F.npz or F.tfrecord"},
    {.name = "count", .letter = 'n', .kind = OPTION_INTEGER, AT(simulate.count), .help = "trajectories"},
    {.name = "steps", .kind = OPTION_INTEGER, AT(simulate.steps), .value = "T",
     .help = "frames of each; the first is the initial state; 0: 256, of rooms 15"},
    {.name = "seed", .kind = OPTION_SEED, AT(simulate.seed), .value = "S",
     .help = "trajectory I with seed S is always the same"},
    {.name = "first", .kind = OPTION_INTEGER, AT(simulate.first), .value = "I",
     .help = "the first trajectory; a test set begins where training ends"},
    {.name = "dt", .kind = OPTION_REAL, AT(world.dt), .value = "X",
     .help = "time between frames; 0: the world's own"},
    {.name = "stride", .kind = OPTION_INTEGER, AT(world.stride), .value = "K",
     .help = "keep every K-th frame (md: integration steps in a frame); 0: the world's own"},
    {.name = "image", .kind = OPTION_INTEGER, AT(world.image), .value = "P",
     .help = "height and width of a frame, a multiple of 4; 0: the world's own"},
    {.name = "backward", .kind = OPTION_FLAG, AT(world.backward),
     .help = "time runs backward from the initial state"},
    {.name = "colors", .kind = OPTION_CHOICE, AT(colors), .choices = color_rules,
     .help = "as the world draws them, particle k always colour k, or of six as in +c"},
    {.name = "compress", .kind = OPTION_FLAG, AT(data.compress),
     .help = "deflate the arrays (.npz, .h5), GZIP the file (.tfrecord)"},
    {.name = "published", .kind = OPTION_FLAG, AT(data.published),
     .help = "in a .tfrecord only what the published files have; rooms as Physical Concepts"},
    {.name = "narrow", .kind = OPTION_FLAG, AT(data.narrow),
     .help = "in a .tfrecord real numbers as float32"},
    {.name = "threads", .kind = OPTION_INT, AT(simulate.threads),
     .help = "0: all cores; changes no result"},
    {.name = "force", .letter = 'f', .kind = OPTION_FLAG, AT(data.replace),
     .help = "overwrite a file that is there"},
    {.name = "json", .kind = OPTION_FLAG, AT(json), .help = "one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    settings *s = given;
    s->simulate = plumb_dataset_simulate_defaults();
    s->world = plumb_world_defaults();
    s->colors = (int)s->world.colors;
    s->data = plumb_dataset_write_defaults();
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int report(const settings *s, const plumb_world_info *info, double seconds)
{
    const plumb_dataset_simulate_options *o = &s->simulate;
    static const char *const items[] = {[PLUMB_WORLD_TRAJECTORY] = "trajectories",
                                        [PLUMB_WORLD_ROOM] = "clips",
                                        [PLUMB_WORLD_PROBE] = "tuples of four clips"};
    if (!s->json) {
        printf("%s: %lld %s of %s, %lld frames each, in %.3g s\n", s->out, (long long)o->count,
               items[info->kind], info->name, (long long)o->steps, seconds);
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_simulate, EXIT_FAILED, "no memory");
    plumb_record_set_string(record, "world", info->name);
    plumb_record_set_int(record, "count", o->count);
    plumb_record_set_int(record, "steps", o->steps);
    plumb_record_set_int(record, "seed", (int64_t)o->seed);
    plumb_record_set_int(record, "first", o->first);
    plumb_record_set_double(record, "seconds", seconds);
    plumb_record_set_string(record, "file", s->out);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_simulate, record);
    plumb_record_free(record);
    return code;
}

// An option that rooms do not have is wrong usage. The size of the image is checked later.
static bool is_misused(const settings *s, const plumb_world *world)
{
    plumb_world_options options = s->world;
    options.image = 0;
    return plumb_world_get_info(world)->kind != PLUMB_WORLD_TRAJECTORY &&
           plumb_world_check_options(world, s->simulate.steps, &options);
}

static int run(void *given, int files, char **file)
{
    settings *s = given;
    const cli_command *c = &cmd_simulate;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one world, not %d; plumb worlds lists them", files);
    if (!s->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb simulate --help");
    const plumb_world *world;
    if (plumb_world_find(&world, file[0]))
        return cli_error(c, EXIT_USAGE, "%s", plumb_last_error());
    const plumb_world_info *info = plumb_world_get_info(world);
    if (!s->simulate.steps) s->simulate.steps = info->steps ? info->steps : 256;
    s->world.colors = (plumb_world_colors)s->colors;
    s->simulate.world = &s->world;
    s->simulate.write = &s->data;
    if (info->clips != 1 && !info->concept_name)
        return cli_error(c, EXIT_USAGE, "%s is for training; simulate the probes", info->name);
    if (is_misused(s, world)) return cli_error(c, EXIT_USAGE, "%s", plumb_last_error());

    const double started = now();
    signals_begin();
    progress_begin("simulate");
    const plumb_status st = plumb_dataset_simulate(s->out, world, &s->simulate);
    progress_end();
    if (st) return signals_end(cli_last_error(c));
    return signals_end(report(s, info, now() - started));
}

const cli_command cmd_simulate = {
    .name = "simulate",
    .summary = "trajectories of a world, with their frames, into a file",
    .usage = "WORLD --out F [options]",
    .text =
        "Makes trajectories of a world (plumb worlds lists them) and writes frames, state,\n"
        "derivative, canonical, energy, time and one array per parameter to F.h5, F.npz or\n"
        "F.tfrecord, the last with features.txt beside it as in the published folders. The file\n"
        "appears whole or not at all, and the same trajectories come out whatever the count, the\n"
        "number of threads and the kind of file.\n"
        "Rooms (rooms/freeform, rooms/continuity ...) have frames, mask, camera_pose and objects;\n"
        "probes have four clips an item, two possible and then two impossible ones, and concept\n"
        "and cut.",
    .example = "plumb simulate pendulum --count 500 --steps 256 --out pendulum.h5",
    .options = rows,
    .settings_size = sizeof(settings),
    .defaults = defaults,
    .run = run,
};
