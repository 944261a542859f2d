// SPDX-License-Identifier: MIT
// plumb convert: writes a dataset as a file of another format.
// The library reads, checks and writes the records. Here are only the options and the output.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct convert_command {
    const char *split;
    plumb_dataset_write_options data;
    bool json;
} convert_command;

// clang-format off
#define AT(member) .offset = offsetof(convert_command, member)
static const cli_option command_options[] = {
    {.name = "split", .kind = OPTION_STRING, AT(split), .value = "train|test",
     .help = "which part of a published folder; by default train, or what exists"},
    {.name = "compress", FROM(dataset_write_options, data, "compress")},
    {.name = "published", FROM(dataset_write_options, data, "published")},
    {.name = "narrow", FROM(dataset_write_options, data, "narrow")},
    {.name = "force", .letter = 'f', FROM(dataset_write_options, data, "replace")},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    ((convert_command *)given)->data = plumb_dataset_write_defaults();
}

// Context of cli_print().
typedef struct conversion {
    const char *in, *out;
    int64_t records;
} conversion;

// The text output: one line.
static void print_conversion(const void *context)
{
    const conversion *done = context;
    printf("%s: %lld record%s from %s\n", done->out, (long long)done->records,
           done->records == 1 ? "" : "s", done->in);
}

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const conversion *done = context;
    plumb_record_set_string(record, "in", done->in);
    plumb_record_set_string(record, "out", done->out);
    plumb_record_set_int(record, "records", done->records);
    plumb_record_set_string(record, "version", plumb_version());
}

static int run(void *given, int files, char **file)
{
    const convert_command *cmd = given;
    const cli_command *c = &cmd_convert;
    if (files != 2)
        return cli_error(c, EXIT_USAGE, "takes IN and OUT, not %d file%s; see plumb convert --help",
                         files, files == 1 ? "" : "s");
    conversion done = {.in = file[0], .out = file[1]};
    cli_show_log(c);
    signals_begin();
    progress_begin("convert");
    const plumb_status st =
        plumb_dataset_convert(&done.records, file[1], file[0], cmd->split, &cmd->data);
    progress_end();
    return signals_end(st ? cli_last_error(c)
                          : cli_print(c, cmd->json, fill_record, print_conversion, &done));
}

const cli_command cmd_convert = {
    .name = "convert",
    .summary = "convert a dataset to another file format",
    .usage = "IN OUT [options]",
    .text =
        "Reads x.h5, x.npz, x.tfrecord (plain or GZIP, with features.txt next to it), a published "
        "folder, or shards of Physical Concepts, one or a folder. Writes x.h5, x.npz or "
        "x.tfrecord. Arrays get the names of plumb: x, dx_dt and image of the published records "
        "become state, derivative and frames. No value changes. If a record is damaged, it is "
        "named and nothing is written.",
    .example = "plumb convert toy_physics/pendulum/ pendulum-test.h5 --split test",
    .options = command_options,
    .options_size = sizeof(convert_command),
    .defaults = defaults,
    .run = run,
};
