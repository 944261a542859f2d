// SPDX-License-Identifier: MIT
// plumb report: writes one HTML page about measured models, or one figure of it.
// Each argument adds models to one report. The library draws the figures that the data allow.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

typedef struct report_command {
    const char *out, *figure;
    plumb_report_options opt;
    bool json, list;
} report_command;

// clang-format off
#define AT(member) .offset = offsetof(report_command, member)
static const cli_option command_options[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_STRING, AT(out), .value = "F.html|F.svg|F.png",
     .help = "the page or the figure to write"},
    {.name = "figure", .kind = OPTION_STRING, AT(figure), .value = "NAME",
     .complete = CLI_COMPLETE_FIGURES, .help = "only this figure, as .svg or .png"},
    {.name = "figures", .kind = OPTION_BOOL, AT(list), .help = "list the figures, and write nothing"},
    {.name = "films", FROM(report_options, opt, "videos"), .value = "N"},
    {.name = "steps", FROM(report_options, opt, "steps"), .value = "T"},
    {.name = "traversal-steps", FROM(report_options, opt, "traversal_steps"), .value = "T"},
    {.name = "data", FROM(report_options, opt, "data"), .value = "F"},
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

// --figures: names and titles.
static int list_figures(void)
{
    const char *name, *title;
    for (int64_t i = 0; (name = plumb_figure_name(i, &title)); i++)
        printf("%-12s %s\n", name, title);
    return EXIT_DONE;
}

// "+0.59 [0.41, 0.70] n=119", or "-" if there are too few models.
static const char *format_correlation(char *text, size_t size,
                                      const plumb_rank_correlation *correlation)
{
    if (!correlation->n) snprintf(text, size, "-");
    else if (isfinite(correlation->rho_ci.low))
        snprintf(text, size, "%+.2f [%.2f, %.2f] n=%lld", correlation->rho, correlation->rho_ci.low,
                 correlation->rho_ci.high, (long long)correlation->n);
    else snprintf(text, size, "%+.2f n=%lld", correlation->rho, (long long)correlation->n);
    return text;
}

// How each measure correlates with the VPT over the models, if there are enough.
static void print_correlations(const plumb_report *report)
{
    plumb_report_correlation c;
    char all[64], best[64];
    for (int64_t i = 0; plumb_report_correlation_at(&c, report, i); i++) {
        if (!i)
            printf("\nrank correlation with VPT, 95 %% intervals\n"
                   "(sign changed where lower is better; the paper has the absolute value over\n"
                   "the fifth with the longest VPT)\n  %-13s %-25s %-25s %s\n",
                   "", "all models", "fifth with longest VPT", "paper");
        printf("  %-13s %-25s %-25s %s\n", c.measure, format_correlation(all, sizeof all, &c.all),
               format_correlation(best, sizeof best, &c.best), c.paper ? c.paper : "");
    }
}

// One correlation as an object.
static void record_correlation(plumb_record *record, const char *key,
                               const plumb_rank_correlation *correlation)
{
    plumb_record_begin_object(record, key);
    plumb_record_set_int(record, "models", correlation->n);
    plumb_record_set_double(record, "rho", correlation->n ? correlation->rho : (double)NAN);
    plumb_record_set_interval(record, "rho_ci", correlation->rho_ci);
    plumb_record_end(record);
}

// The same as JSON.
static void record_correlations(plumb_record *record, const plumb_report *report)
{
    plumb_report_correlation c;
    for (int64_t i = 0; plumb_report_correlation_at(&c, report, i); i++) {
        if (!i) plumb_record_begin_object(record, "correlation");
        plumb_record_begin_object(record, c.measure);
        record_correlation(record, "all", &c.all);
        record_correlation(record, "best", &c.best);
        plumb_record_set_double(record, "paper", c.paper ? atof(c.paper) : (double)NAN);
        plumb_record_end(record);
    }
    if (plumb_report_correlation_at(&c, report, 0)) plumb_record_end(record);
}

// Context of cli_print().
typedef struct report_output {
    const report_command *cmd;
    const plumb_report *report;
} report_output;

// The text output: the file, and the correlations if there are enough models.
static void print_report(const void *context)
{
    const report_output *output = context;
    const report_command *cmd = output->cmd;
    if (cmd->figure) {
        printf("%s: %s\n", cmd->out, cmd->figure);
        return;
    }
    printf("%s: %lld figures\n", cmd->out, (long long)plumb_report_figure_count(output->report));
    print_correlations(output->report);
}

// The record of --json. There are fewer than 64 figures.
static void fill_record(plumb_record *record, const void *context)
{
    const report_output *output = context;
    const report_command *cmd = output->cmd;
    const int64_t count = cmd->figure ? 1 : plumb_report_figure_count(output->report);
    const char *names[64];
    int64_t n = 0;
    // A single figure is the only entry of its list.
    for (; n < count && n < 64; n++)
        names[n] = cmd->figure ? cmd->figure : plumb_report_figure_name(output->report, n);
    plumb_record_set_string(record, "file", cmd->out);
    plumb_record_set_strings(record, "figures", names, n);
    if (!cmd->figure) record_correlations(record, output->report);
    plumb_record_set_string(record, "version", plumb_version());
}

// Adds every path to the report. A path that does not exist may be the name of a trained model.
static int add_paths(plumb_report *report, const report_command *cmd, int files, char **file)
{
    char path[SHARE_PATH_SIZE];
    for (int i = 0; i < files; i++) {
        if (!zoo_find(path, &cmd_report, file[i])) return EXIT_FAILED;
        if (plumb_report_add_path(report, path, &cmd->opt)) return cli_last_error(&cmd_report);
    }
    return EXIT_DONE;
}

static int run(void *given, int files, char **file)
{
    report_command *cmd = given;
    const cli_command *c = &cmd_report;
    if (cmd->list) return list_figures();
    // Two figures need no model.
    const bool needs_no_model =
        cmd->figure && (!strcmp(cmd->figure, "example") || !strcmp(cmd->figure, "paper-1"));
    // One figure needs rollouts that no other has; 200 steps as in the paper.
    if (cmd->figure && !strcmp(cmd->figure, "paper-3e") && !cmd->opt.traversal_steps)
        cmd->opt.traversal_steps = 200;
    if (!files && !needs_no_model)
        return cli_error(
            c, EXIT_USAGE,
            "needs a run, a directory, results.jsonl or arrays; see plumb report --help");
    if (!cmd->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb report --help");
    if (cmd->opt.name && files > 1)
        return cli_error(c, EXIT_USAGE, "--name is for one file, not %d", files);
    plumb_report *report = NULL;
    signals_begin();
    int code =
        plumb_report_create(&report) ? cli_last_error(c) : add_paths(report, cmd, files, file);
    if (code == EXIT_DONE) {
        const report_output output = {cmd, report};
        const plumb_status st = cmd->figure
                                    ? plumb_report_save_figure(report, cmd->figure, cmd->out)
                                    : plumb_report_save(report, cmd->out);
        code = st ? cli_last_error(c) : cli_print(c, cmd->json, fill_record, print_report, &output);
    }
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
        "only this figure; --figures lists them. A run can be a trained model that is installed "
        "with plumb, as hgn++-mass-spring.",
    .example = "plumb report run/ --out report.html",
    .options = command_options,
    .options_size = sizeof(report_command),
    .defaults = defaults,
    .run = run,
};
