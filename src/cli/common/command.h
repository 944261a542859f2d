// SPDX-License-Identifier: MIT
// A command is one table entry: its name, its options, its function. The same table feeds the
// parser,
// --help, "did you mean", the manual page and shell completion.
#ifndef CLI_COMMON_COMMAND_H
#define CLI_COMMON_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/option.h"
#include "plumb/plumb.h"

// ---- exit codes ----

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_REQUIREMENT = 3 };
/// EX_TEMPFAIL of sysexits.h: stopped by SIGTERM or SIGUSR1, saved, to be started again.
enum { EXIT_TEMPFAIL = 75 };

// ---- tables ----

/// What completion offers for a value or a file argument.
typedef enum cli_complete {
    CLI_COMPLETE_FILES,
    CLI_COMPLETE_WORLDS,
    CLI_COMPLETE_MODELS,
    CLI_COMPLETE_PRESETS,
    CLI_COMPLETE_SCORERS,
    CLI_COMPLETE_FIGURES,
    CLI_COMPLETE_COMMANDS,
} cli_complete;

/// An option that can be repeated.
typedef struct option_list {
    const char *item[64];
    int count;
} option_list;

typedef struct cli_option {
    const char *name;         ///< without the dashes; NULL ends a table
    char letter;              ///< 0 if it has none
    const char *group;        ///< heading in --help, from here on; NULL: the heading so far
    option_kind kind;         ///< OPTION_BOOL takes no value on the command line
    size_t offset;            ///< of the target in the command's options
    const char *const *words; ///< OPTION_ENUM: NULL at the end
    const char *value;        ///< name of the value in --help
    const char *help;
    bool is_list; ///< the target is an option_list
    bool sets;    ///< takes no value: sets an enum or int to `set_to`
    int set_to;
    cli_complete complete;
    /// The option is member `member` of plumb_TABLE, which is at `offset`: type, words and, if
    /// `help` is NULL, the help text come from plumb_option_info_at().
    const char *table, *member;
} cli_option;

/// An option of a command that is `option`, a member of plumb_STRUCT. The struct is the member
/// `field` of the command's options, by the macro AT of the command.
#define FROM(struct_name, field, option) AT(field), .table = #struct_name, .member = option

typedef struct cli_command {
    const char *name;
    const char *summary;
    const char *usage; ///< what follows the name
    const char *text;  ///< paragraphs for --help, separated by empty lines
    const char *example;
    const cli_option *options;
    size_t options_size; ///< bytes of the struct that the options fill
    cli_complete complete;
    void (*defaults)(void *options);
    int (*run)(void *options, int files, char **file);
} cli_command;

extern const cli_command cmd_audit, cmd_convert, cmd_demo, cmd_doctor, cmd_evaluate, cmd_forecast,
    cmd_measure, cmd_report, cmd_rollout, cmd_show, cmd_simulate, cmd_surprise, cmd_sweep,
    cmd_train, cmd_worlds;

/// All commands, NULL at the end.
extern const cli_command *const cli_commands[];

/// The command of that name, or NULL.
const cli_command *cli_find_command(const char *name);

// ---- options.c ----

/// Fills `options` from the command line and finds the file arguments, which are moved to the end
/// of argv. Returns -1 to continue, else the exit code (--help: 0, wrong usage: 2).
int options_parse(const cli_command *c, void *options, int argc, char **argv, int *files,
                  char ***file);

/// Type, words and help text of an option; `spec->offset` is that in the command's options.
option_spec options_spec(const cli_option *option);

/// True if the option needs a value.
bool options_takes_value(const cli_option *option);

// ---- help.c ----

void help_print(const cli_command *c); ///< the page of --help
void help_manual(void);                ///< the manual page of all commands, as roff
/// Prints `text` at the current column, wrapped to the width of the terminal; further lines start
/// at column `indent`. `column` is the current one. Empty lines separate paragraphs.
void help_wrap(const char *text, int column, int indent);

// ---- completion.c ----

/// Prints the completion script of `shell`: "bash", "zsh" or "fish". False for another shell.
bool completion_print(const char *shell);

// ---- output.c ----

/// One line on stderr, "plumb NAME: message". Returns `code`.
int cli_error(const cli_command *c, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The same with the library's last message. Returns EXIT_FAILED.
int cli_last_error(const cli_command *c);
/// The same, but a wrong option or value (PLUMB_EVALUE) is EXIT_USAGE.
int cli_status_error(const cli_command *c, plumb_status st);

/// Prints a record as one line of JSON on stdout. Returns the exit code.
int cli_print_record(const cli_command *c, plumb_record *record);

/// Writes one record per item to `path` (--items), filled by `fill`. Returns the exit code.
typedef void cli_item_record(plumb_record *record, const void *result, int64_t index);
int cli_write_items(const cli_command *c, const char *path, int64_t count, cli_item_record *fill,
                    const void *result);

/// Sends log lines of the library to stderr, as lines of this command.
void cli_show_log(const cli_command *c);

// ---- table.c ----

/// One row of a text table: name, value, 95 % interval, note. NaN intervals are left out, notes are
/// wrapped.
void table_row(const char *name, double value, plumb_interval interval, const char *note);
/// The same without an interval.
void table_value(const char *name, double value, const char *note);
/// A row whose value is a text.
void table_text(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// "95 % [0.90, 0.93]", or "" for NaN. Returns `text`.
const char *table_interval(char *text, size_t size, plumb_interval interval);
/// "5 s", "12 min", "3.5 h". Returns `text`.
const char *table_duration(char *text, size_t size, double seconds);

/// Rows that measure, evaluate and forecast share.
void table_kappa(const plumb_kappa *kappa);
void table_direction(const char *name, const plumb_forecast_direction *direction);

// ---- progress.c ----

/// Shows progress on stderr from here on: a bar on a terminal, else a line now and then.
void progress_begin(const char *what);
/// The same, and shows `what` at once on a terminal: it may take long before there is progress.
void progress_stage(const char *what);
void progress_end(void);
/// Shows `fraction` and a line of details instead of what the library reports. For commands that
/// count by themselves.
void progress_show(double fraction, const char *details);
/// Seconds of a monotonic clock.
double progress_clock(void);

// ---- signals.c ----

/// From here on Ctrl-C and other signals ask the library to stop instead of ending the program.
void signals_begin(void);
/// The same for work that is saved and can be resumed: SIGUSR1 stops it too, and if it or SIGTERM
/// came, signals_end returns EXIT_TEMPFAIL, by which batch systems know what to queue again.
void signals_begin_resumable(void);
/// Restores the signals. If one came, the program now ends by it. Else returns `code`.
int signals_end(int code);

// ---- require.c ----

/// --require "NAME", "NAME=VALUE" or several separated by commas.
typedef struct requirement {
    const char *name;
    double value;
    double threshold; ///< if none is given
    bool lower_is_better;
} requirement;
typedef int require_use(const cli_command *c, const char *require, const requirement *list,
                        int count);
/// Before measuring: EXIT_USAGE, with a message, if a name or a value is wrong.
require_use require_parse;
/// After measuring: EXIT_DONE, or EXIT_REQUIREMENT with a line on stderr for each that is missed.
require_use require_check;

#endif
