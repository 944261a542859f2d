// SPDX-License-Identifier: MIT
// plumb convert: a dataset into another kind of file.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct convert_command {
    const char *split;
    plumb_dataset_write_options data;
    bool json;
} convert_command;

// clang-format off
#define AT(member) .offset = offsetof(convert_command, member)
static const cli_option rows[] = {
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

static int report(const convert_command *cmd, const char *in, const char *out, int64_t records)
{
    if (!cmd->json) {
        printf("%s: %lld record%s from %s\n", out, (long long)records, records == 1 ? "" : "s", in);
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_convert, EXIT_FAILED, "out of memory");
    plumb_record_set_string(record, "in", in);
    plumb_record_set_string(record, "out", out);
    plumb_record_set_int(record, "records", records);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_convert, record);
    plumb_record_free(record);
    return code;
}

static int run(void *given, int files, char **file)
{
    const convert_command *cmd = given;
    const cli_command *c = &cmd_convert;
    if (files != 2)
        return cli_error(c, EXIT_USAGE, "takes IN and OUT, not %d file%s; see plumb convert --help",
                         files, files == 1 ? "" : "s");
    int64_t records = 0;
    cli_show_log(&cmd_convert);
    signals_begin();
    progress_begin("convert");
    const plumb_status st =
        plumb_dataset_convert(&records, file[1], file[0], cmd->split, &cmd->data);
    progress_end();
    return signals_end(st ? cli_last_error(c) : report(cmd, file[0], file[1], records));
}

const cli_command cmd_convert = {
    .name = "convert",
    .summary = "convert a dataset to another file format",
    .usage = "IN OUT [options]",
    .text =
        "Reads x.h5, x.npz, x.tfrecord (plain or GZIP, with features.txt next to it), a published "
        "folder, or shards of Physical Concepts, one or a folder. Writes x.h5, x.npz or "
        "x.tfrecord. "
        "Arrays get plumb's names: x, dx_dt and image of the published records are state, "
        "derivative and frames. No number changes. A damaged record is reported, and nothing is "
        "written.",
    .example = "plumb convert toy_physics/pendulum/ pendulum-test.h5 --split test",
    .options = rows,
    .options_size = sizeof(convert_command),
    .defaults = defaults,
    .run = run,
};
