// SPDX-License-Identifier: MIT
// A command is one table entry: its name, its options, its function. The same table is used by the
// parser, --help, "did you mean", the manual page and shell completion.
#ifndef CLI_COMMON_COMMAND_H
#define CLI_COMMON_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/option.h"
#include "plumb/plumb.h"

// ---- exit codes ----

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_REQUIREMENT = 3 };
/// EX_TEMPFAIL of sysexits.h: stopped by SIGTERM or SIGUSR1 and saved; start the command again.
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
    char letter;              ///< one-letter form; 0: none
    const char *group;        ///< heading in --help from this option on; NULL: the same heading
    option_kind kind;         ///< OPTION_BOOL takes no value on the command line
    size_t offset;            ///< of the target in the options of the command
    const char *const *words; ///< OPTION_ENUM: NULL at the end
    const char *value;        ///< name of the value in --help; NULL: N or X
    const char *help;         ///< one sentence, without a full stop
    bool is_list;             ///< can be repeated; the target is an option_list
    bool sets;                ///< takes no value: sets an enum or int to `set_to`
    int set_to;
    cli_complete complete; ///< what completion offers for the value
    /// The option is the member `member` of plumb_TABLE, which is at `offset`. Type, words and, if
    /// `help` is NULL, the help text come from plumb_option_info_at().
    const char *table, *member;
} cli_option;

/// An option of a command that is `option`, a member of plumb_STRUCT. The struct is the member
/// `field` of the command's options, by the macro AT of the command.
#define FROM(struct_name, field, option) AT(field), .table = #struct_name, .member = option

typedef struct cli_command {
    const char *name;
    const char *summary; ///< one line
    const char *usage;   ///< what follows the name
    const char *text;    ///< paragraphs for --help, separated by empty lines
    const char *example;
    const cli_option *options;
    size_t options_size;             ///< bytes of the struct that the options fill
    cli_complete complete;           ///< what completion offers for a file argument
    void (*defaults)(void *options); ///< NULL: all options are zero
    /// An option that stands for others: sets them and returns true. Options that are given too
    /// then replace what it set, in any order. NULL: there is none.
    bool (*preset)(void *options);
    /// Runs the command and returns the exit code.
    int (*run)(void *options, int files, char **file);
} cli_command;

extern const cli_command cmd_audit, cmd_compare, cmd_convert, cmd_demo, cmd_doctor, cmd_dynamics,
    cmd_evaluate, cmd_export, cmd_forecast, cmd_import, cmd_measure, cmd_probe, cmd_report,
    cmd_rollout, cmd_show, cmd_simulate, cmd_surprise, cmd_sweep, cmd_train, cmd_worlds;

/// All commands, NULL at the end.
extern const cli_command *const cli_commands[];

/// The command of that name, or NULL.
const cli_command *cli_find_command(const char *name);

// ---- options.c ----

/// Fills `options` from the command line and finds the file arguments, which are moved to the end
/// of argv. Returns -1 to continue, else the exit code (--help: 0, wrong usage: 2).
int options_parse(const cli_command *command, void *options, int argc, char **argv, int *files,
                  char ***file);

/// Type, words and help text of an option; `spec->offset` is that in the command's options.
option_spec options_spec(const cli_option *option);

/// True if the option needs a value.
bool options_takes_value(const cli_option *option);

// ---- help.c ----

void help_print(const cli_command *command); ///< Prints the page of --help.
void help_manual(void);                      ///< Prints the manual page of all commands, as roff.
/// Prints `text` at the current column, wrapped to the width of the terminal; further lines start
/// at column `indent`. `column` is the current one. Empty lines separate paragraphs.
void help_wrap(const char *text, int column, int indent);

// ---- completion.c ----

/// Prints the completion script of `shell`: "bash", "zsh" or "fish". False for another shell.
bool completion_print(const char *shell);

// ---- output.c ----

/// Prints one line to stderr, "plumb NAME: message". May be NULL: command. Returns `code`.
int cli_error(const cli_command *command, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The same with the last message of the library. Returns EXIT_FAILED.
int cli_last_error(const cli_command *command);
/// The same, but an invalid option (PLUMB_EVALUE) is EXIT_USAGE.
int cli_status_error(const cli_command *command, plumb_status st);

/// Fills a record with a result. `context` is what was given to cli_print().
typedef void cli_fill(plumb_record *record, const void *context);
/// Prints a result as text.
typedef void cli_print_text(const void *context);
/// How results are printed.
typedef enum cli_format {
    CLI_FORMAT_TEXT,
    CLI_FORMAT_JSON,
    CLI_FORMAT_MARKDOWN,
    CLI_FORMAT_LATEX,
    CLI_FORMAT_CSV
} cli_format;
extern const char *const cli_format_words[]; ///< "text", "json", "md", "latex", "csv", NULL
/// The options --format and --json of a command whose struct has a cli_format `format`.
#define CLI_FORMAT_OPTIONS                                                                        \
    {.name = "format",                                                                            \
     .kind = OPTION_ENUM,                                                                         \
     .words = cli_format_words,                                                                   \
     AT(format),                                                                                  \
     .help = "form of the result; md, latex and csv have the keys of --json"},                    \
    {                                                                                             \
        .name = "json", .sets = true, .kind = OPTION_ENUM, AT(format), .set_to = CLI_FORMAT_JSON, \
        .help = "print one line of JSON"                                                          \
    }

/// Prints a result to stdout: as text by `text`, or a record filled by `fill` as one line of JSON
/// or as tables. Returns the exit code.
int cli_print(const cli_command *command, cli_format format, cli_fill *fill, cli_print_text *text,
              const void *context);
/// Prints a record as one line of JSON. Returns the exit code.
int cli_print_record(const cli_command *command, plumb_record *record);
/// Prints a record in any format but text. Returns the exit code.
int cli_print_as(const cli_command *command, plumb_record *record, cli_format format);

/// Writes one record per item to `path` (--items), filled by `fill`. Returns the exit code.
typedef void cli_item_record(plumb_record *record, const void *result, int64_t index);
int cli_write_items(const cli_command *command, const char *path, int64_t count,
                    cli_item_record *fill, const void *result);

/// Prints log lines of the library to stderr, as lines of this command.
void cli_show_log(const cli_command *command);

// ---- share.c ----

enum { SHARE_PATH_SIZE = 8192 };

/// Writes the path of a file that is installed with plumb: in $PLUMB_SHARE, or else in share/plumb
/// beside the program. Returns `path`.
const char *share_path(char path[SHARE_PATH_SIZE], const char *name);

/// Finds the run directory `name`. A path that exists is taken as it is. Otherwise it is the name
/// of a trained model, as hgn++-mass-spring or zoo/hgn++-mass-spring, which is looked for in
/// $PLUMB_ZOO and in zoo of the installed files. Returns false, with one line on stderr, if it is
/// in none of them.
bool zoo_find(char path[SHARE_PATH_SIZE], const cli_command *command, const char *name);
/// Whether a path is that of a model in PLUMB_ZOO or in the installed files.
bool zoo_has(const char *path);

// ---- table.c ----

/// One row of a text table: name, value, 95 % interval, note. NaN intervals are left out; notes are
/// wrapped.
void table_row(const char *name, double value, plumb_interval interval, const char *note);
/// The same without an interval.
void table_value(const char *name, double value, const char *note);
/// A row whose value is a text, which is wrapped.
void table_text(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// A paragraph, wrapped to the width of the terminal.
void table_paragraph(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// "95 % [0.90, 0.93]", or "" for NaN. Returns `text`.
const char *table_interval(char *text, size_t size, plumb_interval interval);
/// "5 s", "12 min", "3.5 h". Returns `text`.
const char *table_duration(char *text, size_t size, double seconds);

/// The last lines about kappa, shared by measure and evaluate.
void table_kappa(const plumb_kappa *kappa);
/// The rows of the flow and its sentence.
void table_flow(const plumb_flow *flow);
/// Rows of the actions of loops.
void table_loops(const plumb_loops *loops);
/// MSE and VPT of one direction.
void table_direction(const char *name, const plumb_forecast_direction *direction);
/// The VPT by both averages.
void table_averages(const plumb_forecast *forecast);
/// The rows below a VPT: what pictures that never move score.
void table_stills(const plumb_forecast_direction *direction);

// ---- rows.c ----

/// Which steps of longer arrays count.
typedef enum cli_align { CLI_ALIGN_NONE, CLI_ALIGN_START, CLI_ALIGN_END } cli_align;
extern const char *const cli_align_words[]; ///< "none", "start", "end", NULL

/// How the rows of a file are divided into trajectories: flat arrays (rows, ...) with a first row
/// and a length of each, or, if not `flat`, arrays (trajectories, steps, ...).
typedef struct cli_rows {
    bool flat;
    int64_t rows;                 ///< of flat arrays
    int64_t trajectories, steps;  ///< before --cut
    plumb_array offsets, lengths; ///< (pieces) if flat
    int64_t *memory;              ///< of both
} cli_rows;

/// Finds the division from ep_len and ep_offset, a column "trajectory" or "length" of `file`, and
/// from `cut` (0: none), and gives `latent` the shape (rows, d) or (trajectories, steps, d): a last
/// axis of 1 may be missing or too many. `name` is that of `latent`; it and `command` are for
/// messages. May be NULL: file. Returns the exit code.
int cli_rows_find(cli_rows *out, plumb_array *latent, const char *name, const cli_command *command,
                  plumb_file *file, int64_t cut);
/// Reads "length" or "lengths", the steps of each trajectory. False if there is none. May be NULL:
/// file.
bool cli_rows_read_lengths(plumb_array *out, plumb_file *file);
/// Makes each trajectory of (trajectories, steps, ...) one piece, as long as `lengths` says. May be
/// NULL: lengths. Returns the exit code.
int cli_rows_take_lengths(cli_rows *out, const cli_command *command, const plumb_array *lengths);
/// Gives another array the same first axis or axes, if it has a value per step.
void cli_rows_shape(plumb_array *array, const cli_rows *rows);
void cli_rows_free(cli_rows *rows);

/// Copies `steps` steps of array (trajectories, more steps, ...) to memory of its own, which the
/// caller frees. False, with a message, if out of memory.
bool cli_crop_steps(plumb_array *array, const cli_command *command, int64_t steps, cli_align align);

// ---- trajectories.c ----

enum { CLI_MAX_TRAJECTORY_ARRAYS = 12 };

/// Arrays of one command that have a value per step or per trajectory.
typedef struct cli_trajectories {
    plumb_array *array[CLI_MAX_TRAJECTORY_ARRAYS];
    const char *name[CLI_MAX_TRAJECTORY_ARRAYS]; ///< for messages
    int axes[CLI_MAX_TRAJECTORY_ARRAYS]; ///< of an array with trajectories, steps and the rest
    void *memory[2 * CLI_MAX_TRAJECTORY_ARRAYS]; ///< of copies
    int count, copies;
} cli_trajectories;

/// Adds an array that has `axes` axes if it has a value per step: 3 for (trajectories, steps, k).
/// With one axis less it may be flat rows, or have a value per trajectory. The first array must
/// have a value per step.
void cli_trajectories_add(cli_trajectories *all, const char *name, plumb_array *array, int axes);
/// Gives an action the shape (trajectories, steps, a), or (rows, a) where rows are all steps: the
/// last axis may be missing. The last step leads nowhere and may be missing or NaN; it is then 0,
/// in
/// `*copy`, which the caller frees. Returns the exit code.
int cli_action_shape(plumb_array *action, void **copy, const cli_command *command,
                     int64_t trajectories, int64_t steps);
/// Adds "action" of `file`, if it has one: what drives the system. The latents must be the first
/// array. `*found` says whether there is one. Returns the exit code. May be NULL: file.
int cli_trajectories_add_action(cli_trajectories *all, bool *found, plumb_array *action,
                                const cli_command *command, plumb_file *file);
/// Brings all arrays to (trajectories, steps, ...): flat rows with ep_len or a column "trajectory"
/// of `file`, trajectories that end early by "length", pieces of `cut` steps (0: not cut), and
/// arrays with different numbers of steps, by `align`. Where trajectories differ in length, as many
/// steps of each count as the shortest has; a line on stderr says so. `command` is for messages.
/// May be NULL: file. Returns the exit code.
int cli_trajectories_shape(cli_trajectories *all, const cli_command *command, plumb_file *file,
                           int64_t cut, cli_align align);
void cli_trajectories_free(cli_trajectories *all);

// ---- progress.c ----

/// From here on shows progress on stderr: a bar on a terminal, else a line now and then. `what`
/// names the work and must stay valid.
void progress_begin(const char *what);
/// The same, and on a terminal shows `what` at once, for work whose first progress may take long.
void progress_stage(const char *what);
void progress_end(void);
/// How long the work takes has been said: do not say it again.
void progress_announced(void);
/// Shows `fraction`, 0 to 1, and a line of details, for commands that measure their own progress.
void progress_show(double fraction, const char *details);
/// Seconds of a monotonic clock.
double progress_clock(void);

// ---- signals.c ----

/// From here on Ctrl-C and other signals ask the library to stop and do not end the program.
void signals_begin(void);
/// The same for work that is saved and can be resumed: SIGUSR1 stops it too, and if it or SIGTERM
/// came, signals_end() returns EXIT_TEMPFAIL, which tells batch systems to queue the job again.
void signals_begin_resumable(void);
/// Restores the signals. If one came and `code` is a failure, the program ends by it. Else returns
/// `code`.
int signals_end(int code);

// ---- require.c ----

/// --require "NAME", "NAME=VALUE" or several separated by commas.
typedef struct requirement {
    const char *name;
    double value;     ///< that was measured; NaN never meets a requirement
    double threshold; ///< if none is given
    bool lower_is_better;
} requirement;
/// `require` is the value of --require. May be NULL: require.
typedef int require_use(const cli_command *command, const char *require, const requirement *list,
                        int count);
/// Before measuring: EXIT_USAGE, with a message, if a name or a value is wrong.
require_use require_parse;
/// After measuring: EXIT_DONE, or EXIT_REQUIREMENT with a line on stderr for each requirement that
/// is not met.
require_use require_check;
/// Is the name one of those of --require? Then it must be measured. May be NULL: require.
bool require_has(const char *require, const char *name);

#endif
