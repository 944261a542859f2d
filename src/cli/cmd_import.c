// SPDX-License-Identifier: MIT
// plumb import: makes a run of the weights of another program.
#include <stdio.h>
#include <string.h>

#include "cli/common/command.h"

typedef struct import_command {
    plumb_training_options opt;
    option_list set;
    cli_format format;
} import_command;

// clang-format off
#define AT(member) .offset = offsetof(import_command, member)
static const cli_option command_options[] = {
    {.name = "out", .letter = 'o', FROM(training_options, opt, "out"), .value = "RUN",
     .help = "the run directory"},
    {.name = "world", FROM(training_options, opt, "world"), .value = "W",
     .help = "the world the model was trained on, or one like it [rooms/freeform for predrnn]",
     .complete = CLI_COMPLETE_WORLDS},
    {.name = "data", FROM(training_options, opt, "data"), .value = "F",
     .help = "a file of videos of the same shape instead of a world"},
    {.name = "preset", FROM(training_options, opt, "preset"), .value = "P",
     .help = "settings that the file does not say are those of this preset [paper]",
     .complete = CLI_COMPLETE_PRESETS},
    {.name = "set", .letter = 's', .is_list = true, .kind = OPTION_POINTER, AT(set),
     .value = "NAME=VALUE", .help = "change a setting; can be repeated"},
    {.name = "force", .letter = 'f', FROM(training_options, opt, "force")},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

static void defaults(void *given)
{
    ((import_command *)given)->opt = plumb_training_defaults();
}

// Context of cli_print().
typedef struct import_output {
    const char *file, *run, *model;
} import_output;

static void fill_record(plumb_record *record, const void *context)
{
    const import_output *output = context;
    plumb_record_set_string(record, "file", output->file);
    plumb_record_set_string(record, "model", output->model);
    plumb_record_set_string(record, "run", output->run);
    plumb_record_set_string(record, "version", plumb_version());
}

static void print_text(const void *context)
{
    const import_output *output = context;
    printf("%s: a run of %s from %s\n", output->run, output->model, output->file);
}

static int run(void *given, int files, char **file)
{
    import_command *cmd = given;
    if (files != 2)
        return cli_error(&cmd_import, EXIT_USAGE, "needs MODEL and F; see plumb import --help");
    cmd->opt.model = file[0];
    cmd->opt.set = cmd->set.item;
    cmd->opt.set_count = cmd->set.count;
    if (!cmd->opt.out)
        return cli_error(&cmd_import, EXIT_USAGE, "needs --out RUN; see plumb import --help");
    if (!cmd->opt.world && !cmd->opt.data && !strcmp(file[0], "predrnn"))
        cmd->opt.world = "rooms/freeform";
    cli_show_log(&cmd_import);
    if (plumb_weights_import(file[1], &cmd->opt)) return cli_last_error(&cmd_import);
    const import_output output = {file[1], cmd->opt.out, file[0]};
    return cli_print(&cmd_import, cmd->format, fill_record, print_text, &output);
}

const cli_command cmd_import = {
    .name = "import",
    .summary = "make a run of the weights of another program",
    .usage = "MODEL F --out RUN [options]",
    .text = "F is a .safetensors or .pth file with a PyTorch state dict, also inside a checkpoint: "
            "for predrnn that of its published code, whose sizes follow from the file; for the "
            "other models the names of plumb in the layouts of torch.nn, as plumb export writes "
            "them. The run can be evaluated, rolled out and reported. It has no checkpoint, so it "
            "cannot be resumed.",
    .example = "plumb import predrnn model.ckpt.pth --out run",
    .options = command_options,
    .options_size = sizeof(import_command),
    .defaults = defaults,
    .run = run,
};
