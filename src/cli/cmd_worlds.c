// SPDX-License-Identifier: MIT
// plumb worlds: lists the worlds.
// The numbers come from plumb_world_info, so a new world appears here without a change.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct worlds_command {
    cli_format format;
} worlds_command;

// clang-format off
#define AT(member) .offset = offsetof(worlds_command, member)
static const cli_option command_options[] = {
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

static void record_world(plumb_record *record, const plumb_world_info *world)
{
    plumb_record_set_string(record, "name", world->name);
    plumb_record_set_int(record, "n", world->n);
    plumb_record_set_ints(record, "image",
                          (int64_t[]){world->height, world->width, world->channels}, 3);
    plumb_record_set_double(record, "dt", world->dt);
    plumb_record_set_string(record, "summary", world->summary);
    plumb_record_set_int(record, "canonical_n", world->canonical_n);
    plumb_record_set_bool(record, "upright", world->upright);
    plumb_record_set_bool(record, "reversible", world->reversible);
    plumb_record_set_int(record, "actions", world->actions);
    // The names of the parameters, at most 64.
    const char *names[64];
    int64_t count = 0;
    for (; count < world->parameter_count && count < 64; count++)
        names[count] = world->parameters[count].name;
    plumb_record_set_strings(record, "parameters", names, count);
    if (world->kind != PLUMB_WORLD_TRAJECTORY) plumb_record_set_int(record, "clips", world->clips);
}

// Each world is one record of a JSON list.
static int print_json(void)
{
    putchar('[');
    for (int64_t i = 0; i < plumb_world_count(); i++) {
        plumb_record *record = plumb_record_create();
        if (!record) return cli_error(&cmd_worlds, EXIT_FAILED, "out of memory");
        record_world(record, plumb_world_get_info(plumb_world_at(i)));
        const char *line;
        const plumb_status st = plumb_record_to_json(&line, record);
        if (!st) printf("%s%s", i ? ", " : "", line);
        plumb_record_free(record);
        if (st) return cli_last_error(&cmd_worlds);
    }
    puts("]");
    return EXIT_DONE;
}

// The other formats: one list of a record.
static void fill_record(plumb_record *record, const void *context)
{
    (void)context;
    plumb_record_begin_array(record, "worlds");
    for (int64_t i = 0; i < plumb_world_count(); i++) {
        plumb_record_begin_object(record, NULL);
        record_world(record, plumb_world_get_info(plumb_world_at(i)));
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

// The summary is wrapped below itself, from its column on.
static void print_table(const void *context)
{
    (void)context;
    enum { SUMMARY_COLUMN = 51 };
    printf("  %-24s %3s  %-11s %s\n", "world", "2n", "frame", "dt");
    for (int64_t i = 0; i < plumb_world_count(); i++) {
        const plumb_world_info *world = plumb_world_get_info(plumb_world_at(i));
        char image[64];
        snprintf(image, sizeof image, "%lld x %lld x %lld", (long long)world->height,
                 (long long)world->width, (long long)world->channels);
        char dimension[24] = "-"; // rooms have no phase space
        if (world->n) snprintf(dimension, sizeof dimension, "%lld", (long long)(2 * world->n));
        const int column =
            printf("  %-24s %3s  %-11s %-6g ", world->name, dimension, image, world->dt);
        help_wrap(world->summary, column, SUMMARY_COLUMN);
        putchar('\n');
    }
}

static int run(void *given, int files, char **file)
{
    const worlds_command *cmd = given;
    if (files) return cli_error(&cmd_worlds, EXIT_USAGE, "takes no files, not \"%s\"", file[0]);
    if (cmd->format == CLI_FORMAT_JSON) return print_json();
    return cli_print(&cmd_worlds, cmd->format, fill_record, print_table, NULL);
}

const cli_command cmd_worlds = {
    .name = "worlds",
    .summary = "list the worlds that plumb simulate can make",
    .usage = "[--format FORMAT]",
    .text =
        "Lists the worlds: name, length of the published state (q first, then p), frame size, time "
        "between frames, and what moves. Rooms have no phase space, so n is 0.",
    .example = "plumb worlds",
    .options = command_options,
    .options_size = sizeof(worlds_command),
    .run = run,
};
