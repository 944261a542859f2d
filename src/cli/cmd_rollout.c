// SPDX-License-Identifier: MIT
// plumb rollout: what a trained run makes of films, as arrays.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct rollout_command {
    plumb_rollout_options opt;
    const char *out;
    bool json;
} rollout_command;

// clang-format off
#define AT(member) .offset = offsetof(rollout_command, member)
static const cli_option rows[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_STRING, AT(out), .value = "F",
     .help = "the file to write: F.npz or F.h5"},
    {.name = "count", .letter = 'n', FROM(rollout_options, opt, "count"), .value = "N"},
    {.name = "steps", FROM(rollout_options, opt, "steps"), .value = "T"},
    {.name = "backward", FROM(rollout_options, opt, "backward")},
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

static int run(void *given, int files, char **file)
{
    rollout_command *cmd = given;
    const cli_command *c = &cmd_rollout;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one run directory, not %d; see plumb rollout --help",
                         files);
    if (!cmd->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb rollout --help");
    signals_begin();
    cli_show_log(c);
    progress_begin("rollout: making films");
    const plumb_status st = plumb_rollout_save(cmd->out, file[0], &cmd->opt);
    progress_end();
    if (st == PLUMB_EVALUE) return signals_end(cli_error(c, EXIT_USAGE, "%s", plumb_last_error()));
    if (st) return signals_end(cli_last_error(c));
    if (!cmd->json) {
        printf("%s: %lld films of %lld frames\n", cmd->out, (long long)cmd->opt.count,
               (long long)cmd->opt.steps);
        return signals_end(EXIT_DONE);
    }
    plumb_record *record = plumb_record_create();
    if (!record) return signals_end(cli_error(c, EXIT_FAILED, "out of memory"));
    plumb_record_set_string(record, "run", file[0]);
    plumb_record_set_string(record, "file", cmd->out);
    plumb_record_set_int(record, "count", cmd->opt.count);
    plumb_record_set_int(record, "steps", cmd->opt.steps);
    plumb_record_set_bool(record, "backward", cmd->opt.backward);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(c, record);
    plumb_record_free(record);
    return signals_end(code);
}

const cli_command cmd_rollout = {
    .name = "rollout",
    .summary = "latents and predicted frames of a trained run, as arrays",
    .usage = "RUN --out F.npz [options]",
    .text =
        "Writes latent (videos, frames, q then p), truth, variance, frames and prediction, which "
        "plumb measure, plumb forecast and plumb report read. The model takes the first frames of "
        "each video as input and predicts all of them. A model that cannot run backward leaves out "
        "the frames before the first it can predict. The latents of a Lagrangian model are (q, v), "
        "and momenta is written too.",
    .example = "plumb rollout run --out latents.npz --steps 120",
    .options = rows,
    .options_size = sizeof(rollout_command),
    .defaults = defaults,
    .run = run,
};
