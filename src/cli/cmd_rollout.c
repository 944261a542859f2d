// SPDX-License-Identifier: MIT
// plumb rollout: what a trained run makes of films, as arrays.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct settings {
    plumb_rollout_options opt;
    const char *out;
    bool json;
} settings;

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_TEXT, AT(out), .value = "F",
     .help = "the file, .npz or .h5"},
    {.name = "count", .letter = 'n', .kind = OPTION_INTEGER, AT(opt.count), .value = "N", .help = "films"},
    {.name = "steps", .kind = OPTION_INTEGER, AT(opt.steps), .value = "T", .help = "frames of each"},
    {.name = "backward", .kind = OPTION_FLAG, AT(opt.backward),
     .help = "it watches the last frames and tells the past"},
    {.name = "first", .kind = OPTION_INTEGER, AT(opt.first), .value = "I",
     .help = "number of the first film among those that training never sees"},
    {.name = "world", .kind = OPTION_TEXT, AT(opt.world), .value = "W",
     .help = "another world than the run's own"},
    {.name = "data", .kind = OPTION_TEXT, AT(opt.data), .value = "F",
     .help = "or a file of plumb simulate"},
    {.name = "threads", .kind = OPTION_INT, AT(opt.threads), .help = "0: all cores; changes no result"},
    {.name = "json", .kind = OPTION_FLAG, AT(json), .help = "one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    settings *s = given;
    s->opt = plumb_rollout_defaults();
}

static int run(void *given, int files, char **file)
{
    settings *s = given;
    const cli_command *c = &cmd_rollout;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one run directory, not %d; see plumb rollout --help",
                         files);
    if (!s->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb rollout --help");
    signals_begin();
    progress_begin("rollout: making films");
    const plumb_status st = plumb_rollout_save(s->out, file[0], &s->opt);
    progress_end();
    if (st == PLUMB_EVALUE) return signals_end(cli_error(c, EXIT_USAGE, "%s", plumb_last_error()));
    if (st) return signals_end(cli_last_error(c));
    if (!s->json) {
        printf("%s: %lld films of %lld frames\n", s->out, (long long)s->opt.count,
               (long long)s->opt.steps);
        return signals_end(EXIT_DONE);
    }
    plumb_record *record = plumb_record_create();
    if (!record) return signals_end(cli_error(c, EXIT_FAILED, "no memory"));
    plumb_record_set_string(record, "run", file[0]);
    plumb_record_set_string(record, "file", s->out);
    plumb_record_set_int(record, "count", s->opt.count);
    plumb_record_set_int(record, "steps", s->opt.steps);
    plumb_record_set_bool(record, "backward", s->opt.backward);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(c, record);
    plumb_record_free(record);
    return signals_end(code);
}

const cli_command cmd_rollout = {
    .name = "rollout",
    .summary = "what a trained run makes of films: latents, predictions and the truth",
    .usage = "RUN --out F.npz [options]",
    .text =
        "Writes latent (films, frames, q then p), truth, variance, frames and prediction, which\n"
        "plumb measure and plumb forecast read. The run watches the beginning of each film and\n"
        "tells all of it, or what it can: models that cannot run backward leave out the frames\n"
        "before the first they know of. Of a Lagrangian model latent is (q, v), and momenta is\n"
        "there too.",
    .example = "plumb rollout run --out latents.npz --steps 120",
    .options = rows,
    .settings_size = sizeof(settings),
    .defaults = defaults,
    .run = run,
};
