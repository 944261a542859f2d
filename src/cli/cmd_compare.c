// SPDX-License-Identifier: MIT
// plumb compare: is one model better than another, on the same items?
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

typedef struct compare_command {
    const char *key;
    cli_format format;
    plumb_compare_options opt;
} compare_command;

// clang-format off
#define AT(member) .offset = offsetof(compare_command, member)
static const cli_option command_options[] = {
    {.name = "key", .group = "input", .kind = OPTION_STRING, AT(key), .value = "NAME",
     .help = "which scores: a key of records, as vpt_per_trajectory, or an array"},
    {.name = "lower-is-better", FROM(compare_options, opt, "lower_is_better"),
     .group = "measure"},
    {.name = "resamples", FROM(compare_options, opt, "resamples")},
    {.name = "flips", FROM(compare_options, opt, "flips")},
    {.name = "seed", FROM(compare_options, opt, "seed")},
    {.name = "format", .group = "output", .kind = OPTION_ENUM, .words = cli_format_words, AT(format),
     .help = "form of the tables"},
    {.name = "json", .sets = true, .kind = OPTION_ENUM, AT(format), .set_to = CLI_FORMAT_JSON,
     .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    compare_command *cmd = given;
    cmd->opt = plumb_compare_defaults();
}

// ---- input ----

// The model's name of a file: its last part without the suffix.
static void get_base_name(char *out, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    snprintf(out, size, "%.*s", (int)(dot ? dot - name : (long)strlen(name)), name);
}

// Adds "F", or "NAME=F1,F2": several runs of one model.
static int add_argument(plumb_compare *compare, const compare_command *cmd, const char *argument)
{
    char name[256], path[4096];
    const char *equals = strchr(argument, '='), *slash = strchr(argument, '/');
    const char *rest = argument;
    if (equals && (!slash || equals < slash)) {
        snprintf(name, sizeof name, "%.*s", (int)(equals - argument), argument);
        rest = equals + 1;
    } else {
        get_base_name(name, sizeof name, argument);
        if (plumb_compare_add_file(compare, name, argument, cmd->key))
            return cli_last_error(&cmd_compare);
        return EXIT_DONE;
    }
    while (*rest) {
        const size_t length = strcspn(rest, ",");
        snprintf(path, sizeof path, "%.*s", (int)length, rest);
        if (plumb_compare_add_file(compare, name, path, cmd->key))
            return cli_last_error(&cmd_compare);
        rest += length + (rest[length] == ',');
    }
    return EXIT_DONE;
}

// ---- tables ----

enum { COLUMNS = 6, CELL = 96 };

// How a table is written.
typedef struct table_style {
    const char *before, *between, *after; // of a row
} table_style;

static const table_style styles[] = {
    {"  ", "", "\n"}, {"", "", ""}, {"| ", " | ", " |\n"}, {"", " & ", " \\\\\n"}, {"", ",", "\n"}};

// A entry of LaTeX or CSV: characters that mean something are marked.
static void print_cell(const char *text, cli_format format, int width)
{
    if (format == CLI_FORMAT_TEXT) {
        printf("%-*s", width, text);
        return;
    }
    const bool quoted = format == CLI_FORMAT_CSV && strpbrk(text, ",\"\n");
    if (quoted) putchar('"');
    for (; *text; text++) {
        if (format == CLI_FORMAT_LATEX && strchr("&%$#_{}", *text)) putchar('\\');
        if (format == CLI_FORMAT_MARKDOWN && *text == '|') putchar('\\');
        if (quoted && *text == '"') putchar('"');
        putchar(*text);
    }
    if (quoted) putchar('"');
}

static void print_row(char entry[COLUMNS][CELL], cli_format format)
{
    static const int width[COLUMNS] = {22, 12, 24, 10, 12, 10};
    fputs(styles[format].before, stdout);
    for (int k = 0; k < COLUMNS; k++) {
        if (k) fputs(styles[format].between, stdout);
        print_cell(entry[k], format, k + 1 < COLUMNS ? width[k] : 0);
    }
    fputs(styles[format].after, stdout);
}

static void print_header(const char *const *title, cli_format format)
{
    char entry[COLUMNS][CELL];
    for (int k = 0; k < COLUMNS; k++) snprintf(entry[k], CELL, "%s", title[k]);
    if (format == CLI_FORMAT_LATEX) puts("\\begin{tabular}{lrrrrr}");
    print_row(entry, format);
    if (format == CLI_FORMAT_LATEX) puts("\\hline");
    if (format == CLI_FORMAT_MARKDOWN) puts("|---|---|---|---|---|---|");
}

static void end_table(cli_format format)
{
    if (format == CLI_FORMAT_LATEX) puts("\\end{tabular}");
    putchar('\n');
}

static void format_number(char *out, double value)
{
    if (isnan(value)) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "%.4g", value);
}

static void format_interval(char *out, plumb_interval interval)
{
    if (isnan(interval.low)) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "[%.4g, %.4g]", interval.low, interval.high);
}

// Context of cli_print().
typedef struct compare_output {
    const compare_command *cmd;
    const plumb_compare_result *result;
} compare_output;

static void print_tables(const void *context)
{
    static const char *const model_titles[] = {"model", "mean", "95 %",
                                               "rank",  "runs", "deviation"};
    static const char *const pair_titles[] = {"pair", "difference", "95 %",
                                              "p",    "p adjusted", "wins/ties"};
    const cli_format format = ((const compare_output *)context)->cmd->format;
    const plumb_compare_result *r = ((const compare_output *)context)->result;
    char entry[COLUMNS][CELL];
    if (format == CLI_FORMAT_TEXT) printf("%lld items\n\n", (long long)r->items);
    print_header(model_titles, format);
    for (int64_t i = 0; i < r->models; i++) {
        const plumb_compare_model *model = &r->model[i];
        snprintf(entry[0], CELL, "%.90s", model->name);
        format_number(entry[1], model->mean);
        format_interval(entry[2], model->ci);
        snprintf(entry[3], CELL, "%lld", (long long)model->rank);
        snprintf(entry[4], CELL, "%lld", (long long)model->runs);
        format_number(entry[5], model->deviation);
        print_row(entry, format);
    }
    end_table(format);
    if (r->pairs) print_header(pair_titles, format);
    for (int64_t i = 0; i < r->pairs; i++) {
        const plumb_compare_pair *pair = &r->pair[i];
        snprintf(entry[0], CELL, "%.40s - %.40s", r->model[pair->first].name,
                 r->model[pair->second].name);
        format_number(entry[1], pair->difference);
        format_interval(entry[2], pair->difference_ci);
        format_number(entry[3], pair->p);
        format_number(entry[4], pair->p_adjusted);
        snprintf(entry[5], CELL, "%lld/%lld", (long long)pair->wins, (long long)pair->ties);
        print_row(entry, format);
    }
    if (r->pairs) end_table(format);
    if (format == CLI_FORMAT_TEXT)
        table_paragraph(r->pairs ? "p: changes of sign of the differences between paired items; "
                                   "adjusted for the number of pairs by Holm's method."
                                 : "One number per run: there are no items to pair.");
}

static void fill_record(plumb_record *record, const void *context)
{
    const compare_output *output = context;
    plumb_compare_record(record, output->result, &output->cmd->opt);
}

static int compare_files(plumb_compare *compare, const compare_command *cmd, int files, char **file)
{
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < files; i++) code = add_argument(compare, cmd, file[i]);
    if (code != EXIT_DONE) return code;
    plumb_compare_result result;
    const plumb_status st = plumb_compare_measure(&result, compare, &cmd->opt);
    if (st) return cli_status_error(&cmd_compare, st);
    const compare_output output = {cmd, &result};
    code =
        cli_print(&cmd_compare, cmd->format == CLI_FORMAT_JSON ? CLI_FORMAT_JSON : CLI_FORMAT_TEXT,
                  fill_record, print_tables, &output);
    plumb_compare_result_clear(&result);
    return code;
}

static int run(void *given, int files, char **file)
{
    const compare_command *cmd = given;
    if (!files) return cli_error(&cmd_compare, EXIT_USAGE, "needs files; see plumb compare --help");
    plumb_compare *compare;
    if (plumb_compare_create(&compare)) return cli_last_error(&cmd_compare);
    const int code = compare_files(compare, cmd, files, file);
    plumb_compare_free(compare);
    return code;
}

const cli_command cmd_compare = {
    .name = "compare",
    .summary = "is one model better than another? paired tests over items",
    .usage = "A B [C ...] [--key NAME] [options]",
    .text =
        "Compares scores of models on the same items. A file is a record of --json, whose --key is "
        "a list of numbers, one per item, or one number; a file of --items, one record per line; "
        "or an array of scores (items,) or (runs, items). A model is named by its file. "
        "NAME=F1,F2 are several runs of one model, as with other seeds.\n\n"
        "For every model: the mean, its interval over items, and the standard deviation over runs. "
        "For every pair: the mean difference with its interval (paired bootstrap), and p by "
        "changes "
        "of sign, corrected for the number of pairs.",
    .example = "plumb compare hgn=h1.json,h2.json ode=o1.json,o2.json --key vpt_per_trajectory",
    .options = command_options,
    .options_size = sizeof(compare_command),
    .defaults = defaults,
    .run = run,
};
