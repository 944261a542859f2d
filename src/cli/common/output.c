// SPDX-License-Identifier: MIT
// Messages, records and item files of all commands.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common/command.h"

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

int cli_status_error(const cli_command *c, plumb_status st)
{
    return cli_error(c, st == PLUMB_EVALUE ? EXIT_USAGE : EXIT_FAILED, "%s", plumb_last_error());
}

static void write_log(void *context, const char *line)
{
    cli_error(context, EXIT_DONE, "%s", line);
}

void cli_show_log(const cli_command *c)
{
    plumb_set_log(write_log, (void *)(uintptr_t)c);
}

int cli_print_record(const cli_command *c, plumb_record *record)
{
    const char *line;
    if (plumb_record_to_json(&line, record)) return cli_last_error(c);
    puts(line);
    return EXIT_DONE;
}

int cli_write_items(const cli_command *c, const char *path, int64_t count, cli_item_record *fill,
                    const void *result)
{
    plumb_record **items = calloc((size_t)count + 1, sizeof(plumb_record *));
    bool complete = items;
    for (int64_t i = 0; complete && i < count; i++) {
        items[i] = plumb_record_create();
        complete = items[i];
        if (complete) fill(items[i], result, i);
    }
    int code = EXIT_DONE;
    if (!complete) code = cli_error(c, EXIT_FAILED, "out of memory");
    else if (plumb_record_write_lines(path, items, count)) code = cli_last_error(c);
    for (int64_t i = 0; items && i < count; i++) plumb_record_free(items[i]);
    free(items);
    return code;
}
