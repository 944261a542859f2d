// SPDX-License-Identifier: MIT
// plumb audit: checks that possible and impossible clips of a probe file cannot be told apart
// without physics.
// The idea: an impossible clip is made from parts of two possible ones. So every frame, and every
// pair of consecutive frames, occurs as often in possible clips as in impossible ones.
#include <math.h>
#include <stdio.h>

#include "cli/common/command.h"

typedef struct audit_command {
    const char *split, *require;
    plumb_audit_options opt;
    cli_format format;
} audit_command;

// clang-format off
#define AT(member) .offset = offsetof(audit_command, member)
static const cli_option command_options[] = {
    {.name = "judged", FROM(audit_options, opt, "max_tuples"), .value = "N"},
    {.name = "bootstrap", FROM(audit_options, opt, "resamples"), .value = "N"},
    {.name = "seed", FROM(audit_options, opt, "seed"), .value = "S"},
    {.name = "split", .kind = OPTION_STRING, AT(split), .value = "train|test",
     .help = "which part of a published folder"},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "clean",
     .help = "exit 3 if the splice fails in a tuple, or a classifier finds a leak"},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

static void defaults(void *given)
{
    ((audit_command *)given)->opt = plumb_audit_defaults();
}

// Context of cli_print().
typedef struct audit_output {
    const char *file;
    const plumb_audit *audit;
    const plumb_audit_options *options;
} audit_output;

// How many tuples of one array are valid splices.
static void print_splice(const char *array, const plumb_audit_splice *splice, int64_t tuples)
{
    if (!splice->present) return;
    char first[96] = "";
    if (splice->bad_tuple >= 0)
        snprintf(first, sizeof first, "; the first that does not is tuple %lld at frame %lld",
                 (long long)splice->bad_tuple, (long long)splice->bad_time);
    table_text(array, "%lld of %lld tuples hold frame by frame, %lld pair by pair%s",
               (long long)splice->frames_hold, (long long)tuples, (long long)splice->pairs_hold,
               first);
}

// Two rows: accuracy per frame and per tuple.
static void print_classifier(const char *name, const plumb_audit_classifier *classifier)
{
    table_row(name, classifier->accuracy, classifier->accuracy_ci,
              classifier->leak ? "LEAK" : "chance is 0.5");
    table_row("  by tuple", classifier->tuple_accuracy, classifier->tuple_ci, "");
}

// The text output: first the comparison of bytes, then the classifiers.
static void print_audit(const void *context)
{
    const audit_output *output = context;
    const plumb_audit *audit = output->audit;
    printf("%s: %lld tuples of four clips of %lld frames\n\nbytes\n", output->file,
           (long long)audit->tuples, (long long)audit->steps);
    print_splice("frames", &audit->frames, audit->tuples);
    print_splice("mask", &audit->mask, audit->tuples);
    print_splice("camera_pose", &audit->camera, audit->tuples);
    // The bytes of such a tuple match, but it tests nothing, so the file is not clean.
    if (audit->identical)
        printf("  in %lld tuples the impossible clips are the possible ones\n",
               (long long)audit->identical);
    if (audit->judged) {
        printf("\naccuracy of classifiers on %lld tuples, each held out once\n",
               (long long)audit->judged);
        print_classifier("one frame", &audit->frame);
        print_classifier("two frames", &audit->pair);
    } else {
        puts("\ntoo few tuples for the classifiers");
    }
    putchar('\n');
    table_paragraph(audit->clean
                        ? "clean: fewer than three frames do not show which clips are impossible"
                        : "not clean: possible and impossible clips can be told apart without "
                          "physics, or it could not be shown that they cannot");
}

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const audit_output *output = context;
    plumb_audit_record(record, output->audit, output->options);
}

// Prints the result and checks --require.
static int print_result(const audit_command *cmd, const char *file, const plumb_audit *audit)
{
    const audit_output output = {file, audit, &cmd->opt};
    const int code = cli_print(&cmd_audit, cmd->format, fill_record, print_audit, &output);
    const requirement list[] = {{"clean", audit->clean ? 1.0 : 0.0, 1.0, false}};
    return code == EXIT_DONE ? require_check(&cmd_audit, cmd->require, list, 1) : code;
}

static int run(void *given, int files, char **file)
{
    const audit_command *cmd = given;
    const cli_command *c = &cmd_audit;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; see plumb audit --help", files);
    // A wrong name in --require is reported before the work starts.
    const requirement list[] = {{"clean", 0.0, 1.0, false}};
    const int bad = require_parse(c, cmd->require, list, 1);
    if (bad != EXIT_DONE) return bad;
    plumb_dataset *probes = NULL;
    plumb_audit result;
    signals_begin();
    progress_begin("audit");
    plumb_status st = plumb_dataset_open(&probes, file[0], cmd->split);
    if (!st) st = plumb_audit_measure(&result, probes, &cmd->opt);
    progress_end();
    plumb_dataset_close(probes);
    // `probes` is only a flag here: a message about the contents of an open file lacks its name.
    if (st && probes)
        return signals_end(cli_error(c, EXIT_FAILED, "%s: %s", file[0], plumb_last_error()));
    return signals_end(st ? cli_last_error(c) : print_result(cmd, file[0], &result));
}

const cli_command cmd_audit = {
    .name = "audit",
    .summary = "check that probes cannot be told apart without physics",
    .usage = "FILE [options]",
    .text =
        "Checks tuples of two possible and two impossible clips, frames (tuples, 4, steps, height, "
        "width, channels) in x.npz, x.h5, x.tfrecord or a published folder. It compares bytes: at "
        "every time the possible pair of frames must equal the impossible pair, and so must the "
        "pairs of consecutive frames. Then it trains a classifier on single frames and one on "
        "pairs of frames, on half of the tuples each way: their accuracy must be one half.",
    .example = "plumb audit probes.npz --require clean",
    .options = command_options,
    .options_size = sizeof(audit_command),
    .defaults = defaults,
    .run = run,
};
