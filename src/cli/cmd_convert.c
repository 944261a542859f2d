// SPDX-License-Identifier: MIT
// plumb convert: a dataset into another kind of file.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct settings {
    const char *split;
    plumb_dataset_write_options data;
    bool json;
} settings;

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "split", .kind = OPTION_TEXT, AT(split), .value = "train|test",
     .help = "which part of a published folder; without it train, or what there is"},
    {.name = "compress", .kind = OPTION_FLAG, AT(data.compress),
     .help = "deflate the arrays (.npz, .h5), GZIP the file (.tfrecord)"},
    {.name = "published", .kind = OPTION_FLAG, AT(data.published),
     .help = "in a .tfrecord only what the published files have"},
    {.name = "narrow", .kind = OPTION_FLAG, AT(data.narrow),
     .help = "in a .tfrecord real numbers as float32"},
    {.name = "force", .letter = 'f', .kind = OPTION_FLAG, AT(data.replace),
     .help = "overwrite a file that is there"},
    {.name = "json", .kind = OPTION_FLAG, AT(json), .help = "one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    ((settings *)given)->data = plumb_dataset_write_defaults();
}

static int report(const settings *s, const char *in, const char *out, int64_t records)
{
    if (!s->json) {
        printf("%s: %lld record%s from %s\n", out, (long long)records, records == 1 ? "" : "s", in);
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_convert, EXIT_FAILED, "no memory");
    plumb_record_set_string(record, "in", in);
    plumb_record_set_string(record, "out", out);
    plumb_record_set_int(record, "records", records);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_convert, record);
    plumb_record_free(record);
    return code;
}

static void say(void *context, const char *line)
{
    (void)context;
    cli_error(&cmd_convert, EXIT_DONE, "%s", line);
}

static int run(void *given, int files, char **file)
{
    const settings *s = given;
    const cli_command *c = &cmd_convert;
    if (files != 2)
        return cli_error(c, EXIT_USAGE, "takes IN and OUT, not %d file%s; see plumb convert --help",
                         files, files == 1 ? "" : "s");
    int64_t records = 0;
    plumb_set_log(say, NULL);
    signals_begin();
    progress_begin("convert");
    const plumb_status st = plumb_dataset_convert(&records, file[1], file[0], s->split, &s->data);
    progress_end();
    return signals_end(st ? cli_last_error(c) : report(s, file[0], file[1], records));
}

const cli_command cmd_convert = {
    .name = "convert",
    .summary = "a dataset into another kind of file",
    .usage = "IN OUT [options]",
    .text = "Reads x.h5, x.npz, x.tfrecord (plain or GZIP, with features.txt beside it), a\n"
            "published folder, or shards of Physical Concepts, one or a folder; writes x.h5, x.npz "
            "or x.tfrecord. Arrays get plumb's names: x,\n"
            "dx_dt and image of the published records are state, derivative and frames. No number\n"
            "changes. A record that is damaged is named, and nothing is written.",
    .example = "plumb convert toy_physics/pendulum/ pendulum-test.h5 --split test",
    .options = rows,
    .settings_size = sizeof(settings),
    .defaults = defaults,
    .run = run,
};
