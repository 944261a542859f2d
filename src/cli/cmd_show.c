// SPDX-License-Identifier: MIT
// plumb show: one trajectory as a film strip and a phase portrait.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct settings {
    const char *out, *split;
    int64_t item;
    plumb_item_figure_options opt;
    bool json;
} settings;

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_TEXT, AT(out), .value = "film.png|film.svg",
     .help = "the picture to write"},
    {.name = "item", .letter = 'i', .kind = OPTION_INTEGER, AT(item), .value = "I",
     .help = "which trajectory of the file"},
    {.name = "frames", .kind = OPTION_INTEGER, AT(opt.frames),
     .help = "frames on the strip, evenly from the first to the last; 0: 10, of a tuple all"},
    {.name = "steps", .kind = OPTION_INTEGER, AT(opt.steps), .value = "T",
     .help = "only the first T frames; 0 all"},
    {.name = "split", .kind = OPTION_TEXT, AT(split), .value = "train|test",
     .help = "which part of a published folder"},
    {.name = "json", .kind = OPTION_FLAG, AT(json), .help = "one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    ((settings *)given)->opt = plumb_item_figure_defaults();
}

static int report(const settings *s, const plumb_image_size *film)
{
    if (!s->json) {
        printf("%s: %lld x %lld\n", s->out, (long long)film->width, (long long)film->height);
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_show, EXIT_FAILED, "no memory");
    plumb_record_set_string(record, "file", s->out);
    plumb_record_set_int(record, "width", film->width);
    plumb_record_set_int(record, "height", film->height);
    plumb_record_set_int(record, "item", s->item);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_show, record);
    plumb_record_free(record);
    return code;
}

static int run(void *given, int files, char **file)
{
    const settings *s = given;
    const cli_command *c = &cmd_show;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; see plumb show --help", files);
    if (!s->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb show --help");
    plumb_dataset *data = NULL;
    plumb_image_size film;
    plumb_status st = plumb_dataset_open(&data, file[0], s->split);
    if (!st) st = plumb_item_figure_save(&film, s->out, data, s->item, &s->opt);
    const int code = st ? cli_last_error(c) : report(s, &film);
    plumb_dataset_close(data);
    return code;
}

const cli_command cmd_show = {
    .name = "show",
    .summary = "one trajectory as a film strip and a phase portrait, a tuple as four strips",
    .usage = "FILE --out film.png|film.svg [options]",
    .text =
        "Draws frames of one trajectory of a data file, the right way up, and below them its\n"
        "path through phase space: the canonical coordinates if the file has them, else the\n"
        "state. A tuple of four clips becomes four strips, with a red line where an impossible\n"
        "clip leaves one possible clip for the other. FILE is x.h5, x.npz, x.tfrecord or a\n"
        "published folder.",
    .example = "plumb show pendulum.h5 --item 3 --out film.png",
    .options = rows,
    .settings_size = sizeof(settings),
    .defaults = defaults,
    .run = run,
};
