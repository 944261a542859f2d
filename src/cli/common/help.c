// SPDX-License-Identifier: MIT
// --help and the manual page, from the tables of the commands.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/common/command.h"

// ---- text ----

// The width of the terminal, 80 if there is none; between 60 and 100.
static int text_width(void)
{
    struct winsize size;
    // COLUMNS wins over the terminal, so that tests and scripts can set the width.
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    if (width <= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size)) width = size.ws_col;
    if (width <= 0) width = 80;
    return width < 60 ? 60 : width > 100 ? 100 : width;
}

// Breaks lines at spaces. A word that is longer than the line stays whole.
void help_wrap(const char *text, int column, int indent)
{
    const int width = text_width();
    int at = column;
    bool first = true; // of a line: no space before the word
    while (*text) {
        // An empty line separates paragraphs. A single line break counts as a space.
        if (text[0] == '\n' && text[1] == '\n') {
            printf("\n\n%*s", indent, "");
            at = indent;
            first = true;
            text += 2;
            continue;
        }
        if (*text == ' ' || *text == '\n') {
            text++;
            continue;
        }
        // `at` is the column where the next word would start.
        const int length = (int)strcspn(text, " \n");
        if (!first && at + 1 + length > width) {
            printf("\n%*s", indent, "");
            at = indent;
            first = true;
        }
        at += printf("%s%.*s", first ? "" : " ", length, text);
        first = false;
        text += length;
    }
}

// Bold on a terminal, unless NO_COLOR is set.
static void print_heading(const char *text)
{
    const char *no_color = getenv("NO_COLOR");
    const bool bold = isatty(STDOUT_FILENO) && !(no_color && *no_color);
    printf("\n%s%s:%s\n", bold ? "\033[1m" : "", text, bold ? "\033[0m" : "");
}

// ---- options ----

// The default as --help shows it, or "" where a default says nothing.
static void format_default(char *text, size_t size, const cli_option *option,
                           const option_spec *spec, const void *options)
{
    text[0] = 0;
    if (option->is_list || option->sets || spec->kind == OPTION_BOOL) return;
    // A short form: the exact value of a double can have 17 digits.
    if (spec->kind == OPTION_DOUBLE)
        snprintf(text, size, "%.4g", *(const double *)((const char *)options + spec->offset));
    else option_format(text, size, spec, options);
}

// "-o, --out FILE".
static void format_option(char *text, size_t size, const cli_option *option,
                          const option_spec *spec)
{
    char value[128] = "";
    if (spec->kind == OPTION_ENUM && !option->sets) {
        size_t used = 0;
        for (int i = 0; spec->words[i] && used < sizeof value; i++)
            used += (size_t)snprintf(value + used, sizeof value - used, "%s%s", i ? "|" : " ",
                                     spec->words[i]);
    } else if (options_takes_value(option)) {
        const bool real = spec->kind == OPTION_DOUBLE;
        // Without a name for its value a real number is X and a whole number N.
        snprintf(value, sizeof value, " %s", option->value ? option->value : real ? "X" : "N");
    }
    if (option->letter) snprintf(text, size, "-%c, --%s%s", option->letter, option->name, value);
    else snprintf(text, size, "--%s%s", option->name, value);
}

// One option: its name and value on the left, its help and default on the right.
static void print_option(const cli_option *option, const void *options)
{
    enum { HELP_COLUMN = 27 };
    char left[200], fallback[128], help[600];
    const option_spec spec = options_spec(option);
    format_option(left, sizeof left, option, &spec);
    format_default(fallback, sizeof fallback, option, &spec, options);
    snprintf(help, sizeof help, "%s%s%s%s", spec.help, fallback[0] ? " [" : "", fallback,
             fallback[0] ? "]" : "");
    // A long name gets a line of its own, and the help starts on the next.
    if (strlen(left) > HELP_COLUMN - 4) printf("  %s\n%*s", left, HELP_COLUMN, "");
    else printf("  %-*s", HELP_COLUMN - 2, left);
    help_wrap(help, HELP_COLUMN, HELP_COLUMN);
    putchar('\n');
}

void help_print(const cli_command *command)
{
    printf("plumb %s: %s\n\nusage: plumb %s ", command->name, command->summary, command->name);
    help_wrap(command->usage, 14 + (int)strlen(command->name), 7);
    printf("\n\n");
    help_wrap(command->text, 0, 0);
    putchar('\n');
    // One byte more, so that the size is never 0.
    void *options = calloc(1, command->options_size + 1);
    if (!options) return;
    if (command->defaults) command->defaults(options);
    const char *group = NULL;
    for (const cli_option *o = command->options; o->name; o++) {
        // An option without a group belongs to that of the option before it.
        if (o == command->options || (o->group && (!group || strcmp(o->group, group)))) {
            group = o->group ? o->group : "options";
            print_heading(group);
        }
        print_option(o, options);
    }
    printf("  %-25sthis page\n", "-h, --help");
    print_heading("example");
    printf("  %s\n", command->example);
    puts("\nDefaults are in brackets. plumb help lists all commands.");
    free(options);
}

// ---- manual page ----

// Text with the special characters of roff escaped.
static void print_roff(const char *text)
{
    for (; *text; text++) {
        if (*text == '-' || *text == '\\') putchar('\\');
        putchar(*text);
    }
}

// The options of a command as a list of the manual page.
static void print_manual_options(const cli_command *command)
{
    void *options = calloc(1, command->options_size + 1);
    if (!options) return;
    if (command->defaults) command->defaults(options);
    for (const cli_option *o = command->options; o->name; o++) {
        char left[200], fallback[128];
        const option_spec spec = options_spec(o);
        format_option(left, sizeof left, o, &spec);
        format_default(fallback, sizeof fallback, o, &spec, options);
        printf(".TP\n.B ");
        print_roff(left);
        puts("");
        print_roff(spec.help);
        if (fallback[0]) {
            printf(" [");
            print_roff(fallback);
            printf("]");
        }
        puts("");
    }
    free(options);
}

void help_manual(void)
{
    printf(".TH PLUMB 1 \"\" \"plumb %s\" \"User Commands\"\n.SH NAME\nplumb \\- ",
           plumb_version());
    print_roff("did this model learn the physics, or does it only produce plausible frames?");
    puts("\n.SH SYNOPSIS\n.B plumb\n.I command\n[options] [files]\n.SH COMMANDS");
    for (int i = 0; cli_commands[i]; i++) {
        const cli_command *command = cli_commands[i];
        printf(".SS plumb %s ", command->name);
        print_roff(command->usage);
        puts("");
        print_roff(command->text);
        puts("");
        print_manual_options(command);
        puts(".PP\nExample:\n.br");
        print_roff(command->example);
        puts("");
    }
    puts(
        ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 measured but a requirement of "
        "\\-\\-require is missed, 75 stopped by SIGTERM or SIGUSR1 with everything saved: start it "
        "again.");
}
