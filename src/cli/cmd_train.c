// SPDX-License-Identifier: MIT
// plumb train: trains a model on videos of a world or a file, into a run directory.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>

#include "cli/common/command.h"

typedef struct train_command {
    plumb_training_options train;
    option_list set;
    bool list, plan;
    cli_format format;
} train_command;

// clang-format off
#define AT(member) .offset = offsetof(train_command, member)
static const cli_option command_options[] = {
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
     .help = "print sizes, time and memory of the training, and do not train; --json has each program"},
    {.name = "steps", .group = "run", FROM(training_options, train, "steps"), .value = "N"},
    {.name = "minutes", FROM(training_options, train, "minutes"), .value = "M"},
    {.name = "out", .letter = 'o', FROM(training_options, train, "out"), .value = "RUN"},
    {.name = "resume", FROM(training_options, train, "resume")},
    {.name = "force", .letter = 'f', FROM(training_options, train, "force")},
    {.name = "threads", FROM(training_options, train, "threads")},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

static void defaults(void *given)
{
    train_command *cmd = given;
    cmd->train = plumb_training_defaults();
}

// ---- progress ----

// Called after every step: shows step, loss, speed and time left.
static void show_progress(void *context, const plumb_training_progress *progress)
{
    bool *training = context;
    char left[32], speed[32], details[160];
    // Until now the progress was that of the training videos.
    if (!*training) {
        progress_end();
        progress_begin("train");
        *training = true;
    }
    // Below 10 steps per second two digits are shown.
    snprintf(speed, sizeof speed, progress->steps_per_second < 9.95 ? "%.2g" : "%.0f",
             progress->steps_per_second);
    table_duration(left, sizeof left, progress->seconds_left);
    snprintf(details, sizeof details, "step %lld of %lld, loss %.4g, %s steps/s, %s left",
             (long long)progress->step, (long long)progress->steps, progress->loss, speed, left);
    progress_show((double)progress->step / (double)progress->steps, details);
}

// Trains, with progress on rank 0.
static plumb_status train_model(plumb_training *result, train_command *cmd)
{
    bool training = false;
    // Other ranks train without output.
    if (plumb_distributed_rank()) return plumb_training_run(result, &cmd->train);
    cmd->train.progress = show_progress;
    cmd->train.context = &training;
    cli_show_log(&cmd_train);
    progress_begin("train: loading videos");
    const plumb_status st = plumb_training_run(result, &cmd->train);
    progress_end();
    return st;
}

// ---- output ----

// One setting as an object.
static void record_setting(plumb_record *record, const plumb_model_setting *setting)
{
    plumb_record_begin_object(record, NULL);
    plumb_record_set_string(record, "name", setting->name);
    plumb_record_set_string(record, "takes", setting->accepts);
    plumb_record_set_string(record, "paper", setting->paper);
    plumb_record_set_string(record, "cpu", setting->cpu);
    plumb_record_set_string(record, "tiny", setting->tiny);
    plumb_record_set_string(record, "help", setting->help);
    plumb_record_end(record);
}

// A line with the values of the presets, and below it what the setting does and takes.
static void print_setting(const plumb_model_setting *setting)
{
    enum { HELP_INDENT = 4 };
    printf("%-25s %-17s %-17s %s\n%*s", setting->name, setting->paper, setting->cpu, setting->tiny,
           HELP_INDENT, "");
    char help[1200];
    size_t used = (size_t)snprintf(help, sizeof help / 2, "%s; ", setting->help);
    // Spaces between the words, so that the line can be wrapped.
    for (const char *at = setting->accepts; *at && used < sizeof help - 4; at++)
        used += (size_t)snprintf(help + used, 4, *at == '|' ? " | " : "%c", *at);
    help_wrap(help, HELP_INDENT, HELP_INDENT);
    putchar('\n');
}

// --settings: lists the settings of a model, as text or as one record.
static int list_settings(const train_command *cmd, const char *model)
{
    const cli_command *c = &cmd_train;
    plumb_record *record = cmd->format ? plumb_record_create() : NULL;
    if (cmd->format && !record) return cli_error(c, EXIT_FAILED, "out of memory");
    if (record) plumb_record_set_string(record, "model", model);
    if (record) plumb_record_begin_array(record, "settings");
    plumb_model_setting setting;
    plumb_status st = PLUMB_OK;
    bool exists = true;
    for (int64_t i = 0; !st && exists; i++) {
        st = plumb_model_setting_at(&setting, &exists, model, i);
        if (st || !exists) break;
        // The heading is printed with the first setting, so that an unknown model prints none.
        if (!i && !record) printf("%-25s %-17s %-17s %s\n", "setting", "paper", "cpu", "tiny");
        if (record) record_setting(record, &setting);
        else print_setting(&setting);
    }
    int code = st ? cli_error(c, EXIT_USAGE, "%s", plumb_last_error()) : EXIT_DONE;
    if (record && !st) {
        plumb_record_end(record);
        code = cli_print_as(c, record, cmd->format);
    }
    plumb_record_free(record);
    return code;
}

// The text output: one line.
static void print_training(const void *context)
{
    const plumb_training *training = context;
    printf("%s: %s, %lld steps, loss %.4g, %.3g s%s\n", training->run, training->model,
           (long long)training->steps, training->loss, training->seconds,
           training->finished ? "" : "; the time was up, --resume continues");
}

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const plumb_training *training = context;
    plumb_record_set_string(record, "model", training->model);
    plumb_record_set_int(record, "steps", training->steps);
    plumb_record_set_double(record, "loss", training->loss);
    plumb_record_set_double(record, "seconds", training->seconds);
    plumb_record_set_string(record, "run", training->run);
    plumb_record_set_bool(record, "finished", training->finished);
    plumb_record_set_double(record, "best_validation", training->best_validation);
    if (isfinite(training->best_validation))
        plumb_record_set_int(record, "best_step", training->best_step);
    else plumb_record_set_null(record, "best_step");
    plumb_record_set_double(record, "input_dependence", training->input_dependence);
    if (training->warning[0]) plumb_record_set_string(record, "warning", training->warning);
    else plumb_record_set_null(record, "warning");
    plumb_record_set_string(record, "version", plumb_version());
}

static const char *format_bytes(char text[32], double bytes)
{
    if (bytes < 1e6) snprintf(text, 32, "%.0f KB", bytes / 1e3);
    else if (bytes < 1e9) snprintf(text, 32, "%.0f MB", bytes / 1e6);
    else snprintf(text, 32, "%.1f GB", bytes / 1e9);
    return text;
}

// --plan as a page.
static void print_plan_page(const plumb_training_cost *cost)
{
    char text[32], all[32];
    printf("%s on %s, preset %s\n\n", cost->model,
           cost->data[0] ? cost->data : "any world with frames as mass-spring", cost->preset);
    table_text("parameters", "%lld", (long long)cost->parameters);
    if (cost->videos)
        table_text("videos", "%lld of %lld frames, %lld x %lld x %lld: %s", (long long)cost->videos,
                   (long long)cost->frames, (long long)cost->height, (long long)cost->width,
                   (long long)cost->channels, format_bytes(text, cost->video_bytes));
    table_text("batch", "%lld clips in %lld shards", (long long)cost->batch,
               (long long)cost->replicas);
    if (isfinite(cost->seconds)) {
        table_text("steps", "%lld, of %.3g s of processor time at the longest horizon",
                   (long long)cost->steps, cost->step_core_seconds);
        table_text("time", "at most about %s with %d threads",
                   table_duration(all, sizeof all, cost->seconds), cost->threads);
    } else {
        table_text("steps", "%lld", (long long)cost->steps);
        table_text("time", "unknown");
    }
    table_text("memory", "about %s", format_bytes(text, cost->bytes));
}

// --plan: what a training takes. Memory and arithmetic of each program are in the record.
static int print_plan(const train_command *cmd)
{
    const cli_command *c = &cmd_train;
    plumb_training_cost cost;
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(c, EXIT_FAILED, "out of memory");
    cli_show_log(c);
    const plumb_status st = plumb_training_estimate(&cost, record, &cmd->train);
    int code = st ? cli_status_error(c, st) : EXIT_DONE;
    if (!st && cmd->format) code = cli_print_as(c, record, cmd->format);
    else if (!st) print_plan_page(&cost);
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
    if (cmd->plan && files) return print_plan(cmd);
    // Wrong usage is reported before MPI is started.
    if (!cmd->train.out && cmd->train.resume)
        return cli_error(c, EXIT_USAGE, "--resume needs --out; see plumb train --help");
    if (cmd->train.world && cmd->train.data)
        return cli_error(c, EXIT_USAGE, "--world and --data cannot both be given");
    if (cmd->train.resume && cmd->train.force)
        return cli_error(c, EXIT_USAGE, "--resume and --force cannot both be given");
    // From here on a signal saves a checkpoint and stops.
    signals_begin_resumable();
    if (plumb_distributed_init()) return signals_end(cli_last_error(c));
    plumb_training result;
    const plumb_status st = train_model(&result, cmd);
    // Rank 0 prints for all ranks.
    int code = st == PLUMB_EVALUE ? EXIT_USAGE : st ? EXIT_FAILED : EXIT_DONE;
    if (!plumb_distributed_rank())
        code = st ? cli_error(c, code, "%s", plumb_last_error())
                  : cli_print(c, cmd->format, fill_record, print_training, &result);
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
        "killed at any moment can be resumed with --resume; the result is bit-identical. The "
        "number of threads does not affect the result.",
    .example = "plumb train hgn++ --world mass-spring",
    .complete = CLI_COMPLETE_MODELS,
    .options = command_options,
    .options_size = sizeof(train_command),
    .defaults = defaults,
    .run = run,
};
