// SPDX-License-Identifier: MIT
// A command is one row: its name, its options, what it does. The same table feeds the parser,
// --help, "did you mean", the manual page and shell completion.
#ifndef CLI_COMMON_COMMAND_H
#define CLI_COMMON_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "plumb/plumb.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_REQUIREMENT = 3 };
/// EX_TEMPFAIL of sysexits.h: stopped by SIGTERM or SIGUSR1, saved, to be started again.
enum { EXIT_TEMPFAIL = 75 };

typedef enum option_kind {
    OPTION_FLAG,    // bool
    OPTION_TEXT,    // const char *
    OPTION_INTEGER, // int64_t
    OPTION_INT,     // int
    OPTION_SEED,    // uint64_t
    OPTION_REAL,    // double
    OPTION_CHOICE,  // int: index into choices
    OPTION_SET,     // a flag that sets an int to `set_to`
    OPTION_LIST,    // option_list: may be given often
} option_kind;

typedef struct option_list {
    const char *item[64];
    int count;
} option_list;

typedef struct cli_option {
    const char *name; // without the dashes
    char letter;      // 0 if none
    option_kind kind;
    size_t offset; // of the target in the command's settings
    const char *value;
    const char *help;
    const char *const *choices; // NULL at the end
    int set_to;
} cli_option;

typedef struct cli_command {
    const char *name;
    const char *summary;
    const char *usage; // what follows the name
    const char *text;  // a paragraph for --help
    const char *example;
    const cli_option *options; // a row without a name ends the table
    size_t settings_size;
    void (*defaults)(void *settings);
    int (*run)(void *settings, int files, char **file);
} cli_command;

extern const cli_command cmd_audit, cmd_convert, cmd_demo, cmd_doctor, cmd_evaluate, cmd_forecast,
    cmd_measure, cmd_report, cmd_rollout, cmd_show, cmd_simulate, cmd_surprise, cmd_sweep,
    cmd_train, cmd_worlds;

/// All of them, NULL at the end.
extern const cli_command *const cli_commands[];

/// Fills the settings from the command line and finds the file arguments, which are moved to the
/// end of argv. Returns -1 to go on, else the exit code (--help: 0, wrong usage: 2).
int options_parse(const cli_command *c, void *settings, int argc, char **argv, int *files,
                  char ***file);

void options_help(const cli_command *c);
void options_manual(void);     // the manual page of all commands, as roff
void options_completion(void); // for bash

/// One line on stderr, "plumb NAME: message"; returns `code`.
int cli_error(const cli_command *c, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The same with the library's last message; returns EXIT_FAILED.
int cli_last_error(const cli_command *c);

/// One line of JSON on stdout, or EXIT_FAILED with a message if it cannot be written.
int cli_print_record(const cli_command *c, plumb_record *record);

/// One record an item to `path` (--items), filled by `fill`. Returns the exit code.
typedef void cli_item_record(plumb_record *record, const void *result, int64_t index);
int cli_write_items(const cli_command *c, const char *path, int64_t count, cli_item_record *fill,
                    const void *result);

/// "0.9123  [0.90, 0.93]" style cells of the tables for people; returns `text`.
const char *cli_format_interval(char *text, size_t size, plumb_interval interval);

/// Shows progress on stderr from here on: a bar on a terminal, else a line now and then.
void progress_begin(const char *what);
/// The same, and a terminal is told at once: it may be long before there is progress.
void progress_stage(const char *what);
void progress_end(void);

/// Ctrl-C and the like ask the library to stop from here on, instead of ending the program.
void signals_begin(void);
/// The same for work that is saved and can go on: SIGUSR1 stops it too, and if it or SIGTERM came,
/// signals_end returns EXIT_TEMPFAIL, by which batch systems know what to queue again.
void signals_begin_resumable(void);
/// As before; if one came, the program now ends by it. Else returns `code`.
int signals_end(int code);

/// --require "NAME", "NAME=BAR" or several separated by commas.
typedef struct requirement {
    const char *name;
    double value;
    double standard; // the bar when none is given
    bool smaller;    // smaller is better
} requirement;
typedef int require_use(const cli_command *c, const char *require, const requirement *bars,
                        int count);
/// Before measuring: EXIT_USAGE, said on stderr, if a name or a bar makes no sense.
require_use require_parse;
/// Afterwards: EXIT_DONE, or EXIT_REQUIREMENT with a line on stderr for each that is missed.
require_use require_check;

#endif
