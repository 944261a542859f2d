// SPDX-License-Identifier: MIT
// plumb report: one HTML page about models that were measured, or one figure of it.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/command.h"

typedef struct report_command {
    const char *out, *figure;
    plumb_report_options opt;
    bool json, list;
} report_command;

// clang-format off
#define AT(member) .offset = offsetof(report_command, member)
static const cli_option rows[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_STRING, AT(out), .value = "F.html|F.svg|F.png",
     .help = "the page or the figure to write"},
    {.name = "figure", .kind = OPTION_STRING, AT(figure), .value = "NAME",
     .complete = CLI_COMPLETE_FIGURES, .help = "only this figure, as .svg or .png"},
    {.name = "figures", .kind = OPTION_BOOL, AT(list), .help = "list the figures, and write nothing"},
    {.name = "films", FROM(report_options, opt, "videos"), .value = "N"},
    {.name = "steps", FROM(report_options, opt, "steps"), .value = "T"},
    {.name = "name", FROM(report_options, opt, "name"), .value = "NAME"},
    {.name = "threads", FROM(report_options, opt, "threads")},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    ((report_command *)given)->opt = plumb_report_defaults();
}

static int print_known(void)
{
    const char *name, *title;
    for (int64_t i = 0; (name = plumb_figure_name(i, &title)); i++)
        printf("%-12s %s\n", name, title);
    return EXIT_DONE;
}

static const char *cell(char *text, size_t size, const plumb_rank_correlation *f)
{
    if (!f->n) snprintf(text, size, "-");
    else if (isfinite(f->rho_ci.low))
        snprintf(text, size, "%+.2f [%.2f, %.2f] of %lld", f->rho, f->rho_ci.low, f->rho_ci.high,
                 (long long)f->n);
    else snprintf(text, size, "%+.2f of %lld", f->rho, (long long)f->n);
    return text;
}

static void print_correlations(const plumb_report *report)
{
    plumb_report_correlation c;
    char all[64], best[64];
    for (int64_t i = 0; plumb_report_correlation_at(&c, report, i); i++) {
        if (!i)
            printf("\nrank correlation with VPT, 95 %% intervals (signs turned where less is "
                   "better)\n  %-14s %-28s %-28s %s\n",
                   "", "all models", "the fifth with most", "paper");
        printf("  %-14s %-28s %-28s %s\n", c.measure, cell(all, sizeof all, &c.all),
               cell(best, sizeof best, &c.best), c.paper ? c.paper : "");
    }
}

static void record_one(plumb_record *record, const char *key, const plumb_rank_correlation *f)
{
    plumb_record_begin_object(record, key);
    plumb_record_set_int(record, "models", f->n);
    plumb_record_set_double(record, "rho", f->n ? f->rho : (double)NAN);
    plumb_record_set_interval(record, "rho_ci", f->rho_ci);
    plumb_record_end(record);
}

static void record_correlations(plumb_record *record, const plumb_report *report)
{
    plumb_report_correlation c;
    for (int64_t i = 0; plumb_report_correlation_at(&c, report, i); i++) {
        if (!i) plumb_record_begin_object(record, "correlation");
        plumb_record_begin_object(record, c.measure);
        record_one(record, "all", &c.all);
        record_one(record, "best", &c.best);
        plumb_record_end(record);
    }
    if (plumb_report_correlation_at(&c, report, 0)) plumb_record_end(record);
}

static int tell(const report_command *cmd, const plumb_report *report)
{
    const int64_t count = cmd->figure ? 1 : plumb_report_figure_count(report);
    if (!cmd->json) {
        if (cmd->figure) printf("%s: %s\n", cmd->out, cmd->figure);
        else printf("%s: %lld figures\n", cmd->out, (long long)count);
        if (!cmd->figure) print_correlations(report);
        return EXIT_DONE;
    }
    const char *names[64];
    int64_t n = 0;
    for (; n < count && n < 64; n++)
        names[n] = cmd->figure ? cmd->figure : plumb_report_figure_name(report, n);
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_report, EXIT_FAILED, "out of memory");
    plumb_record_set_string(record, "file", cmd->out);
    plumb_record_set_strings(record, "figures", names, n);
    if (!cmd->figure) record_correlations(record, report);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_report, record);
    plumb_record_free(record);
    return code;
}

static int run(void *given, int files, char **file)
{
    const report_command *cmd = given;
    const cli_command *c = &cmd_report;
    if (cmd->list) return print_known();
    // The counter-example needs no model.
    const bool alone = cmd->figure && !strcmp(cmd->figure, "example");
    if (!files && !alone)
        return cli_error(
            c, EXIT_USAGE,
            "wants a run, a directory, results.jsonl or arrays; see plumb report --help");
    if (!cmd->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb report --help");
    if (cmd->opt.name && files > 1)
        return cli_error(c, EXIT_USAGE, "--name is for one file, not %d", files);
    plumb_report *report = NULL;
    signals_begin();
    plumb_status st = plumb_report_create(&report);
    for (int i = 0; i < files && !st; i++) st = plumb_report_add_path(report, file[i], &cmd->opt);
    if (!st)
        st = cmd->figure ? plumb_report_save_figure(report, cmd->figure, cmd->out)
                         : plumb_report_save(report, cmd->out);
    const int code = st ? cli_last_error(c) : tell(cmd, report);
    plumb_report_free(report);
    return signals_end(code);
}

const cli_command cmd_report = {
    .name = "report",
    .summary = "one HTML page with verdict, numbers and figures",
    .usage = "RUN/|DIR/|results.jsonl|F.npz ... --out report.html [options]",
    .text =
        "Writes one self-contained page: the verdict in words, the numbers with their intervals, "
        "and all figures that the input allows. A run directory is rolled out for its figures. "
        "Arrays are measured first, by every measure that applies to them. --figure NAME writes "
        "one "
        "figure alone; --figures lists them.",
    .example = "plumb report run/ --out report.html",
    .options = rows,
    .options_size = sizeof(report_command),
    .defaults = defaults,
    .run = run,
};
