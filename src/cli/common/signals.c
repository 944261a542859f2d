// SPDX-License-Identifier: MIT
// Signals: the first one asks the library to stop and save.
// Exit code 75 tells a scheduler that the work was saved and should be started again.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>

#include "cli/common/command.h"

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { STOP_SIGNALS = sizeof stop_signals / sizeof *stop_signals };
static struct sigaction previous_actions[STOP_SIGNALS];
static volatile sig_atomic_t caught_signal;
static bool resumable; // the work is saved and can be started again

// Only sets flags: a handler may do no more.
static void on_stop(int signal)
{
    caught_signal = signal;
    plumb_set_stop(true);
}

void signals_begin(void)
{
    for (int i = 0; i < STOP_SIGNALS; i++) {
        struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(stop_signals[i], NULL, &previous_actions[i]);
        // SIGUSR1 is the warning of a scheduler before its time limit.
        if (stop_signals[i] == SIGUSR1 && !resumable) continue;
        // A signal that is ignored stays ignored, as nohup wants it.
        if (previous_actions[i].sa_handler != SIG_IGN) sigaction(stop_signals[i], &action, NULL);
    }
}

void signals_begin_resumable(void)
{
    resumable = true;
    signals_begin();
}

int signals_end(int code)
{
    for (int i = 0; i < STOP_SIGNALS; i++) sigaction(stop_signals[i], &previous_actions[i], NULL);
    plumb_set_stop(false);
    // A command that finished in spite of the signal keeps its own exit code.
    if (resumable && code != EXIT_DONE && (caught_signal == SIGTERM || caught_signal == SIGUSR1))
        return EXIT_TEMPFAIL;
    if (caught_signal && code != EXIT_DONE) {
        fflush(stdout);
        raise(caught_signal); // so that the shell sees it too
    }
    return code;
}
