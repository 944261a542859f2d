// SPDX-License-Identifier: MIT
// plumb audit: are these probes honest?
#include <math.h>
#include <stdio.h>

#include "cli/common/command.h"

typedef struct audit_command {
    const char *split, *require;
    plumb_audit_options opt;
    bool json;
} audit_command;

// clang-format off
#define AT(member) .offset = offsetof(audit_command, member)
static const cli_option rows[] = {
    {.name = "judged", FROM(audit_options, opt, "max_tuples"), .value = "N"},
    {.name = "bootstrap", FROM(audit_options, opt, "resamples"), .value = "N"},
    {.name = "seed", FROM(audit_options, opt, "seed"), .value = "S"},
    {.name = "split", .kind = OPTION_STRING, AT(split), .value = "train|test",
     .help = "which part of a published folder"},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "clean",
     .help = "exit 3 if the splice fails in a tuple, or a classifier finds a leak"},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    ((audit_command *)given)->opt = plumb_audit_defaults();
}

static void print_bytes(const char *what, const plumb_audit_splice *b, int64_t tuples)
{
    if (!b->present) return;
    printf("  %-12s %lld of %lld tuples hold frame by frame, %lld pair by pair", what,
           (long long)b->frames_hold, (long long)tuples, (long long)b->pairs_hold);
    if (b->bad_tuple >= 0)
        printf("; the first that does not is tuple %lld at frame %lld", (long long)b->bad_tuple,
               (long long)b->bad_time);
    putchar('\n');
}

static void print_eye(const char *what, const plumb_audit_classifier *e)
{
    char text[64];
    printf("  %-12s %6.2f %%  %-18s", what, 100.0 * e->accuracy,
           table_interval(text, sizeof text, e->accuracy_ci));
    printf("  tuples %6.2f %%  %-18s  %s\n", 100.0 * e->tuple_accuracy,
           table_interval(text, sizeof text, e->tuple_ci), e->leak ? "LEAK" : "chance");
}

static void print_table(const char *file, const plumb_audit *a)
{
    printf("%s: %lld tuples of four clips of %lld frames\n\nbytes\n", file, (long long)a->tuples,
           (long long)a->steps);
    print_bytes("frames", &a->frames, a->tuples);
    print_bytes("mask", &a->mask, a->tuples);
    print_bytes("camera_pose", &a->camera, a->tuples);
    if (a->identical)
        printf("  in %lld tuples the impossible clips are the possible ones\n",
               (long long)a->identical);
    if (a->judged) {
        printf("\nclassifiers, on %lld tuples they were not trained on\n", (long long)a->judged);
        print_eye("one frame", &a->frame);
        print_eye("two frames", &a->pair);
    } else {
        puts("\ntoo few tuples for the classifiers");
    }
    puts(a->clean ? "\nclean: who looks at fewer than three frames cannot tell them apart"
                  : "\nnot clean: possible and impossible can be told apart without physics, or "
                    "nothing shows that they cannot");
}

static int report(const audit_command *cmd, const char *file, const plumb_audit *a)
{
    int code = EXIT_DONE;
    if (cmd->json) {
        plumb_record *record = plumb_record_create();
        if (!record) return cli_error(&cmd_audit, EXIT_FAILED, "out of memory");
        plumb_audit_record(record, a, &cmd->opt);
        code = cli_print_record(&cmd_audit, record);
        plumb_record_free(record);
    } else {
        print_table(file, a);
    }
    const requirement bars[] = {{"clean", a->clean ? 1.0 : 0.0, 1.0, false}};
    return code == EXIT_DONE ? require_check(&cmd_audit, cmd->require, bars, 1) : code;
}

static int run(void *given, int files, char **file)
{
    const audit_command *cmd = given;
    const cli_command *c = &cmd_audit;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; see plumb audit --help", files);
    const requirement bars[] = {{"clean", 0.0, 1.0, false}};
    const int bad = require_parse(c, cmd->require, bars, 1);
    if (bad != EXIT_DONE) return bad;
    plumb_dataset *probes = NULL;
    plumb_audit result;
    signals_begin();
    progress_begin("audit");
    plumb_status st = plumb_dataset_open(&probes, file[0], cmd->split);
    if (!st) st = plumb_audit_measure(&result, probes, &cmd->opt);
    progress_end();
    plumb_dataset_close(probes);
    if (st && probes)
        return signals_end(cli_error(c, EXIT_FAILED, "%s: %s", file[0], plumb_last_error()));
    return signals_end(st ? cli_last_error(c) : report(cmd, file[0], &result));
}

const cli_command cmd_audit = {
    .name = "audit",
    .summary = "can probes be told apart without physics?",
    .usage = "FILE [options]",
    .text =
        "Checks tuples of two possible and two impossible clips, frames (tuples, 4, steps, height, "
        "width, channels) in x.npz, x.h5, x.tfrecord or a published folder. It compares bytes: at "
        "every time the possible pair of frames must equal the impossible pair, and so must the "
        "pairs of consecutive frames. Then it trains a classifier on single frames and one on "
        "pairs "
        "of frames, on half of the tuples each way: their accuracy must be one half.",
    .example = "plumb audit probes.npz --require clean",
    .options = rows,
    .options_size = sizeof(audit_command),
    .defaults = defaults,
    .run = run,
};
