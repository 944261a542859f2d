// SPDX-License-Identifier: MIT
// Parses the command line by the table of a command, with getopt_long. An option that is a member
// of an options struct gets its type and its words from the library.
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "cli/common/command.h"

// LONG_ONLY + i stands for option i; letters are below it.
enum { MAX_OPTIONS = 96, LONG_ONLY = 1000 };

// ---- table entries ----

bool options_takes_value(const cli_option *option)
{
    return !option->sets && options_spec(option).kind != OPTION_BOOL;
}

option_spec options_spec(const cli_option *option)
{
    option_spec spec = {.name = option->name,
                        .kind = option->kind,
                        .offset = option->offset,
                        .words = option->words,
                        .help = option->help};
    plumb_option_info info;
    // The type, the words and the offset come from the library; the help of the entry wins.
    for (int64_t i = 0; option->table && plumb_option_info_at(&info, option->table, i); i++) {
        if (strcmp(info.name, option->member)) continue;
        spec.kind = (option_kind)info.kind;
        spec.offset += info.offset;
        spec.words = info.words;
        if (!spec.help) spec.help = info.help;
        break;
    }
    if (!spec.help) spec.help = "";
    return spec;
}

// ---- values ----

// Reports an unknown option, with the nearest name.
static int reject_option(const cli_command *command, const char *word)
{
    const char *names[MAX_OPTIONS + 2];
    int count = 0;
    for (const cli_option *o = command->options; o->name && count < MAX_OPTIONS; o++)
        names[count++] = o->name;
    names[count++] = "help";
    names[count] = NULL;
    // "--name=value": only the name is compared.
    char bare[64];
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    const char *near = spelling_suggest(bare, names);
    if (near)
        return cli_error(command, EXIT_USAGE, "there is no option --%s; did you mean --%s?", bare,
                         near);
    return cli_error(command, EXIT_USAGE, "there is no option --%s; see plumb %s --help", bare,
                     command->name);
}

// Appends the value of an option that can be repeated.
static int append_value(const cli_command *command, const cli_option *option, option_list *list,
                        const char *value)
{
    const int capacity = (int)(sizeof list->item / sizeof *list->item);
    if (list->count == capacity)
        return cli_error(command, EXIT_USAGE, "--%s is given more than %d times", option->name,
                         capacity);
    list->item[list->count++] = value;
    return -1;
}

// Stores the value of an option. Returns -1, or the exit code if the value is wrong.
static int store_value(const cli_command *command, const cli_option *option, void *options,
                       const char *value)
{
    char error[700];
    const option_spec spec = options_spec(option);
    void *target = (char *)options + spec.offset;
    if (option->is_list) return append_value(command, option, target, value);
    if (option->sets) {
        *(int *)target = option->set_to;
        return -1;
    }
    if (spec.kind == OPTION_BOOL) {
        *(bool *)target = true;
        return -1;
    }
    if (option_store(options, &spec, value, error, sizeof error)) return -1;
    return cli_error(command, EXIT_USAGE, "--%s %s", option->name, error);
}

// ---- parsing ----

// The table of getopt_long, from that of a command.
typedef struct option_tables {
    struct option longs[MAX_OPTIONS + 2];
    char shorts[2 * MAX_OPTIONS + 4];
} option_tables;

static void fill_tables(option_tables *tables, const cli_command *command)
{
    int count = 0;
    *tables = (option_tables){.shorts = ":h"};
    for (const cli_option *o = command->options; o->name && count < MAX_OPTIONS; o++, count++) {
        const bool value = options_takes_value(o);
        tables->longs[count] = (struct option){o->name, value ? required_argument : no_argument,
                                               NULL, LONG_ONLY + count};
        if (o->letter)
            snprintf(tables->shorts + strlen(tables->shorts), 3, "%c%s", o->letter,
                     value ? ":" : "");
    }
    tables->longs[count] = (struct option){"help", no_argument, NULL, 'h'};
}

// Stores all options of the command line. `again`: a second time, without those that can be
// repeated. Returns -1 to continue, else the exit code.
static int store_options(const cli_command *command, void *options, int argc, char **argv,
                         bool again)
{
    option_tables tables;
    fill_tables(&tables, command);
    // getopt_long moves file arguments to the end. Messages are ours.
    opterr = 0;
    optind = 0; // glibc: start from the beginning
    int got;
    while ((got = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
        if (got == 'h') {
            help_print(command);
            return EXIT_DONE;
        }
        if (got == ':')
            return cli_error(command, EXIT_USAGE, "%s needs a value; see plumb %s --help",
                             argv[optind - 1], command->name);
        if (got == '?') {
            const char *word = argv[optind - 1];
            if (!strncmp(word, "--", 2)) return reject_option(command, word + 2);
            return cli_error(command, EXIT_USAGE, "there is no option -%c; see plumb %s --help",
                             optopt, command->name);
        }
        const cli_option *o = command->options;
        // A long option gives its index, a short one its letter.
        if (got >= LONG_ONLY) o += got - LONG_ONLY;
        else
            while (o->letter != got) o++;
        if (again && o->is_list) continue;
        const int code = store_value(command, o, options, optarg);
        if (code >= 0) return code;
    }
    return -1;
}

int options_parse(const cli_command *command, void *options, int argc, char **argv, int *files,
                  char ***file)
{
    int code = store_options(command, options, argc, argv, false);
    // A preset replaces other options; those that were given are stored again.
    if (code < 0 && command->preset && command->preset(options))
        code = store_options(command, options, argc, argv, true);
    if (code >= 0) return code;
    *files = argc - optind;
    *file = argv + optind;
    return -1;
}
