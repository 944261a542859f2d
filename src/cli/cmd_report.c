// SPDX-License-Identifier: MIT
// plumb report: one HTML page about models that were measured, or one figure of it.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/command.h"

typedef struct settings {
    const char *out, *figure;
    plumb_report_options opt;
    bool json, list;
} settings;

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "out", .letter = 'o', .kind = OPTION_TEXT, AT(out), .value = "report.html|f.svg|f.png",
     .help = "the page or the figure to write"},
    {.name = "figure", .kind = OPTION_TEXT, AT(figure), .value = "NAME",
     .help = "this figure alone, as .svg or .png"},
    {.name = "figures", .kind = OPTION_FLAG, AT(list), .help = "list the figures there are, and write nothing"},
    {.name = "films", .kind = OPTION_INTEGER, AT(opt.films), .value = "N",
     .help = "films that a run rolls out for its figures; 0 none, which is quick"},
    {.name = "steps", .kind = OPTION_INTEGER, AT(opt.steps), .value = "T",
     .help = "frames of each; 0 as many as the run was judged on, or 1000"},
    {.name = "name", .kind = OPTION_TEXT, AT(opt.name), .value = "NAME",
     .help = "what the model is called; by default the name of the file"},
    {.name = "threads", .kind = OPTION_INT, AT(opt.threads), .help = "0: all cores; changes no result"},
    {.name = "json", .kind = OPTION_FLAG, AT(json), .help = "one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    ((settings *)given)->opt = plumb_report_defaults();
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

static int tell(const settings *s, const plumb_report *report)
{
    const int64_t count = s->figure ? 1 : plumb_report_figure_count(report);
    if (!s->json) {
        if (s->figure) printf("%s: %s\n", s->out, s->figure);
        else printf("%s: %lld figures\n", s->out, (long long)count);
        if (!s->figure) print_correlations(report);
        return EXIT_DONE;
    }
    const char *names[64];
    int64_t n = 0;
    for (; n < count && n < 64; n++)
        names[n] = s->figure ? s->figure : plumb_report_figure_name(report, n);
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_report, EXIT_FAILED, "no memory");
    plumb_record_set_string(record, "file", s->out);
    plumb_record_set_strings(record, "figures", names, n);
    if (!s->figure) record_correlations(record, report);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_report, record);
    plumb_record_free(record);
    return code;
}

static int run(void *given, int files, char **file)
{
    const settings *s = given;
    const cli_command *c = &cmd_report;
    if (s->list) return print_known();
    // The counter-example needs no model.
    const bool alone = s->figure && !strcmp(s->figure, "example");
    if (!files && !alone)
        return cli_error(
            c, EXIT_USAGE,
            "wants a run, a directory, results.jsonl or arrays; see plumb report --help");
    if (!s->out) return cli_error(c, EXIT_USAGE, "--out is missing; see plumb report --help");
    if (s->opt.name && files > 1)
        return cli_error(c, EXIT_USAGE, "--name is for one file, not %d", files);
    plumb_report *report = NULL;
    signals_begin();
    plumb_status st = plumb_report_create(&report);
    for (int i = 0; i < files && !st; i++) st = plumb_report_add_path(report, file[i], &s->opt);
    if (!st)
        st = s->figure ? plumb_report_save_figure(report, s->figure, s->out)
                       : plumb_report_save(report, s->out);
    const int code = st ? cli_last_error(c) : tell(s, report);
    plumb_report_free(report);
    return signals_end(code);
}

const cli_command cmd_report = {
    .name = "report",
    .summary = "one HTML page with verdict, numbers and figures",
    .usage = "RUN/|DIR/|results.jsonl|F.npz ... --out report.html [options]",
    .text =
        "Writes one page that needs nothing else: the verdict in words, the numbers with their\n"
        "intervals, and the figures that what is given allows. A run directory is rolled out for\n"
        "its pictures; arrays are measured first, by every measure they have the arrays for. With\n"
        "--figure NAME one figure comes out alone; --figures lists them.",
    .example = "plumb report run/ --out report.html",
    .options = rows,
    .settings_size = sizeof(settings),
    .defaults = defaults,
    .run = run,
};
