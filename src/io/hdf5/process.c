// SPDX-License-Identifier: MIT
// The program is spawned, never forked: the host may have threads, and a copy of it would hold
// locks that nobody opens. A pipe that only the child holds says when it has ended.
#define _GNU_SOURCE
#include "io/hdf5/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/hdf5/protocol.h"

// ---- where it is ----

static bool is_program(char *path, size_t size, const char *folder, const char *rest)
{
    const int length = snprintf(path, size, "%s%s", folder, rest);
    return length > 0 && (size_t)length < size && access(path, X_OK) == 0;
}

// Beside a file of the installation: PREFIX/lib/libplumb.so has PREFIX/libexec/plumb/plumb-h5.
static bool is_beside(char *path, size_t size, const char *file)
{
    char folder[4096];
    if ((size_t)snprintf(folder, sizeof folder, "%s", file) >= sizeof folder) return false;
    char *slash = strrchr(folder, '/');
    if (!slash) return false;
    *slash = 0;
    // Debian's lib has one folder more, for the machine.
    static const char *const places[] = {"/../libexec/plumb/plumb-h5",
                                         "/../../libexec/plumb/plumb-h5", "/plumb-h5"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (is_program(path, size, folder, places[i])) return true;
    return false;
}

bool hdf5_process_find(char *path, size_t size)
{
    const char *wish = secure_getenv("PLUMB_H5");
    if (wish) return is_program(path, size, wish, "");
    static const char here; // an address in this library
    Dl_info library;
    if (dladdr(&here, &library) && library.dli_fname && is_beside(path, size, library.dli_fname))
        return true;
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = 0;
        if (is_beside(path, size, program)) return true;
    }
    return is_program(path, size, PLUMB_LIBEXEC, "/plumb-h5");
}

plumb_status hdf5_process_memory(int *out, const char *path)
{
    *out = memfd_create("plumb-h5", MFD_CLOEXEC);
    return *out >= 0 ? PLUMB_OK
                     : fail(PLUMB_EMEMORY, "%s: no shared memory: %s", path, strerror(errno));
}

// ---- running it ----

// The few variables it may see. Locking is off because a file that is only read needs none, and
// some network file systems refuse it; plugins are off because they are code.
static void make_environment(char *out[8], char (*room)[4200])
{
    static const char *const passed[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"};
    static char locking[] = "HDF5_USE_FILE_LOCKING=FALSE", plugins[] = "HDF5_PLUGIN_PRELOAD=::";
    int n = 0;
    out[n++] = locking;
    out[n++] = plugins;
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(passed[i]);
        if (value &&
            (size_t)snprintf(room[i], sizeof room[i], "%s=%s", passed[i], value) < sizeof room[i])
            out[n++] = room[i];
    }
    out[n] = NULL;
}

static int spawn(pid_t *child, const char *program, const char *verb, const char *name,
                 const int from[3])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files)) return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int bad = 0;
    for (int i = 0; i < 3; i++)
        bad |= posix_spawn_file_actions_addopen(&files, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
    for (int i = 0; i < 3; i++)
        bad |= posix_spawn_file_actions_adddup2(&files, from[i], HDF5_PROTOCOL_FILE + i);
    char room[3][4200], *environment[8];
    make_environment(environment, room);
    char *const arguments[] = {(char[]){"plumb-h5"}, (char *)(uintptr_t)verb,
                               (char *)(uintptr_t)name, NULL};
    if (!bad) bad = posix_spawn(child, program, &files, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return bad;
}

static bool ended_within(int alive, double seconds)
{
    const double end = clock_now() + seconds;
    for (;;) {
        const double left = end - clock_now();
        if (left <= 0) return false;
        struct pollfd p = {.fd = alive, .events = POLLIN};
        const int n = poll(&p, 1, left > 0.2 ? 200 : (int)(left * 1000) + 1);
        if (n > 0) return true;
        if ((n < 0 && errno != EINTR) || status_stopped()) return false;
    }
}

static plumb_status wait_for(pid_t child, int alive, double seconds, const char *who,
                             const char *path)
{
    const bool late = !ended_within(alive, seconds);
    if (late) kill(child, SIGKILL);
    int how = 0;
    pid_t got;
    do got = waitpid(child, &how, 0);
    while (got < 0 && errno == EINTR);
    if (status_stopped()) return status_check_stop();
    if (late)
        return fail(PLUMB_EFORMAT, "%s: %s gave up (not done after %.0f s)", path, who, seconds);
    if (got < 0) return PLUMB_OK; // the host ignores its children; the reply will tell
    if (WIFSIGNALED(how)) {
        const int signal = WTERMSIG(how);
        return fail(PLUMB_EFORMAT, "%s: %s gave up (%s)", path, who,
                    signal == SIGXCPU || signal == SIGPROF ? "took too long"
                    : signal == SIGXFSZ                    ? "had too much to say"
                                                           : strsignal(signal));
    }
    if (WEXITSTATUS(how))
        return fail(PLUMB_EFORMAT, "%s: %s gave up (exit %d)", path, who, WEXITSTATUS(how));
    return PLUMB_OK;
}

plumb_status hdf5_process_run(const char *verb, const char *name, int file, int memory,
                              double seconds, const char *path)
{
    const bool reads = !strcmp(verb, "list") || !strcmp(verb, "read");
    const char *who = reads ? "the HDF5 reader" : "the HDF5 writer";
    char program[4096];
    if (!hdf5_process_find(program, sizeof program))
        return fail(PLUMB_EMISSING,
                    "%s: HDF5 is not in this build: the program plumb-h5 is not "
                    "there; build plumb with libhdf5-dev, or say where it is in PLUMB_H5",
                    path);
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC)) return fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    // Out of the way of the numbers they will have in the child.
    const int high[3] = {fcntl(file, F_DUPFD_CLOEXEC, 16), fcntl(memory, F_DUPFD_CLOEXEC, 16),
                         fcntl(pipes[1], F_DUPFD_CLOEXEC, 16)};
    close(pipes[1]);
    pid_t child = -1;
    const int bad = high[0] < 0 || high[1] < 0 || high[2] < 0
                        ? EMFILE
                        : spawn(&child, program, verb, name, high);
    for (int i = 0; i < 3; i++)
        if (high[i] >= 0) close(high[i]);
    const plumb_status st = bad ? fail(bad == ENOMEM ? PLUMB_EMEMORY : PLUMB_EMISSING,
                                       "%s: %s does not start: %s", path, program, strerror(bad))
                                : wait_for(child, pipes[0], seconds, who, path);
    close(pipes[0]);
    return st;
}
