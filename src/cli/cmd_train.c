// SPDX-License-Identifier: MIT
// plumb train: a model learns from film, into a run directory.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/command.h"

typedef struct train_command {
    plumb_training_options train;
    option_list set;
    bool list, plan, json;
} train_command;

// clang-format off
#define AT(member) .offset = offsetof(train_command, member)
static const cli_option rows[] = {
    {.name = "world", .group = "training data", FROM(training_options, train, "world"),
     .value = "W", .complete = CLI_COMPLETE_WORLDS},
    {.name = "data", FROM(training_options, train, "data"), .value = "F"},
    {.name = "preset", .group = "model", FROM(training_options, train, "preset"), .value = "P",
     .complete = CLI_COMPLETE_PRESETS},
    {.name = "set", .letter = 's', .is_list = true, .kind = OPTION_POINTER, AT(set),
     .value = "NAME=VALUE", .help = "change a setting; can be repeated. --settings lists them"},
    {.name = "settings", .kind = OPTION_BOOL, AT(list),
     .help = "list the settings of the model with their presets, and do not train"},
    {.name = "plan", .kind = OPTION_BOOL, AT(plan),
     .help = "print the memory and arithmetic of a step, and do not train"},
    {.name = "steps", .group = "run", FROM(training_options, train, "steps"), .value = "N"},
    {.name = "minutes", FROM(training_options, train, "minutes"), .value = "M"},
    {.name = "out", .letter = 'o', FROM(training_options, train, "out"), .value = "RUN"},
    {.name = "resume", FROM(training_options, train, "resume")},
    {.name = "force", .letter = 'f', FROM(training_options, train, "force")},
    {.name = "threads", FROM(training_options, train, "threads")},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    train_command *cmd = given;
    cmd->train = plumb_training_defaults();
}

// ---- progress ----

static struct {
    bool terminal, shown;
    double said;
    int64_t said_step;
} bar_state;

// A bar on a terminal; in a batch log a line every 30 s or 5 %, but none in the first second.
static void progress(void *context, const plumb_training_progress *p)
{
    (void)context;
    const double t = progress_clock();
    char left[32], pace[32];
    if (p->seconds < 1.0) return;
    snprintf(pace, sizeof pace, p->steps_per_second < 9.95 ? "%.2g" : "%.0f", p->steps_per_second);
    table_duration(left, sizeof left, p->seconds_left);
    if (bar_state.terminal) {
        if (t - bar_state.said < 0.1) return;
        char gauge[21];
        const int full = (int)(20.0 * (double)p->step / (double)p->steps);
        for (int i = 0; i < 20; i++) gauge[i] = i < full ? '#' : '.';
        gauge[20] = 0;
        fprintf(stderr, "\rtrain [%s] step %lld of %lld, loss %.4g, %s steps/s, %s left \033[K",
                gauge, (long long)p->step, (long long)p->steps, p->loss, pace, left);
        bar_state.shown = true;
    } else {
        const bool far = (double)(p->step - bar_state.said_step) >= 0.05 * (double)p->steps;
        if (t - bar_state.said < (far ? 1.0 : 30.0)) return;
        fprintf(stderr, "train: step %lld of %lld, loss %.4g, %s steps/s, %s left\n",
                (long long)p->step, (long long)p->steps, p->loss, pace, left);
    }
    bar_state.said = t;
    bar_state.said_step = p->step;
}

static plumb_status train(plumb_training *result, train_command *cmd)
{
    const bool speaks = !plumb_distributed_rank();
    bar_state.terminal = isatty(STDERR_FILENO);
    cmd->train.progress = speaks ? progress : NULL;
    if (speaks) cli_show_log(&cmd_train);
    if (speaks) progress_begin("train: making the film");
    const plumb_status st = plumb_training_run(result, &cmd->train);
    if (speaks) progress_end();
    if (bar_state.shown) fprintf(stderr, "\r\033[K");
    return st;
}

// ---- answers ----

static int list_settings(const train_command *cmd, const char *model)
{
    const cli_command *c = &cmd_train;
    plumb_record *record = cmd->json ? plumb_record_create() : NULL;
    if (cmd->json && !record) return cli_error(c, EXIT_FAILED, "out of memory");
    if (record) plumb_record_set_string(record, "model", model);
    if (record) plumb_record_begin_array(record, "settings");
    plumb_model_setting row;
    bool there = true;
    for (int64_t i = 0; there; i++) {
        if (plumb_model_setting_at(&row, &there, model, i)) {
            plumb_record_free(record);
            return cli_error(c, EXIT_USAGE, "%s", plumb_last_error());
        }
        if (!there) break;
        if (!record) {
            if (!i) printf("%-23s %-12s %-12s %-12s\n", "setting", "paper", "cpu", "tiny");
            printf("%-23s %-12s %-12s %-12s %s; %s\n", row.name, row.paper, row.cpu, row.tiny,
                   row.help, row.accepts);
            continue;
        }
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "name", row.name);
        plumb_record_set_string(record, "takes", row.accepts);
        plumb_record_set_string(record, "paper", row.paper);
        plumb_record_set_string(record, "cpu", row.cpu);
        plumb_record_set_string(record, "tiny", row.tiny);
        plumb_record_set_string(record, "help", row.help);
        plumb_record_end(record);
    }
    int code = EXIT_DONE;
    if (record) {
        plumb_record_end(record);
        code = cli_print_record(c, record);
    }
    plumb_record_free(record);
    return code;
}

static int report(const train_command *cmd, const plumb_training *r)
{
    if (!cmd->json) {
        printf("%s: %s, %lld steps, loss %.4g, %.3g s%s\n", r->run, r->model, (long long)r->steps,
               r->loss, r->seconds, r->finished ? "" : "; the time was up, --resume goes on");
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_train, EXIT_FAILED, "out of memory");
    plumb_record_set_string(record, "model", r->model);
    plumb_record_set_int(record, "steps", r->steps);
    plumb_record_set_double(record, "loss", r->loss);
    plumb_record_set_double(record, "seconds", r->seconds);
    plumb_record_set_string(record, "run", r->run);
    plumb_record_set_bool(record, "finished", r->finished);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_train, record);
    plumb_record_free(record);
    return code;
}

// The plan is for machines and for the curious: JSON in both cases.
static int tell_plan(const train_command *cmd)
{
    const cli_command *c = &cmd_train;
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(c, EXIT_FAILED, "out of memory");
    const plumb_status st = plumb_training_plan(record, &cmd->train);
    const int code = st == PLUMB_EVALUE ? cli_error(c, EXIT_USAGE, "%s", plumb_last_error())
                     : st               ? cli_last_error(c)
                                        : cli_print_record(c, record);
    plumb_record_free(record);
    return code;
}

static int run(void *given, int files, char **file)
{
    train_command *cmd = given;
    const cli_command *c = &cmd_train;
    if (files > 1 || (files < 1 && !cmd->train.resume))
        return cli_error(c, EXIT_USAGE, "takes one model, not %d; see plumb train --help", files);
    cmd->train.model = files ? file[0] : NULL;
    if (cmd->list && files) return list_settings(cmd, file[0]);
    cmd->train.set = cmd->set.item;
    cmd->train.set_count = cmd->set.count;
    if (cmd->plan && files) return tell_plan(cmd);
    if (!cmd->train.out && cmd->train.resume)
        return cli_error(c, EXIT_USAGE, "--resume needs --out; see plumb train --help");
    if (cmd->train.world && cmd->train.data)
        return cli_error(c, EXIT_USAGE, "--world and --data cannot both be given");
    if (cmd->train.resume && cmd->train.force)
        return cli_error(c, EXIT_USAGE, "--resume and --force cannot both be given");
    signals_begin_resumable();
    if (plumb_distributed_init()) return signals_end(cli_last_error(c));
    plumb_training result;
    const plumb_status st = train(&result, cmd);
    // Rank 0 speaks for all.
    int code = st == PLUMB_EVALUE ? EXIT_USAGE : st ? EXIT_FAILED : EXIT_DONE;
    if (!plumb_distributed_rank())
        code = st ? cli_error(c, code, "%s", plumb_last_error()) : report(cmd, &result);
    plumb_distributed_finalize(false);
    return signals_end(code);
}

const cli_command cmd_train = {
    .name = "train",
    .summary = "train a model on a world or a file",
    .usage = "MODEL --world W | --data F [--out RUN] [options]",
    .text =
        "Trains a model from frames and writes a run directory: config.json (all settings), "
        "weights.safetensors, optimizer.safetensors (the checkpoint), log.jsonl, results.json and "
        "events for TensorBoard. Ctrl-C and SIGTERM save and stop. A run that was stopped or "
        "killed "
        "at any moment resumes with --resume and ends bit-identical. The number of threads does "
        "not "
        "affect the result.",
    .example = "plumb train hgn++ --world mass-spring",
    .complete = CLI_COMPLETE_MODELS,
    .options = rows,
    .options_size = sizeof(train_command),
    .defaults = defaults,
    .run = run,
};
