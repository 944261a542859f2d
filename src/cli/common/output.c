// SPDX-License-Identifier: MIT
// Output of all commands: messages to stderr, results to stdout as text or JSON, item files.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common/command.h"

int cli_error(const cli_command *command, int code, const char *format, ...)
{
    char line[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
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

int cli_print(const cli_command *command, bool json, cli_fill *fill, cli_print_text *text,
              const void *context)
{
    if (!json) {
        text(context);
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(command, EXIT_FAILED, "out of memory");
    fill(record, context);
    const int code = cli_print_record(command, record);
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
