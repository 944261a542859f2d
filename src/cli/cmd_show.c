// SPDX-License-Identifier: MIT
// plumb show: draws one trajectory as frames and a phase portrait, or one tuple of clips.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct show_command {
    const char *out, *split;
    int64_t item;
    plumb_item_figure_options opt;
    bool json;
} show_command;

// clang-format off
#define AT(member) .offset = offsetof(show_command, member)
static const cli_option command_options[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_STRING, AT(out), .value = "F.png|F.svg",
     .help = "the image to write"},
    {.name = "item", .letter = 'i', .kind = OPTION_INT64, AT(item), .value = "I",
     .help = "which trajectory of the file"},
    {.name = "frames", FROM(item_figure_options, opt, "frames")},
    {.name = "steps", FROM(item_figure_options, opt, "steps"), .value = "T"},
    {.name = "split", .kind = OPTION_STRING, AT(split), .value = "train|test",
     .help = "which part of a published folder"},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    ((show_command *)given)->opt = plumb_item_figure_defaults();
}

// Context of cli_print().
typedef struct drawn_item {
    const show_command *cmd;
    plumb_image_size size;
} drawn_item;

// The text output: the size of the image in pixels.
static void print_size(const void *context)
{
    const drawn_item *drawn = context;
    printf("%s: %lld x %lld\n", drawn->cmd->out, (long long)drawn->size.width,
           (long long)drawn->size.height);
}

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const drawn_item *drawn = context;
    plumb_record_set_string(record, "file", drawn->cmd->out);
    plumb_record_set_int(record, "width", drawn->size.width);
    plumb_record_set_int(record, "height", drawn->size.height);
    plumb_record_set_int(record, "item", drawn->cmd->item);
    plumb_record_set_string(record, "version", plumb_version());
}

static int run(void *given, int files, char **file)
{
    const show_command *cmd = given;
    const cli_command *c = &cmd_show;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; see plumb show --help", files);
    if (!cmd->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb show --help");
    // The figure shows what the item has: frames, a phase space, or four clips.
    plumb_dataset *data = NULL;
    drawn_item drawn = {.cmd = cmd};
    plumb_status st = plumb_dataset_open(&data, file[0], cmd->split);
    if (!st) st = plumb_item_figure_save(&drawn.size, cmd->out, data, cmd->item, &cmd->opt);
    const int code =
        st ? cli_last_error(c) : cli_print(c, cmd->json, fill_record, print_size, &drawn);
    plumb_dataset_close(data);
    return code;
}

const cli_command cmd_show = {
    .name = "show",
    .summary = "draw a trajectory as frames and phase portrait, or a tuple of clips",
    .usage = "FILE --out F.png|F.svg [options]",
    .text =
        "Draws frames of one trajectory of a data file and below them its path through phase "
        "space: the canonical coordinates if the file has them, else the state. A tuple of four "
        "clips becomes four rows of frames, with a red line where an impossible clip changes from "
        "one possible clip to the other. FILE is x.h5, x.npz, x.tfrecord or a published folder.",
    .example = "plumb show pendulum.h5 --item 3 --out pendulum.png",
    .options = command_options,
    .options_size = sizeof(show_command),
    .defaults = defaults,
    .run = run,
};
