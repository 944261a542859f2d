// SPDX-License-Identifier: MIT
// plumb rollout: writes latents and predicted frames of a trained run as arrays.
// The file is the input of plumb measure, plumb forecast and plumb report.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct rollout_command {
    plumb_rollout_options opt;
    const char *out;
    bool no_encoded, json;
} rollout_command;

// clang-format off
#define AT(member) .offset = offsetof(rollout_command, member)
static const cli_option command_options[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_STRING, AT(out), .value = "F",
     .help = "the file to write: F.npz or F.h5"},
    {.name = "count", .letter = 'n', FROM(rollout_options, opt, "count"), .value = "N"},
    {.name = "steps", FROM(rollout_options, opt, "steps"), .value = "T"},
    {.name = "backward", FROM(rollout_options, opt, "backward")},
    {.name = "measured", FROM(rollout_options, opt, "measured")},
    {.name = "traversal-steps", FROM(rollout_options, opt, "traversal_steps"), .value = "T"},
    {.name = "no-encoded", .kind = OPTION_BOOL, AT(no_encoded),
     .help = "leave out the latents inferred from the true frames around each frame, which plumb "
             "dynamics needs"},
    {.name = "first", FROM(rollout_options, opt, "first"), .value = "I"},
    {.name = "world", FROM(rollout_options, opt, "world"), .value = "W",
     .complete = CLI_COMPLETE_WORLDS},
    {.name = "data", FROM(rollout_options, opt, "data"), .value = "F"},
    {.name = "threads", FROM(rollout_options, opt, "threads")},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    rollout_command *cmd = given;
    cmd->opt = plumb_rollout_defaults();
}

// Context of cli_print().
typedef struct rollout_output {
    const rollout_command *cmd;
    const char *run;
    plumb_evaluation_kind kind;
} rollout_output;

// The text output: one line.
static void print_rollout(const void *context)
{
    const rollout_command *cmd = ((const rollout_output *)context)->cmd;
    const rollout_output *output = context;
    if (output->kind == PLUMB_EVALUATION_VIDEO)
        printf("%s: predicted frames and features, %lld of each kind\n", cmd->out,
               (long long)cmd->opt.count);
    else
        printf("%s: %lld videos of %lld frames\n", cmd->out, (long long)cmd->opt.count,
               (long long)cmd->opt.steps);
}

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const rollout_output *output = context;
    plumb_record_set_string(record, "run", output->run);
    plumb_record_set_string(record, "file", output->cmd->out);
    plumb_record_set_int(record, "count", output->cmd->opt.count);
    plumb_record_set_int(record, "steps", output->cmd->opt.steps);
    plumb_record_set_bool(record, "backward", output->cmd->opt.backward);
    plumb_record_set_string(record, "version", plumb_version());
}

static int run(void *given, int files, char **file)
{
    rollout_command *cmd = given;
    const cli_command *c = &cmd_rollout;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one run directory, not %d; see plumb rollout --help",
                         files);
    if (!cmd->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb rollout --help");
    cmd->opt.encoded = !cmd->no_encoded;
    char path[SHARE_PATH_SIZE];
    // A name that is not a path may be a model of the zoo.
    if (!zoo_find(path, c, file[0])) return EXIT_FAILED;
    rollout_output output = {cmd, file[0], PLUMB_EVALUATION_DYNAMICS};
    signals_begin();
    cli_show_log(c);
    progress_begin("rollout: simulating videos");
    plumb_status st = plumb_rollout_save(cmd->out, path, &cmd->opt);
    progress_end();
    if (!st) st = plumb_evaluation_find_kind(&output.kind, path);
    return signals_end(st ? cli_status_error(c, st)
                          : cli_print(c, cmd->json, fill_record, print_rollout, &output));
}

const cli_command cmd_rollout = {
    .name = "rollout",
    .summary = "latents and predicted frames of a trained run, as arrays",
    .usage = "RUN --out F.npz [options]",
    .text =
        "RUN is a run directory of plumb train, or the name of a trained model that is installed "
        "with "
        "plumb, as hgn++-mass-spring. Writes latent (videos, frames, q then p), truth, energy, "
        "variance, frames and prediction, and encoded, the latents inferred from the true frames "
        "around each frame. plumb measure, probe, dynamics, forecast and report read them. The "
        "model takes the first frames of "
        "each video as input and predicts all of them. A model that cannot run backward leaves out "
        "the frames before the first it can predict. The latents of a Lagrangian model are (q, v), "
        "and momenta is written too; of bodies tracks, the places of the objects in pixels, and "
        "latent_names are.\n\n"
        "A video model (PredRNN, PLATO): --count tuples of each probe room, or of --world or "
        "--data. Writes truth and prediction (tuples, 4, frames, height, width, channels), feature "
        "and concept, which plumb surprise reads. With another world, such as rooms/freeform, "
        "frames, prediction and feature of single clips.",
    .example = "plumb rollout hgn++-mass-spring --out latents.npz --steps 120",
    .options = command_options,
    .options_size = sizeof(rollout_command),
    .defaults = defaults,
    .run = run,
};
