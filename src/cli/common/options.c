// SPDX-License-Identifier: MIT
// The table of a command turned into a parser, a help page and a manual.
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "cli/common/command.h"

enum { MAX_OPTIONS = 64 };

int cli_error(const cli_command *c, int code, const char *format, ...)
{
    char line[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fflush(stdout);
    fprintf(stderr, "plumb%s%s: %s\n", c ? " " : "", c ? c->name : "", line);
    return code;
}

int cli_last_error(const cli_command *c)
{
    return cli_error(c, EXIT_FAILED, "%s", plumb_last_error());
}

static int unknown_option(const cli_command *c, const char *word)
{
    const char *names[MAX_OPTIONS + 1];
    int count = 0;
    for (const cli_option *o = c->options; o->name && count < MAX_OPTIONS - 1; o++)
        names[count++] = o->name;
    names[count++] = "help";
    names[count] = NULL;
    char bare[64];
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    const char *near = spelling_suggest(bare, names);
    if (near)
        return cli_error(c, EXIT_USAGE, "there is no option --%s; did you mean --%s?", bare, near);
    return cli_error(c, EXIT_USAGE, "there is no option --%s; see plumb %s --help", bare, c->name);
}

static int bad_value(const cli_command *c, const cli_option *o, const char *value,
                     const char *wanted)
{
    return cli_error(c, EXIT_USAGE, "--%s takes %s, not \"%s\"", o->name, wanted, value);
}

static int bad_choice(const cli_command *c, const cli_option *o, const char *value)
{
    char list[256];
    spelling_list(list, sizeof list, o->choices);
    const char *near = spelling_suggest(value, o->choices);
    if (near)
        return cli_error(c, EXIT_USAGE, "--%s takes %s, not \"%s\"; did you mean %s?", o->name,
                         list, value, near);
    return bad_value(c, o, value, list);
}

// Returns -1, or the exit code of a value that cannot be.
static int store(const cli_command *c, const cli_option *o, void *settings, const char *value)
{
    void *target = (char *)settings + o->offset;
    char *end = NULL;
    errno = 0;
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)target = true; return -1;
    case OPTION_SET: *(int *)target = o->set_to; return -1;
    case OPTION_TEXT: *(const char **)target = value; return -1;
    case OPTION_LIST: {
        option_list *list = target;
        const int room = (int)(sizeof list->item / sizeof *list->item);
        if (list->count == room)
            return cli_error(c, EXIT_USAGE, "--%s is given more than %d times", o->name, room);
        list->item[list->count++] = value;
        return -1;
    }
    case OPTION_INTEGER:
    case OPTION_INT: {
        const long long number = strtoll(value, &end, 10);
        if (end == value || *end || errno || (o->kind == OPTION_INT && number != (int)number))
            return bad_value(c, o, value, "a whole number");
        if (o->kind == OPTION_INT) *(int *)target = (int)number;
        else *(int64_t *)target = number;
        return -1;
    }
    case OPTION_SEED: {
        const unsigned long long number = strtoull(value, &end, 10);
        if (end == value || *end || errno || *value == '-' || number > INT64_MAX)
            return bad_value(c, o, value, "a whole number from 0 to 2^63 - 1");
        *(uint64_t *)target = number;
        return -1;
    }
    case OPTION_REAL: {
        const double number = strtod(value, &end);
        if (end == value || *end || number != number) return bad_value(c, o, value, "a number");
        *(double *)target = number;
        return -1;
    }
    case OPTION_CHOICE:
        for (int i = 0; o->choices[i]; i++)
            if (!strcmp(o->choices[i], value)) {
                *(int *)target = i;
                return -1;
            }
        return bad_choice(c, o, value);
    }
    return -1;
}

static bool takes_value(const cli_option *o)
{
    return o->kind != OPTION_FLAG && o->kind != OPTION_SET;
}

int options_parse(const cli_command *c, void *settings, int argc, char **argv, int *files,
                  char ***file)
{
    struct option longs[MAX_OPTIONS + 2] = {{0}};
    char shorts[2 * MAX_OPTIONS + 4] = ":h";
    int count = 0;
    for (const cli_option *o = c->options; o->name; o++, count++) {
        const int with = takes_value(o) ? required_argument : no_argument;
        longs[count] = (struct option){o->name, with, NULL, 1000 + count};
        if (o->letter)
            snprintf(shorts + strlen(shorts), 3, "%c%s", o->letter, takes_value(o) ? ":" : "");
    }
    longs[count] = (struct option){"help", no_argument, NULL, 'h'};

    opterr = 0;
    optind = 0; // glibc: start afresh
    int got;
    while ((got = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (got == 'h') {
            options_help(c);
            return EXIT_DONE;
        }
        if (got == ':')
            return cli_error(c, EXIT_USAGE, "%s wants a value; see plumb %s --help",
                             argv[optind - 1], c->name);
        if (got == '?') {
            const char *word = argv[optind - 1];
            if (!strncmp(word, "--", 2)) return unknown_option(c, word + 2);
            return cli_error(c, EXIT_USAGE, "there is no option -%c; see plumb %s --help", optopt,
                             c->name);
        }
        const cli_option *o = c->options;
        if (got >= 1000) o += got - 1000;
        else
            while (o->letter != got) o++;
        const int code = store(c, o, settings, optarg);
        if (code >= 0) return code;
    }
    *files = argc - optind;
    *file = argv + optind;
    return -1;
}

// The default as --help shows it, or "" where a default says nothing.
static void default_text(char *text, size_t size, const cli_option *o, const void *settings)
{
    const void *target = (const char *)settings + o->offset;
    text[0] = 0;
    switch (o->kind) {
    case OPTION_FLAG:
    case OPTION_LIST:
    case OPTION_SET: break;
    case OPTION_TEXT:
        if (*(const char *const *)target) snprintf(text, size, "%s", *(const char *const *)target);
        break;
    case OPTION_INTEGER: snprintf(text, size, "%lld", (long long)*(const int64_t *)target); break;
    case OPTION_INT: snprintf(text, size, "%d", *(const int *)target); break;
    case OPTION_SEED:
        snprintf(text, size, "%llu", (unsigned long long)*(const uint64_t *)target);
        break;
    case OPTION_REAL: snprintf(text, size, "%.4g", *(const double *)target); break;
    case OPTION_CHOICE: snprintf(text, size, "%s", o->choices[*(const int *)target]); break;
    }
}

static void left_column(char *text, size_t size, const cli_option *o)
{
    char value[128] = "";
    if (o->kind == OPTION_CHOICE) {
        size_t used = 0;
        for (int i = 0; o->choices[i] && used < sizeof value; i++)
            used += (size_t)snprintf(value + used, sizeof value - used, "%s%s", i ? "|" : " ",
                                     o->choices[i]);
    } else if (takes_value(o)) {
        snprintf(value, sizeof value, " %s", o->value ? o->value : "N");
    }
    if (o->letter) snprintf(text, size, "-%c, --%s%s", o->letter, o->name, value);
    else snprintf(text, size, "--%s%s", o->name, value);
}

void options_help(const cli_command *c)
{
    printf("plumb %s: %s\n\nusage: plumb %s %s\n\n%s\n", c->name, c->summary, c->name, c->usage,
           c->text);
    void *settings = calloc(1, c->settings_size + 1);
    if (!settings) return;
    if (c->defaults) c->defaults(settings);
    puts("\noptions (default in brackets):");
    for (const cli_option *o = c->options; o->name; o++) {
        char left[200], fallback[128];
        left_column(left, sizeof left, o);
        default_text(fallback, sizeof fallback, o, settings);
        if (strlen(left) > 28) printf("  %s\n%32s", left, "");
        else printf("  %-30s", left);
        printf("%s", o->help);
        if (fallback[0]) printf(" [%s]", fallback);
        putchar('\n');
    }
    printf("  %-30sthis page\n\nexample:\n  %s\n", "-h, --help", c->example);
    free(settings);
}

static void roff(const char *text)
{
    for (; *text; text++) {
        if (*text == '-' || *text == '\\') putchar('\\');
        putchar(*text);
    }
}

void options_manual(void)
{
    printf(".TH PLUMB 1 \"\" \"plumb %s\" \"User Commands\"\n.SH NAME\nplumb \\- ",
           plumb_version());
    roff("did this model learn the physics, or does it only draw good pictures?");
    puts("\n.SH SYNOPSIS\n.B plumb\n.I command\n[options] [files]\n.SH COMMANDS");
    for (int i = 0; cli_commands[i]; i++) {
        const cli_command *c = cli_commands[i];
        printf(".SS plumb %s ", c->name);
        roff(c->usage);
        puts("");
        roff(c->text);
        puts("");
        void *settings = calloc(1, c->settings_size + 1);
        if (!settings) return;
        if (c->defaults) c->defaults(settings);
        for (const cli_option *o = c->options; o->name; o++) {
            char left[200], fallback[128];
            left_column(left, sizeof left, o);
            default_text(fallback, sizeof fallback, o, settings);
            printf(".TP\n.B ");
            roff(left);
            puts("");
            roff(o->help);
            if (fallback[0]) {
                printf(" [");
                roff(fallback);
                printf("]");
            }
            puts("");
        }
        puts(".PP\nExample:\n.br");
        roff(c->example);
        puts("");
        free(settings);
    }
    puts(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 measured but below a bar set by "
         "\\-\\-require, 75 stopped by SIGTERM or SIGUSR1 with everything saved: start it again.");
}
