// SPDX-License-Identifier: MIT
// The plumb program: finds the command, parses its options, runs it.
// A command is a table entry (cli_command) with a function run(). Help and completion use it too.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/spelling.h"
#include "cli/common/command.h"
#include "cli/common/version.h"

const cli_command *const cli_commands[] = {
    &cmd_measure, &cmd_probe,    &cmd_dynamics, &cmd_forecast, &cmd_surprise, &cmd_compare,
    &cmd_report,  &cmd_worlds,   &cmd_simulate, &cmd_convert,  &cmd_show,     &cmd_audit,
    &cmd_train,   &cmd_evaluate, &cmd_rollout,  &cmd_import,   &cmd_export,   &cmd_sweep,
    &cmd_demo,    &cmd_doctor,   NULL};

// Headings of the list of commands, each before the command it names.
static const struct {
    const char *before, *title;
} headings[] = {{"measure", "Measure your own model"},
                {"worlds", "Data"},
                {"train", "Train and evaluate"},
                {"demo", "First steps"}};

// To stdout if it was asked for, to stderr as an error message.
static void print_usage(FILE *to)
{
    fprintf(
        to,
        "plumb %s: did this model learn the physics, or does it only produce plausible\nframes?\n\n"
        "usage: plumb COMMAND [options] [files]\n",
        plumb_version());
    for (int i = 0; cli_commands[i]; i++) {
        for (size_t heading = 0; heading < sizeof headings / sizeof *headings; heading++)
            if (!strcmp(headings[heading].before, cli_commands[i]->name))
                fprintf(to, "\n%s\n", headings[heading].title);
        fprintf(to, "  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    }
    fprintf(to, "\nplumb help COMMAND explains a command. A file argument is x.npy, x.npz,\n"
                "x.npz:key or x.h5:/path.\n");
}

// If stdout is closed, the next file that is opened would get its number, and results would be
// written into that file. So it is opened here, for reading only, which makes every write fail.
static void hold_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) exit(EXIT_FAILED);
}

// Results that cannot be written are a failure, also if the command succeeded.
static int flush_output(const cli_command *command, int code)
{
    if (fflush(stdout) || ferror(stdout))
        return cli_error(command, EXIT_FAILED, "the results cannot be written to standard output");
    return code;
}

const cli_command *cli_find_command(const char *name)
{
    for (int i = 0; cli_commands[i]; i++)
        if (!strcmp(cli_commands[i]->name, name)) return cli_commands[i];
    return NULL;
}

// Reports an unknown command, with the nearest name.
static int reject_command(const char *word)
{
    const char *names[32];
    int count = 0;
    for (int i = 0; cli_commands[i] && count < 31; i++) names[count++] = cli_commands[i]->name;
    names[count] = NULL;
    const char *near = spelling_suggest(word, names);
    if (near)
        return cli_error(NULL, EXIT_USAGE, "there is no command \"%s\"; did you mean plumb %s?",
                         word, near);
    return cli_error(NULL, EXIT_USAGE, "there is no command \"%s\"; plumb --help lists them", word);
}

// Fills the options of a command with its defaults and the command line, and runs it.
static int run_command(const cli_command *command, int argc, char **argv)
{
    // One byte more, so that the size is never 0.
    void *options = calloc(1, command->options_size + 1);
    if (!options) return cli_error(command, EXIT_FAILED, "out of memory");
    if (command->defaults) command->defaults(options);
    int files;
    char **file;
    int code = options_parse(command, options, argc, argv, &files, &file);
    // A negative code means: go on. Otherwise --help was printed or the usage was wrong.
    if (code < 0) code = command->run(options, files, file);
    free(options);
    return code;
}

// plumb help [COMMAND].
static int print_help(const char *name)
{
    const cli_command *command = name ? cli_find_command(name) : NULL;
    if (name && !command) return reject_command(name);
    if (command) help_print(command);
    else print_usage(stdout);
    return EXIT_DONE;
}

// plumb --completion [SHELL].
static int print_completion(const char *shell)
{
    if (completion_print(shell ? shell : "bash")) return EXIT_DONE;
    return cli_error(NULL, EXIT_USAGE, "--completion takes bash, zsh or fish, not \"%s\"", shell);
}

// Runs a word that is not a command, as --help. Returns -1 for a command.
static int run_word(const char *word, const char *argument)
{
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) return print_help(NULL);
    if (!strcmp(word, "help")) return print_help(argument);
    if (!strcmp(word, "--version") || !strcmp(word, "version")) {
        printf("plumb %s\n", cli_version);
        return EXIT_DONE;
    }
    if (!strcmp(word, "--manual")) {
        help_manual();
        return EXIT_DONE;
    }
    if (!strcmp(word, "--completion")) return print_completion(argument);
    return -1;
}

int main(int argc, char **argv)
{
    hold_descriptors();
    signal(SIGXFSZ, SIG_IGN); // a file beyond the limit is an error, like a full disk
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const int code = run_word(argv[1], argc > 2 ? argv[2] : NULL);
    if (code >= 0) return flush_output(NULL, code);
    const cli_command *command = cli_find_command(argv[1]);
    return command ? flush_output(command, run_command(command, argc - 1, argv + 1))
                   : reject_command(argv[1]);
}
