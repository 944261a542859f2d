// SPDX-License-Identifier: MIT
// plumb train: a model learns from film, into a run directory.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/command.h"

typedef struct settings {
    plumb_training_options train;
    option_list set;
    bool list, plan, json;
} settings;

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "world", .kind = OPTION_TEXT, AT(train.world), .value = "W",
     .help = "the world it watches; plumb worlds lists them"},
    {.name = "data", .kind = OPTION_TEXT, AT(train.data), .value = "F",
     .help = "or a file of plumb simulate"},
    {.name = "out", .letter = 'o', .kind = OPTION_TEXT, AT(train.out), .value = "RUN",
     .help = "the run directory"},
    {.name = "preset", .kind = OPTION_TEXT, AT(train.preset), .value = "P",
     .help = "paper (published sizes), cpu (minutes on two cores) or tiny (for tests) [cpu]"},
    {.name = "set", .letter = 's', .kind = OPTION_LIST, AT(set), .value = "NAME=VALUE",
     .help = "a setting; may be given often. --settings lists them"},
    {.name = "steps", .kind = OPTION_INTEGER, AT(train.steps), .value = "N",
     .help = "updates of the parameters; -1: as the preset has it"},
    {.name = "minutes", .kind = OPTION_REAL, AT(train.minutes), .value = "M",
     .help = "save and end after so long; 0: no limit"},
    {.name = "resume", .kind = OPTION_FLAG, AT(train.resume),
     .help = "go on with the run, to the same bits as if it had never stopped"},
    {.name = "force", .letter = 'f', .kind = OPTION_FLAG, AT(train.force),
     .help = "overwrite a run that is there"},
    {.name = "threads", .kind = OPTION_INT, AT(train.threads),
     .help = "0: all cores; changes no result"},
    {.name = "settings", .kind = OPTION_FLAG, AT(list),
     .help = "list the model's settings with their presets, and train nothing"},
    {.name = "plan", .kind = OPTION_FLAG, AT(plan),
     .help = "tell what a step takes in memory and arithmetic, and train nothing"},
    {.name = "json", .kind = OPTION_FLAG, AT(json), .help = "one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    settings *s = given;
    s->train = plumb_training_defaults();
}

// ---- progress ----

static struct {
    bool terminal, shown;
    double said;
    int64_t said_step;
} bar_state;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *duration(char *text, size_t size, double seconds)
{
    if (seconds < 120.0) snprintf(text, size, "%.0f s", seconds);
    else if (seconds < 7200.0) snprintf(text, size, "%.0f min", seconds / 60.0);
    else snprintf(text, size, "%.1f h", seconds / 3600.0);
    return text;
}

// A bar on a terminal; in a batch log a line every 30 s or 5 %, but none in the first second.
static void progress(void *context, const plumb_training_progress *p)
{
    (void)context;
    const double t = now();
    char left[32], pace[32];
    if (p->seconds < 1.0) return;
    snprintf(pace, sizeof pace, p->pace < 9.95 ? "%.2g" : "%.0f", p->pace);
    duration(left, sizeof left, p->left);
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

static plumb_status train(plumb_training *result, settings *s)
{
    const bool speaks = !plumb_distributed_rank();
    bar_state.terminal = isatty(STDERR_FILENO);
    s->train.progress = speaks ? progress : NULL;
    if (speaks) progress_begin("train: making the film");
    const plumb_status st = plumb_training_run(result, &s->train);
    if (speaks) progress_end();
    if (bar_state.shown) fprintf(stderr, "\r\033[K");
    return st;
}

// ---- answers ----

static int list_settings(const settings *s, const char *model)
{
    const cli_command *c = &cmd_train;
    plumb_record *record = s->json ? plumb_record_create() : NULL;
    if (s->json && !record) return cli_error(c, EXIT_FAILED, "no memory");
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
            if (!i) printf("%-16s %-12s %-12s %-12s\n", "setting", "paper", "cpu", "tiny");
            printf("%-16s %-12s %-12s %-12s %s; %s\n", row.name, row.paper, row.cpu, row.tiny,
                   row.help, row.takes);
            continue;
        }
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "name", row.name);
        plumb_record_set_string(record, "takes", row.takes);
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

static int report(const settings *s, const plumb_training *r)
{
    if (!s->json) {
        printf("%s: %s, %lld steps, loss %.4g, %.3g s%s\n", s->train.out, r->model,
               (long long)r->steps, r->loss, r->seconds,
               r->finished ? "" : "; the time was up, --resume goes on");
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_train, EXIT_FAILED, "no memory");
    plumb_record_set_string(record, "model", r->model);
    plumb_record_set_int(record, "steps", r->steps);
    plumb_record_set_double(record, "loss", r->loss);
    plumb_record_set_double(record, "seconds", r->seconds);
    plumb_record_set_string(record, "run", s->train.out);
    plumb_record_set_bool(record, "finished", r->finished);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_train, record);
    plumb_record_free(record);
    return code;
}

// The plan is for machines and for the curious: JSON in both cases.
static int tell_plan(const settings *s)
{
    const cli_command *c = &cmd_train;
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(c, EXIT_FAILED, "no memory");
    const plumb_status st = plumb_training_plan(record, &s->train);
    const int code = st == PLUMB_EVALUE ? cli_error(c, EXIT_USAGE, "%s", plumb_last_error())
                     : st               ? cli_last_error(c)
                                        : cli_print_record(c, record);
    plumb_record_free(record);
    return code;
}

static int run(void *given, int files, char **file)
{
    settings *s = given;
    const cli_command *c = &cmd_train;
    if (files > 1 || (files < 1 && !s->train.resume))
        return cli_error(c, EXIT_USAGE, "takes one model, not %d; see plumb train --help", files);
    s->train.model = files ? file[0] : NULL;
    if (s->list && files) return list_settings(s, file[0]);
    s->train.set = s->set.item;
    s->train.set_count = s->set.count;
    if (s->plan && files) return tell_plan(s);
    if (!s->train.out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb train --help");
    if (s->train.world && s->train.data)
        return cli_error(c, EXIT_USAGE, "--world and --data cannot both be given");
    if (s->train.resume && s->train.force)
        return cli_error(c, EXIT_USAGE, "--resume and --force cannot both be given");
    signals_begin_resumable();
    if (plumb_distributed_init()) return signals_end(cli_last_error(c));
    plumb_training result;
    const plumb_status st = train(&result, s);
    // Rank 0 speaks for all.
    int code = st == PLUMB_EVALUE ? EXIT_USAGE : st ? EXIT_FAILED : EXIT_DONE;
    if (!plumb_distributed_rank())
        code = st ? cli_error(c, code, "%s", plumb_last_error()) : report(s, &result);
    plumb_distributed_finalize(false);
    return signals_end(code);
}

const cli_command cmd_train = {
    .name = "train",
    .summary = "a model learns from a world or a file, into a run directory",
    .usage = "MODEL --world W | --data F --out RUN [options]",
    .text =
        "Trains a model from pixels and keeps everything in a directory: config.json (all "
        "settings),\n"
        "weights.safetensors, optimizer.safetensors (the checkpoint), log.jsonl, results.json and\n"
        "events for TensorBoard. Ctrl-C and SIGTERM save and leave; a run that was stopped or "
        "killed\n"
        "at any moment goes on with --resume, to the same bits. The number of threads changes "
        "none.",
    .example = "plumb train hgn++ --world mass-spring --preset cpu --out run",
    .options = rows,
    .settings_size = sizeof(settings),
    .defaults = defaults,
    .run = run,
};
