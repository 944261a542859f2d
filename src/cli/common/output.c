// SPDX-License-Identifier: MIT
// Output of all commands: messages to stderr, results to stdout as text or JSON, item files.
// A command describes its result twice, as text and as a record. cli_print() chooses by --format.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

// The option of a command by the name that the library has for it; NULL if there is none.
static const cli_option *find_member(const cli_command *command, const char *name, size_t length)
{
    const cli_option *option = command ? command->options : NULL;
    for (; option && option->name; option++) {
        const char *known = option->member ? option->member : option->name;
        bool same = strlen(known) == length;
        for (size_t i = 0; same && i < length; i++)
            same = known[i] == name[i] || (known[i] == '-' && name[i] == '_');
        if (same) return option;
    }
    return NULL;
}

// The library says "the option force"; here that is --force.
static void use_flags(char *out, size_t size, const cli_command *command, const char *text)
{
    static const char words[] = "the option ";
    size_t used = 0;
    while (*text && used + 1 < size) {
        const char *name = text + sizeof words - 1;
        if (!strncmp(text, words, sizeof words - 1)) {
            size_t length = 0;
            while (isalnum((unsigned char)name[length]) || name[length] == '_') length++;
            const cli_option *option = find_member(command, name, length);
            if (option) {
                const int written = snprintf(out + used, size - used, "--%s", option->name);
                used += (size_t)written < size - used ? (size_t)written : size - used - 1;
                text = name + length;
                continue;
            }
        }
        out[used++] = *text++;
    }
    out[used] = 0;
}

int cli_error(const cli_command *command, int code, const char *format, ...)
{
    char text[2048], line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    use_flags(line, sizeof line, command, text);
    fflush(stdout); // a terminal shows both in their order
    fprintf(stderr, "plumb%s%s: %s\n", command ? " " : "", command ? command->name : "", line);
    return code;
}

int cli_last_error(const cli_command *command)
{
    return cli_error(command, EXIT_FAILED, "%s", plumb_last_error());
}

int cli_status_error(const cli_command *command, plumb_status st)
{
    return cli_error(command, st == PLUMB_EVALUE ? EXIT_USAGE : EXIT_FAILED, "%s",
                     plumb_last_error());
}

// The log callback of the library; `context` is the command.
static void write_log(void *context, const char *line)
{
    if (!strncmp(line, "about ", 6)) progress_announced();
    cli_error(context, EXIT_DONE, "%s", line);
}

void cli_show_log(const cli_command *command)
{
    plumb_set_log(write_log, (void *)(uintptr_t)command);
}

int cli_print_record(const cli_command *command, plumb_record *record)
{
    const char *line;
    if (plumb_record_to_json(&line, record)) return cli_last_error(command);
    puts(line);
    return EXIT_DONE;
}

const char *const cli_format_words[] = {"text", "json", "md", "latex", "csv", NULL};

static int print_table(const cli_command *command, plumb_record *record, cli_format format)
{
    const char *table;
    const plumb_table_format form = format == CLI_FORMAT_MARKDOWN ? PLUMB_TABLE_MARKDOWN
                                    : format == CLI_FORMAT_LATEX  ? PLUMB_TABLE_LATEX
                                                                  : PLUMB_TABLE_CSV;
    if (plumb_record_to_table(&table, record, form)) return cli_last_error(command);
    fputs(table, stdout);
    return EXIT_DONE;
}

int cli_print_as(const cli_command *command, plumb_record *record, cli_format format)
{
    return format == CLI_FORMAT_JSON ? cli_print_record(command, record)
                                     : print_table(command, record, format);
}

int cli_print(const cli_command *command, cli_format format, cli_fill *fill, cli_print_text *text,
              const void *context)
{
    if (format == CLI_FORMAT_TEXT) {
        text(context);
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(command, EXIT_FAILED, "out of memory");
    fill(record, context);
    const int code = cli_print_as(command, record, format);
    plumb_record_free(record);
    return code;
}

int cli_write_items(const cli_command *command, const char *path, int64_t count,
                    cli_item_record *fill, const void *result)
{
    plumb_record **items = calloc((size_t)count + 1, sizeof(plumb_record *));
    bool complete = items;
    for (int64_t i = 0; complete && i < count; i++) {
        items[i] = plumb_record_create();
        complete = items[i];
        if (complete) fill(items[i], result, i);
    }
    // The file is written at once, atomically.
    int code = EXIT_DONE;
    if (!complete) code = cli_error(command, EXIT_FAILED, "out of memory");
    else if (plumb_record_write_lines(path, items, count)) code = cli_last_error(command);
    for (int64_t i = 0; items && i < count; i++) plumb_record_free(items[i]);
    free(items);
    return code;
}
