// SPDX-License-Identifier: MIT
// plumb export: writes the weights of a run as a PyTorch state dict.
#include <stdio.h>
#include <string.h>

#include "cli/common/command.h"

typedef struct export_command {
    const char *out;
    cli_format format;
} export_command;

// clang-format off
#define AT(member) .offset = offsetof(export_command, member)
static const cli_option command_options[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_STRING, AT(out), .value = "F",
     .help = "a .safetensors, .npz or .h5 file [weights of the run: RUN.safetensors]"},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

// Context of cli_print().
typedef struct export_output {
    const char *run, *file;
} export_output;

static void fill_record(plumb_record *record, const void *context)
{
    const export_output *output = context;
    plumb_record_set_string(record, "run", output->run);
    plumb_record_set_string(record, "file", output->file);
    plumb_record_set_string(record, "version", plumb_version());
}

static void print_text(const void *context)
{
    const export_output *output = context;
    printf("%s: the weights of %s\n", output->file, output->run);
}

static int run(void *given, int files, char **file)
{
    const export_command *cmd = given;
    char name[4200];
    if (files != 1)
        return cli_error(&cmd_export, EXIT_USAGE, "needs one RUN; see plumb export --help");
    char path[SHARE_PATH_SIZE];
    // A name that is not a path may be a model of the zoo.
    if (!zoo_find(path, &cmd_export, file[0])) return EXIT_FAILED;
    // RUN/ is RUN. The file of an installed model is not written beside it.
    size_t length = strlen(file[0]);
    while (length > 1 && file[0][length - 1] == '/') length--;
    snprintf(name, sizeof name, "%.*s.safetensors", (int)length, file[0]);
    const char *last = zoo_has(path) && strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    const export_output output = {file[0], cmd->out ? cmd->out : last};
    cli_show_log(&cmd_export);
    if (plumb_weights_export(output.file, path)) return cli_last_error(&cmd_export);
    return cli_print(&cmd_export, cmd->format, fill_record, print_text, &output);
}

const cli_command cmd_export = {
    .name = "export",
    .summary = "write the weights of a run for PyTorch",
    .usage = "RUN [--out F]",
    .text = "RUN is a run directory, or the name of a trained model that is installed with plumb. "
            "The names and layouts are those of a PyTorch state dict: for predrnn of its published "
            "code, for the other models of the same layers in torch.nn. In PyTorch: "
            "model.load_state_dict(safetensors.torch.load_file(F)).",
    .example = "plumb export predrnn-rooms --out predrnn.safetensors",
    .options = command_options,
    .options_size = sizeof(export_command),
    .run = run,
};
