// SPDX-License-Identifier: MIT
// The plumb program: finds the command, gives it its settings, lets it run.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/spelling.h"
#include "cli/common/command.h"

const cli_command *const cli_commands[] = {&cmd_worlds, &cmd_simulate, &cmd_convert,  &cmd_show,
                                           &cmd_train,  &cmd_evaluate, &cmd_sweep,    &cmd_rollout,
                                           &cmd_report, &cmd_measure,  &cmd_forecast, &cmd_surprise,
                                           &cmd_audit,  &cmd_demo,     &cmd_doctor,   NULL};

static void overview(FILE *to)
{
    fprintf(to,
            "plumb %s: did this model learn the physics, or does it only draw good pictures?\n\n"
            "usage: plumb COMMAND [options] [files]\n\n",
            plumb_version());
    for (int i = 0; cli_commands[i]; i++)
        fprintf(to, "  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fprintf(to, "\nplumb COMMAND --help tells more. A file argument is x.npy, x.npz, x.npz:key or "
                "x.h5:/path.\n");
}

// A closed stdout must not be given away to the next file that is opened, or results would be
// written into it. Held open for reading, it refuses every write.
static void hold_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) exit(EXIT_FAILED);
}

// Results that did not arrive are a failure, whatever the command says.
static int deliver(const cli_command *c, int code)
{
    if (fflush(stdout) || ferror(stdout))
        return cli_error(c, EXIT_FAILED, "the results cannot be written to standard output");
    return code;
}

static int unknown(const char *word)
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

static int run(const cli_command *c, int argc, char **argv)
{
    void *settings = calloc(1, c->settings_size + 1);
    if (!settings) return cli_error(c, EXIT_FAILED, "no memory");
    if (c->defaults) c->defaults(settings);
    int files;
    char **file;
    int code = options_parse(c, settings, argc, argv, &files, &file);
    if (code < 0) code = c->run(settings, files, file);
    free(settings);
    return deliver(c, code);
}

int main(int argc, char **argv)
{
    hold_descriptors();
    if (argc < 2) {
        overview(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
        overview(stdout);
        return deliver(NULL, EXIT_DONE);
    }
    if (!strcmp(word, "--version")) {
        printf("plumb %s\n", plumb_version());
        return deliver(NULL, EXIT_DONE);
    }
    if (!strcmp(word, "--manual")) {
        options_manual();
        return deliver(NULL, EXIT_DONE);
    }
    if (!strcmp(word, "--completion")) {
        options_completion();
        return deliver(NULL, EXIT_DONE);
    }
    for (int i = 0; cli_commands[i]; i++)
        if (!strcmp(cli_commands[i]->name, word)) return run(cli_commands[i], argc - 1, argv + 1);
    return unknown(word);
}
